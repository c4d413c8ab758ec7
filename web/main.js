// Puts the pages together: where the user is, what the server tells, which keys do what.
import { getJson, Problem } from './api.js';
import { CallsPage } from './calls_page.js';
import { announce, byId, el, setData, setHidden, setText } from './dom.js';
import { EventStream } from './event_stream.js';
import { MachinePage } from './machine_page.js';
import { count, oneLine } from './text.js';
import { setUpTheme } from './theme.js';
import { setUpToken } from './token_dialog.js';
import { ToolsPage } from './tools_page.js';

const calls = new CallsPage();
const tools = new ToolsPage();
const machine = new MachinePage();

// ---- what the server tells
let lost = 0; // events, lately
let lossTimer;
let reconciling = null;

// At most every two seconds, however often events are lost.
function reconcileSoon() {
  reconciling ??= setTimeout(() => {
    reconciling = null;
    calls.reconcile(100).catch(() => {}); // the next connection tries again
  }, 2000);
}

function onEvent(kind, data) {
  switch (kind) {
    case 'status':
      calls.setStatus(data);
      machine.setStatus(data);
      draining = data.draining === true;
      showBanner();
      break;
    case 'tool_added':
    case 'tool_removed':
    case 'tool_updated':
      tools.refresh();
      break;
    case 'lost':
      lost += Number(data.dropped) || 0;
      clearTimeout(lossTimer);
      lossTimer = setTimeout(() => {
        lost = 0;
        showBanner();
      }, 20000);
      showBanner();
      reconcileSoon();
      break;
    case 'queued':
    case 'started':
    case 'output':
    case 'progress':
    case 'finished':
      calls.handle(kind, data);
      break;
  }
}

let linkState = '';
let linkError = '';
let draining = false;

function onState(state, { seconds, error }) {
  const text = {
    connecting: linkState === 'waiting' ? 'connecting again' : 'connecting',
    live: 'live',
    unauthorized: 'token needed',
    waiting: `trying again in ${seconds} s`,
  }[state];
  setData(byId('link'), 'state', state);
  setText(byId('link-text'), text);
  if (state === 'waiting')
    linkError = !error
      ? 'the server ended the connection'
      : error instanceof Problem
        ? oneLine(error.message, 120)
        : "the server can't be reached";
  // Announce only changes that matter, not a countdown.
  if (state === 'live' && linkState !== '' && linkState !== 'connecting') announce('Connected again');
  if (state === 'waiting' && linkState === 'live') announce('Disconnected');
  if (state !== 'connecting') linkState = state;
  showBanner();
}

function showBanner() {
  const banner = byId('banner');
  const text =
    linkState === 'waiting'
      ? `Not connected: ${linkError}. This page shows the last known state.`
      : linkState === 'unauthorized'
        ? 'The server asks for a token: enter one with Unlock.'
        : draining
          ? 'The server is shutting down: it finishes the running calls and accepts no new ones.'
          : lost > 0
            ? `${count(lost)} events did not reach this page: they came faster than the page could receive them.`
            : '';
  setHidden(banner, text === '');
  if (text === '' || banner.dataset.text === text) return;
  banner.dataset.text = text;
  banner.replaceChildren(
    text,
    linkState === 'waiting'
      ? el('button', { type: 'button', class: 'quiet', onclick: () => stream.retry() }, 'Try now')
      : '',
  );
}

const stream = new EventStream({
  onState,
  onEvent,
  onOpen: () => {
    calls.reconcile().catch(() => {});
    getJson('/v1/status').then(
      (status) => onEvent('status', status),
      () => {},
    ); // the next event has it too
    tools.load();
    if (place().view === 'machine') machine.load();
  },
});

// ---- where the user is: #calls, #call/KEY, #tools, #tools/NAME, #machine
function place() {
  const [view, ...rest] = location.hash.slice(1).split('/');
  let name = null;
  try {
    name = rest.length > 0 ? decodeURIComponent(rest.join('/')) : null;
  } catch {
    // a wrong escape: no such tool
  }
  return {
    view: view === 'call' ? 'calls' : ['tools', 'machine'].includes(view) ? view : 'calls',
    name,
    isCall: view === 'call',
  };
}

let before = null;
function route() {
  if (location.hash === '#main') return byId('main').focus();
  const { view, name, isCall } = place();
  for (const page of ['calls', 'tools', 'machine']) setHidden(byId(`view-${page}`), page !== view);
  for (const link of document.querySelectorAll('.tabs a')) {
    if (link.dataset.view === view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${{ calls: 'Calls', tools: 'Tools', machine: 'Machine' }[view]} · brig`;
  if (view === 'calls' && !calls.open(isCall ? Number(name) : null)) history.replaceState(null, '', '#calls');
  if (view === 'tools') tools.choose(name);
  if (view === 'machine') machine.show();
  // The focus follows a person, not the first load.
  if (before) {
    if (isCall) calls.focusDetail();
    else if (view === 'calls' && before.isCall) calls.list.focusSelectedOrFirst();
    else if (view === 'tools' && name !== null) tools.focusChosen();
    if (view !== before.view) scrollTo(0, 0);
  }
  before = { view, isCall };
}
addEventListener('hashchange', route);

// ---- keys
document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.('input, textarea, select, dialog');
  if (event.key === '/' && !typing) {
    const filter = byId(place().view === 'tools' ? 'tool-filter' : 'call-filter');
    if (filter.closest('[hidden]')) route(); // the address changed a moment ago, its event is on the way
    if (filter.closest('[hidden]')) return;
    event.preventDefault();
    filter.focus();
    filter.select();
  } else if (['ArrowDown', 'ArrowUp'].includes(event.key) && event.target === document.body) {
    // Nothing has the focus: the list of calls is what keys are for.
    if (place().view === 'calls' && calls.list.focusSelectedOrFirst(false)) event.preventDefault();
  } else if (event.key === 'Escape') {
    if (event.target.closest?.('dialog')) return;
    if (event.target.matches?.('.filter') && event.target.value !== '') return; // the browser clears it
    if (place().isCall) location.hash = '#calls';
    else if (typing) event.target.blur();
  }
});

setUpTheme(byId('theme-button'), () => calls.recolour());
setUpToken(() => stream.retry());
route();
stream.run();

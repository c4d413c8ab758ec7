// One tool: what it is, the form to try it, and the call that was tried last.
import { Problem, callTool, newCallId } from './api.js';
import { applyEvent, newCall } from './call_store.js';
import { CallView } from './call_view.js';
import { announce, el, setHidden } from './dom.js';
import { forget, paintSoon } from './frames.js';
import { isLive, stateOf } from './outcomes.js';
import { SchemaForm } from './schema_form.js';
import { milliseconds, oneLine, visible } from './text.js';

const NOTES = [
  ['read_only', 'reads only'],
  ['destructive', 'may destroy'],
  ['idempotent', 'may be repeated'],
  ['open_world', 'reaches outside'],
];

export class ToolPane {
  constructor(tool) {
    this.tool = tool;
    this.schemaText = JSON.stringify(tool.input_schema ?? {});
    this.form = new SchemaForm(tool.input_schema);
    this.view = null;
    this.problem = el('div', { class: 'problem', role: 'alert', hidden: true });
    this.run = el(
      'button',
      { type: 'submit', class: 'primary', 'aria-keyshortcuts': 'Control+Enter' },
      'Call',
    );
    this.place = el('div', { class: 'tried' });
    const form = el(
      'form',
      { class: 'try', novalidate: true, onsubmit: (event) => this.#submit(event) },
      this.form.element,
      el(
        'div',
        { class: 'run-row' },
        this.run,
        el(
          'span',
          { class: 'keys-hint', 'aria-hidden': 'true' },
          el('kbd', {}, 'Ctrl'),
          ' ',
          el('kbd', {}, 'Enter'),
        ),
      ),
      this.problem,
    );
    form.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#submit(event);
    });
    this.element = el(
      'div',
      { class: 'pane' },
      el('a', { class: 'back', href: '#tools' }, 'All tools'),
      el('h2', { tabindex: '-1' }, oneLine(tool.name, 120)),
      this.#notes(),
      el('p', { class: 'description' }, visible(String(tool.description ?? '').slice(0, 4000))),
      form,
      this.place,
      this.#schemas(),
    );
    this.paint = () => this.#paint();
  }

  #notes() {
    const annotations = this.tool.annotations ?? {};
    // A tool that only reads destroys nothing, whatever the default of the other says.
    const told = NOTES.filter(
      ([name]) => annotations[name] === true && !(name === 'destructive' && annotations.read_only),
    );
    return el(
      'ul',
      { class: 'notes', hidden: told.length === 0 },
      ...told.map(([name, text]) => el('li', { class: name === 'destructive' ? 'careful' : null }, text)),
    );
  }

  #schemas() {
    const block = (title, schema) =>
      schema &&
      el(
        'details',
        {},
        el('summary', {}, title),
        el(
          'pre',
          { class: 'answer', tabindex: '0' },
          visible(JSON.stringify(schema, null, 2).slice(0, 65536)),
        ),
      );
    return el(
      'div',
      { class: 'rest' },
      block('Schema of the arguments', this.tool.input_schema),
      block('Schema of the result', this.tool.output_schema),
    );
  }

  async #submit(event) {
    event.preventDefault();
    if (this.run.disabled) return;
    setHidden(this.problem, true);
    const text = this.form.read();
    if (text === null) return;
    this.run.disabled = true;
    const call = newCall(newCallId(), this.tool.name, '', Date.now());
    this.view = new CallView(call, { untitled: true });
    let first = true,
      refusal = null;
    try {
      await callTool(this.tool.name, text, call.id, (kind, data) => {
        if (kind === 'result' && REFUSALS[data.report?.outcome]) refusal = data;
        if (first && !refusal) this.#show();
        first = false;
        applyEvent(call, kind, data, Date.now());
        paintSoon(this.paint);
      });
      if (refusal) throw refused(refusal);
      if (isLive(call)) throw new Error('the connection ended before the result came');
      const { label } = stateOf(call);
      announce(`${this.tool.name}: ${label}, ${milliseconds(call.durationMs)}`);
    } catch (error) {
      this.#fail(call, error, first || refusal !== null);
    } finally {
      this.run.disabled = false;
    }
  }

  #show() {
    this.place.replaceChildren(this.view.element);
    clearInterval(this.clock);
    this.clock = setInterval(() => paintSoon(this.paint), 200);
    this.#paint();
  }

  #paint() {
    this.view.update();
    if (!isLive(this.view.call)) clearInterval(this.clock);
  }

  #fail(call, error, neverBegan) {
    clearInterval(this.clock);
    if (!neverBegan) {
      call.state = 'unknown';
      call.message = `The console could not see how the call ended: ${error.message}`;
      ++call.version;
      paintSoon(this.paint);
      return;
    }
    this.place.replaceChildren();
    const problem = error instanceof Problem ? error : null;
    const title = problem
      ? sentence(problem.document.title || `the server answered ${problem.status}`)
      : 'The server could not be reached';
    const detail = problem ? (problem.document.detail ?? '') : error.message;
    const wait = problem?.retryAfter ? `Try again in ${oneLine(problem.retryAfter, 20)} s.` : '';
    this.problem.replaceChildren(
      el('strong', {}, oneLine(title, 200)),
      problem ? el('code', {}, `${problem.status} ${oneLine(problem.name, 60)}`) : '',
      el('p', {}, visible(String(detail).slice(0, 4000))),
      wait ? el('p', {}, wait) : '',
    );
    setHidden(this.problem, false);
    if (problem?.status === 422) this.form.showFaults(faultsOf(problem.document));
  }

  close() {
    clearInterval(this.clock);
    forget(this.paint);
  }
}

// A call that was never run: a problem with the request, not a result of the tool. In a stream, the
// status had been sent.
const REFUSALS = { invalid_arguments: 422, unknown_tool: 404, overloaded: 503 };
function refused({ report, error }) {
  const name = report.outcome.replaceAll('_', '-');
  return new Problem(
    REFUSALS[report.outcome],
    { type: `urn:brig:problem:${name}`, title: name, detail: error ?? report.message },
    null,
  );
}

const sentence = (title) =>
  String(title)
    .replaceAll('-', ' ')
    .replace(/^./, (first) => first.toUpperCase());

// "…: /month: expected a value: it is required; /year: expected at least 1", or `errors` with
// pointers.
function faultsOf(document) {
  if (Array.isArray(document.errors)) {
    return document.errors
      .slice(0, 50)
      .map((one) => [
        String(one?.pointer ?? one?.path ?? '').replace(/^#/, ''),
        visible(one?.detail ?? one?.message ?? 'invalid value'),
      ]);
  }
  return [...String(document.detail ?? '').matchAll(/(?:^|[:;] )(\/[^:;\s]*): ([^;]+)/g)]
    .slice(0, 50)
    .map(([, pointer, text]) => [pointer, visible(text)]);
}

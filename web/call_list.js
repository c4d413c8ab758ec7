// The table of calls: what runs, what waits, what has ended, the newest first; at most a few
// hundred rows, rewritten a few times a second.
import { byId, el, setData, setHidden, setText } from './dom.js';
import { paintSoon } from './frames.js';
import { isFailure, isLive, stateOf } from './outcomes.js';
import { age, count, milliseconds, oneLine, plural, seconds } from './text.js';

const PAGE = 100;
const PAUSE = 120; // ms between two paints
const CHIPS = {
  all: ['All', () => true],
  live: ['Running', isLive],
  failed: ['Failed', isFailure],
  violations: ['Violations', (call) => call.violations.length > 0],
};

class Row {
  constructor(call) {
    this.call = call;
    this.version = -1;
    this.mark = el('span', { class: 'mark', 'aria-hidden': 'true' });
    this.outcome = el('span', {});
    this.link = el('a', { href: `#call/${call.key}`, tabindex: '-1' }, oneLine(call.tool, 80) || '(no name)');
    this.last = el('span', { class: 'words' });
    this.badge = el('span', { class: 'badge', hidden: true });
    this.caller = el('td', { class: 'c-caller' }, oneLine(call.caller, 60));
    this.time = el('td', { class: 'c-time' });
    this.age = el('td', { class: 'c-age' });
    this.element = el(
      'tr',
      { 'data-key': String(call.key) },
      el('td', { class: 'c-outcome' }, this.mark, this.outcome),
      el('td', { class: 'c-tool' }, this.link),
      el('td', { class: 'c-last' }, this.badge, this.last),
      this.caller,
      this.time,
      this.age,
    );
  }

  paint(now) {
    const { call } = this;
    setText(this.age, age(now - call.created));
    if (isLive(call)) setText(this.time, seconds(now - call.created));
    if (this.version === call.version) return;
    this.version = call.version;
    const { label, kind } = stateOf(call);
    setData(this.element, 'kind', kind);
    setText(this.outcome, label);
    setText(this.last, lastWords(call));
    if (!isLive(call)) setText(this.time, milliseconds(call.durationMs));
    const violations = call.violations.length;
    setHidden(this.badge, violations === 0);
    if (violations > 0) setText(this.badge, plural(violations, 'violation'));
  }
}

function lastWords(call) {
  if (isLive(call) && call.progress?.text) return oneLine(call.progress.text);
  if (!isLive(call) && call.outcome !== 'ok') return oneLine(call.message);
  return oneLine(call.output.lastWords());
}

export class CallList {
  constructor(store) {
    this.store = store;
    this.rows = new Map(); // key → Row
    this.shown = []; // calls, as on the page
    this.most = PAGE;
    this.chip = 'all';
    this.text = '';
    this.held = null; // how many calls there were when the list was held
    this.pressed = false; // whether a button of the pointer is down on the list
    this.selected = null;
    this.tabStop = null; // the key of the row that Tab goes to
    this.body = byId('rows');
    this.paint = () => this.#paint();
    this.#setUpControls();
  }

  update() {
    if (!byId('view-calls').hidden) paintSoon(this.paint, PAUSE);
  }

  select(key) {
    this.selected = key;
    if (key !== null) this.tabStop = key;
    paintSoon(this.paint);
  }

  // False: there is none; then the filter has it, if there `must` be a focus.
  focusSelectedOrFirst(must = true) {
    const row = this.rows.get(this.tabStop) ?? this.rows.get(this.shown[0]?.key);
    if (row) row.link.focus();
    else if (must) byId('call-filter').focus();
    return Boolean(row);
  }

  #setUpControls() {
    this.chips = Object.entries(CHIPS).map(([name, [label]]) => {
      const number = el('span', { class: 'number' });
      const button = el(
        'button',
        {
          type: 'button',
          class: 'chip',
          'aria-pressed': String(name === this.chip),
          onclick: () => this.#choose(name),
        },
        label,
        number,
      );
      return { name, button, number };
    });
    byId('call-chips').append(...this.chips.map((chip) => chip.button));
    const filter = byId('call-filter');
    filter.addEventListener('input', () => {
      this.text = filter.value.toLowerCase();
      this.#release();
    });
    byId('hold').addEventListener('click', () => {
      if (this.held === null) this.held = this.store.added;
      else this.#release();
      paintSoon(this.paint);
    });
    byId('more').addEventListener('click', () => {
      this.most += PAGE;
      paintSoon(this.paint);
    });
    this.body.addEventListener('keydown', (event) => this.#move(event));
    this.body.addEventListener('focusin', (event) => {
      const row = event.target.closest('tr');
      if (row) this.#stopAt(Number(row.dataset.key));
    });
    // A row that came between press and release would take the click, or nobody would.
    this.body.addEventListener('pointerdown', () => (this.pressed = true));
    for (const end of ['pointerup', 'pointercancel', 'dragend', 'blur'])
      addEventListener(end, () => this.#letGo());
    this.body.addEventListener('click', (event) => {
      const row = event.target.closest('tr');
      if (row && !event.target.closest('a') && getSelection().isCollapsed)
        location.hash = `#call/${row.dataset.key}`;
    });
  }

  #choose(name) {
    this.chip = name;
    for (const chip of this.chips) chip.button.setAttribute('aria-pressed', String(chip.name === name));
    this.#release();
  }

  #release() {
    this.held = null;
    this.most = PAGE;
    paintSoon(this.paint);
  }

  // After the click, which follows the release at once.
  #letGo() {
    if (!this.pressed) return;
    setTimeout(() => {
      this.pressed = false;
      this.update();
    });
  }

  #stopAt(key) {
    const before = this.rows.get(this.tabStop);
    if (before) before.link.tabIndex = -1;
    this.tabStop = key;
    const row = this.rows.get(key);
    if (row) row.link.tabIndex = 0;
  }

  #move(event) {
    const at = this.shown.findIndex((call) => call.key === Number(event.target.closest('tr')?.dataset.key));
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: this.shown.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const call = this.shown[Math.max(0, Math.min(this.shown.length - 1, to))];
    this.rows.get(call.key).link.focus();
  }

  #matches(call) {
    if (!CHIPS[this.chip][1](call)) return false;
    if (this.text === '') return true;
    return [call.tool, call.id, call.caller, call.message, stateOf(call).label, call.outcome ?? ''].some(
      (field) => field.toLowerCase().includes(this.text),
    );
  }

  #paint() {
    if (this.pressed) return;
    const now = Date.now();
    const all = this.store.newestFirst();
    let matching = this.shown.length;
    if (this.held === null) {
      const found = all.filter((call) => this.#matches(call));
      matching = found.length;
      this.shown = found.slice(0, this.most);
    }
    this.#arrange();
    setData(this.body, 'filter', this.text); // what is shown is shown by
    for (const call of this.shown) this.rows.get(call.key).paint(now);
    this.#paintControls(all, matching);
  }

  // Puts the rows in order, touching only what has moved: the focus and a selection survive.
  #arrange() {
    const wanted = new Set(this.shown.map((call) => call.key));
    const focused = this.body.contains(document.activeElement);
    for (const [key, row] of this.rows) {
      if (wanted.has(key)) continue;
      row.element.remove();
      this.rows.delete(key);
    }
    let next = this.body.firstElementChild;
    for (const call of this.shown) {
      let row = this.rows.get(call.key);
      if (!row) this.rows.set(call.key, (row = new Row(call)));
      if (row.element === next) next = next.nextElementSibling;
      else this.body.insertBefore(row.element, next);
      if (call.key === this.selected) row.element.setAttribute('aria-current', 'true');
      else row.element.removeAttribute('aria-current');
    }
    if (!wanted.has(this.tabStop)) this.#stopAt(this.shown[0]?.key ?? null);
    else this.#stopAt(this.tabStop);
    if (focused && !this.body.contains(document.activeElement)) this.focusSelectedOrFirst();
  }

  #paintControls(all, matching) {
    for (const { name, number } of this.chips) {
      const those = name === 'all' ? all.length : all.filter(CHIPS[name][1]).length;
      setText(number, those > 0 ? count(those) : '');
    }
    const hold = byId('hold');
    const fresh = this.held === null ? 0 : this.store.added - this.held;
    hold.setAttribute('aria-pressed', String(this.held !== null));
    setText(hold, this.held === null ? 'Hold' : fresh > 0 ? `Continue (${count(fresh)} new)` : 'Continue');
    setHidden(byId('calls-empty'), all.length > 0);
    const total = this.store.added + this.store.restored;
    const note =
      all.length === 0
        ? ''
        : matching === 0
          ? 'No call matches the filter.'
          : total > all.length && this.chip === 'all' && this.text === ''
            ? `The last ${count(all.length)} of ${count(total)} calls.`
            : '';
    setText(byId('list-note'), note);
    setHidden(byId('more'), matching <= this.most || this.held !== null);
  }
}

// Calls as they run: gauges, plots, the list, and the one that is looked at.
import { getJson } from './api.js';
import { CallList } from './call_list.js';
import { CallStore } from './call_store.js';
import { CallView } from './call_view.js';
import { announce, byId, el, setData, setText } from './dom.js';
import { paintSoon } from './frames.js';
import { isLive, stateOf } from './outcomes.js';
import { Plots } from './plots.js';
import { Series } from './series.js';
import { age, count, milliseconds } from './text.js';

const GAUGES = [
  ['running', 'Running', 'concurrency'],
  ['waiting', 'Waiting', 'queue'],
  ['ready', 'Ready cells', null],
  ['calls_total', 'Calls', null],
  ['tools', 'Tools', null],
  ['uptime_s', 'Up', null],
];

export class CallsPage {
  constructor() {
    this.series = new Series();
    this.store = new CallStore((call) => this.#finished(call));
    this.list = new CallList(this.store);
    this.plots = new Plots(byId('plots'), this.series);
    this.view = null;
    this.gauges = GAUGES.map(([key, label, of]) => {
      const gauge = {
        key,
        of,
        value: el('span', { class: 'value' }),
        most: el('span', { class: 'most' }),
        bar: of && el('span', { class: 'gauge-bar', 'aria-hidden': 'true' }),
      };
      byId('gauges').append(
        el(
          'div',
          { class: `gauge gauge-${key}` },
          el('dt', {}, label),
          el('dd', {}, gauge.value, gauge.most, gauge.bar),
        ),
      );
      return gauge;
    });
    this.paintView = () => this.view?.update();
    this.paintStatus = () => this.#paintStatus();
    setInterval(() => this.#tick(), 250);
  }

  handle(kind, data) {
    const now = Date.now();
    this.store.handle(kind, data, now);
    this.list.update();
    if (this.view && data.call_id === this.view.call.id) paintSoon(this.paintView);
  }

  setStatus(status) {
    this.status = status;
    this.series.status(status, Date.now());
    paintSoon(this.paintStatus);
  }

  // After a (re)connection, and when events were lost: what is running now, and what has ended?
  // `most` of the latter.
  async reconcile(most = 1000) {
    const asked = Date.now();
    const { calls, ended, at } = await getJson(`/v1/calls?ended=${most}`);
    if (!Array.isArray(calls)) return;
    const those = (list) => list.filter((call) => typeof call?.call_id === 'string');
    const now = Date.now();
    this.store.reconcile(those(calls), asked, now);
    if (Array.isArray(ended)) this.store.restore(those(ended), Date.parse(at), now);
    this.list.update();
    paintSoon(this.paintView);
  }

  // Opens a call's details; null closes them. False if there is no such call.
  open(key) {
    const call = key === null ? null : this.store.get(key);
    this.store.pinned = call?.key ?? null;
    this.list.select(call?.key ?? null);
    byId('view-calls').classList.toggle('has-detail', Boolean(call));
    byId('detail').hidden = !call;
    if (!call) {
      this.view = null;
      byId('detail').replaceChildren();
      return key === null;
    }
    if (this.view?.call !== call) {
      this.view = new CallView(call, { onClose: () => (location.hash = '#calls') });
      byId('detail').replaceChildren(this.view.element);
      byId('detail').scrollTop = 0;
    }
    this.view.update();
    return true;
  }

  focusDetail() {
    this.view?.title.focus({ preventScroll: matchMedia('(min-width: 60em)').matches });
  }

  recolour() {
    this.plots.recolour();
  }

  #finished(call) {
    this.series.finished(call, call.ended);
    if (call === this.view?.call)
      announce(`${call.tool}: ${stateOf(call).label}, ${milliseconds(call.durationMs)}`);
  }

  // What changes though nothing happens: ages, and the plots' time.
  #tick() {
    if (byId('view-calls').hidden || document.hidden) return;
    this.list.update();
    if (this.view && isLive(this.view.call)) paintSoon(this.paintView);
    const second = Math.floor(Date.now() / 1000);
    if (second === this.second) return;
    this.second = second;
    this.plots.update(Date.now());
  }

  #paintStatus() {
    for (const { key, of, value, most, bar } of this.gauges) {
      const number = this.status[key];
      setText(
        value,
        key === 'uptime_s' ? (Number.isFinite(number) ? age(number * 1000) : '–') : count(number),
      );
      if (!of) continue;
      setText(most, Number.isFinite(this.status[of]) ? ` of ${count(this.status[of])}` : '');
      const share = this.status[of] > 0 ? Math.min(1, number / this.status[of]) : 0;
      bar.style.setProperty('--share', String(share));
      setData(bar, 'full', String(share >= 0.9));
    }
  }
}

// Throughput, latency, and the pool and its queue, on canvases: three elements, however many calls
// there are.
import { el, setText } from './dom.js';
import { paintSoon } from './frames.js';
import { BINS_PER_DECADE, DECADES, LOWEST_MS, SECONDS, quantile, summary } from './series.js';
import { count, milliseconds, timeOfDay } from './text.js';

const LEFT = 48,
  RIGHT = 6,
  TOP = 8,
  BOTTOM = 18;

// The scale's end: 1, 2 or 4 times a power of ten, which all have a round half.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 4, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power;
}

const POWERS = ['100 µs', '1 ms', '10 ms', '100 ms', '1 s', '10 s', '100 s'];
const short = (value) =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 1000 ? `${value / 1000}k` : String(value);

// A figure with its legend, whose colours the canvas takes: so style sheets alone decide.
class Plot {
  constructor(id, title, legend) {
    this.keys = Object.fromEntries(
      legend.map(([name]) => [name, el('span', { class: `swatch swatch-${name}` })]),
    );
    this.frame = el('span', { class: 'plot-frame' });
    this.headline = el('span', { class: 'plot-headline' });
    this.readout = el('span', { class: 'plot-readout' });
    this.canvas = el('canvas', { tabindex: '0', role: 'img', 'aria-label': title, id });
    this.element = el(
      'figure',
      { class: 'plot' },
      el(
        'figcaption',
        {},
        el('h2', {}, title),
        el(
          'span',
          { class: 'keys', 'aria-hidden': 'true' },
          ...legend.map(([name, label]) => el('span', {}, this.keys[name], label)),
        ),
        this.headline,
        this.readout,
      ),
      this.canvas,
      this.frame,
    );
    this.title = title;
    this.cursor = null; // index of the second that is pointed at
    this.canvas.addEventListener('pointermove', (event) => this.#point(event.offsetX));
    this.canvas.addEventListener('pointerleave', () => this.#show(null));
    this.canvas.addEventListener('blur', () => this.#show(null));
    this.canvas.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const from = this.cursor ?? SECONDS;
      this.#show(Math.max(0, Math.min(SECONDS - 1, from + step)));
    });
    this.repaint = () => this.#paint();
    new ResizeObserver(() => {
      this.inks = null;
      paintSoon(this.repaint);
    }).observe(this.canvas);
  }

  set(window, totals, now, extra) {
    Object.assign(this, { window, totals, now, extra });
    paintSoon(this.repaint);
  }

  recolour() {
    this.inks = null;
    paintSoon(this.repaint);
  }

  #point(x) {
    const width = this.canvas.clientWidth - LEFT - RIGHT;
    const index = Math.floor(((x - LEFT) / width) * SECONDS);
    this.#show(index >= 0 && index < SECONDS ? index : null);
  }

  #show(index) {
    this.cursor = index;
    this.#tell(); // at once: while a key is held down, a later text would describe a second that has passed
    paintSoon(this.repaint);
  }

  // What is written of the second that is pointed at, for the eye and for a screen reader.
  #tell() {
    if (!this.window) return;
    const pointed = this.cursor === null ? null : this.window[this.cursor];
    const when = timeOfDay(this.now - (SECONDS - (this.cursor ?? 0)) * 1000);
    setText(
      this.readout,
      this.cursor === null ? '' : `${when}  ${pointed ? this.describe(pointed) : 'no calls'}`,
    );
    if (this.canvas === document.activeElement && this.cursor !== null)
      this.canvas.setAttribute('aria-label', this.readout.textContent);
  }

  #ink() {
    const colour = (element) => getComputedStyle(element).color;
    this.inks = Object.fromEntries(Object.entries(this.keys).map(([name, key]) => [name, colour(key)]));
    this.inks.line = getComputedStyle(this.frame).borderTopColor;
    this.inks.text = colour(this.frame);
    this.font = `11px ${getComputedStyle(this.frame).fontFamily}`;
  }

  #paint() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!this.window || width === 0) return;
    if (!this.inks) this.#ink();
    const scale = devicePixelRatio || 1;
    if (
      this.canvas.width !== Math.round(width * scale) ||
      this.canvas.height !== Math.round(height * scale)
    ) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
    }
    const pen = this.canvas.getContext('2d');
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = this.font;
    const area = { x: LEFT, y: TOP, w: width - LEFT - RIGHT, h: height - TOP - BOTTOM };
    area.step = area.w / SECONDS;
    area.xOf = (index) => area.x + index * area.step;
    this.#times(pen, area);
    this.draw(pen, area);
    if (this.cursor !== null) {
      pen.fillStyle = this.inks.text;
      pen.globalAlpha = 0.5;
      pen.fillRect(Math.round(area.xOf(this.cursor + 0.5)), area.y, 1, area.h);
      pen.globalAlpha = 1;
    }
    this.#tell();
    const parts = this.cursor === null ? this.summarize() : [];
    const spoken = parts.map(([, text]) => text).join(', ');
    if (this.spoken !== spoken) {
      this.spoken = spoken;
      this.headline.replaceChildren(
        ...parts.map(([key, text]) => el('span', { class: key && `ink-${key}` }, text)),
      );
    }
    if (this.canvas !== document.activeElement && spoken)
      this.canvas.setAttribute('aria-label', `${this.title}: ${spoken}`);
  }

  #times(pen, area) {
    pen.fillStyle = this.inks.text;
    pen.textBaseline = 'alphabetic';
    const y = area.y + area.h + 13;
    for (const [share, label, align] of [
      [0, '−2 min', 'left'],
      [0.5, '−1 min', 'center'],
      [1, 'now', 'right'],
    ]) {
      pen.textAlign = align;
      pen.fillText(label, area.x + share * area.w, y);
    }
  }

  // draw(pen, area), describe(bucket) → text, and summarize() → [[key or null, text]] are each
  // plot's own.

  // Hairlines with numbers; `marks` are [share of the height, label].
  rules(pen, area, marks) {
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    const every = Math.ceil((15 * (marks.length - 1)) / area.h); // numbers that would touch are left out
    marks.forEach(([share, label], index) => {
      const y = Math.round(area.y + area.h * (1 - share));
      pen.fillStyle = this.inks.line;
      pen.fillRect(area.x, y, area.w, 1);
      pen.fillStyle = this.inks.text;
      if (index % every === 0) pen.fillText(label, area.x - 6, y);
    });
  }

  line(pen, area, colour, values, width = 1.5) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.lineJoin = 'round';
    pen.beginPath();
    let last = null;
    values.forEach((share, index) => {
      if (share === null) {
        last = null;
        return;
      }
      const x = area.xOf(index + 0.5),
        y = area.y + area.h * (1 - share);
      if (last === null) pen.moveTo(x - area.step / 2, y);
      pen.lineTo(x, y);
      last = index;
    });
    pen.stroke();
  }
}

class ThroughputPlot extends Plot {
  constructor() {
    super('plot-throughput', 'Throughput', [
      ['ok', 'ok'],
      ['fail', 'failed'],
    ]);
  }
  draw(pen, area) {
    const top = roundUp(
      Math.max(4, ...this.window.map((bucket) => (bucket ? bucket.ok + bucket.failed : 0))),
    );
    this.rules(pen, area, [
      [0, '0'],
      [0.5, short(top / 2)],
      [1, short(top)],
    ]);
    const gap = area.step > 3 ? 1 : 0;
    this.window.forEach((bucket, index) => {
      if (!bucket) return;
      const x = area.xOf(index),
        width = Math.max(1, area.step - gap);
      const ok = (bucket.ok / top) * area.h,
        failed = (bucket.failed / top) * area.h;
      pen.fillStyle = this.inks.ok;
      pen.fillRect(x, area.y + area.h - ok, width, ok);
      pen.fillStyle = this.inks.fail;
      pen.fillRect(x, area.y + area.h - ok - failed, width, failed);
    });
  }
  describe(bucket) {
    return (
      `${count(bucket.ok + bucket.failed)} /s` + (bucket.failed ? `, ${count(bucket.failed)} failed` : '')
    );
  }
  summarize() {
    const { rate, failed } = this.totals;
    const value = rate >= 10 || rate === 0 ? count(Math.round(rate)) : rate.toFixed(1);
    return [[null, `${value} /s`], ...(failed ? [['fail', `${count(failed)} failed in 2 min`]] : [])];
  }
}

class LatencyPlot extends Plot {
  constructor() {
    super('plot-latency', 'Latency', [
      ['call', 'calls'],
      ['p50', 'p50'],
      ['p95', 'p95'],
    ]);
  }
  // Every call is in the picture: how dark a spot is says how many took that long in that second.
  draw(pen, area) {
    const [low, high] = this.#decades();
    const shareOf = (ms) => (Math.log10(ms / LOWEST_MS) - low) / (high - low);
    this.rules(
      pen,
      area,
      Array.from({ length: high - low + 1 }, (_, i) => [i / (high - low), POWERS[low + i]]),
    );
    const most = Math.max(1, ...this.window.map((bucket) => (bucket ? Math.max(...bucket.histogram) : 0)));
    const tall = area.h / (BINS_PER_DECADE * (high - low));
    pen.fillStyle = this.inks.call;
    this.window.forEach((bucket, index) => {
      if (!bucket || bucket.timed === 0) return;
      for (let bin = low * BINS_PER_DECADE; bin < high * BINS_PER_DECADE; ++bin) {
        const here = bucket.histogram[bin];
        if (here === 0) continue;
        const y = area.y + area.h - (bin + 1 - low * BINS_PER_DECADE) * tall;
        pen.globalAlpha = 0.28 + 0.62 * (Math.log1p(here) / Math.log1p(most));
        pen.fillRect(area.xOf(index), y, Math.max(1.5, area.step - 0.5), Math.max(2, tall));
      }
    });
    pen.globalAlpha = 1;
    const of = (share) =>
      this.window.map((bucket) => {
        const value = bucket && bucket.timed > 0 ? quantile(bucket.histogram, bucket.timed, share) : null;
        return value === null ? null : shareOf(value);
      });
    this.line(pen, area, this.inks.p95, of(0.95));
    this.line(pen, area, this.inks.p50, of(0.5));
  }
  // Whole decades, those that have calls and at least three.
  #decades() {
    let low = DECADES,
      high = 0;
    for (const bucket of this.window) {
      if (!bucket || bucket.timed === 0) continue;
      const first = bucket.histogram.findIndex((here) => here > 0),
        last = bucket.histogram.findLastIndex((here) => here > 0);
      low = Math.min(low, Math.floor(first / BINS_PER_DECADE));
      high = Math.max(high, Math.floor(last / BINS_PER_DECADE) + 1);
    }
    if (low >= high) [low, high] = [1, 4];
    high = Math.max(high, Math.min(DECADES, low + 3));
    return [Math.min(low, high - 3), high];
  }
  describe(bucket) {
    if (bucket.timed === 0) return 'no calls';
    return `p50 ${milliseconds(quantile(bucket.histogram, bucket.timed, 0.5))}  p95 ${milliseconds(quantile(bucket.histogram, bucket.timed, 0.95))}`;
  }
  summarize() {
    const { p50, p95, p99 } = this.totals;
    if (p50 === null) return [[null, 'no calls yet']];
    return [
      ['p50', `p50 ${milliseconds(p50)}`],
      ['p95', `p95 ${milliseconds(p95)}`],
      [null, `p99 ${milliseconds(p99)}`],
    ];
  }
}

class PoolPlot extends Plot {
  constructor() {
    super('plot-pool', 'Pool and queue', [
      ['running', 'running'],
      ['waiting', 'waiting'],
      ['ready', 'ready'],
    ]);
  }
  draw(pen, area) {
    const highest = (bucket) =>
      bucket && bucket.running !== null ? Math.max(bucket.running, bucket.waiting, bucket.ready) : 0;
    const top = roundUp(Math.max(4, this.extra ?? 0, ...this.window.map(highest)));
    this.rules(pen, area, [
      [0, '0'],
      [0.5, short(top / 2)],
      [1, short(top)],
    ]);
    const of = (name) =>
      this.window.map((bucket) => (bucket && bucket[name] !== null ? bucket[name] / top : null));
    pen.fillStyle = this.inks.waiting;
    pen.globalAlpha = 0.25;
    of('waiting').forEach((share, index) => {
      if (share)
        pen.fillRect(area.xOf(index), area.y + area.h * (1 - share), area.step + 0.5, area.h * share);
    });
    pen.globalAlpha = 1;
    this.line(pen, area, this.inks.ready, of('ready'), 1);
    this.line(pen, area, this.inks.waiting, of('waiting'));
    this.line(pen, area, this.inks.running, of('running'));
  }
  describe(bucket) {
    return bucket.running === null
      ? 'not known'
      : `${bucket.running} running, ${bucket.waiting} waiting, ${bucket.ready} ready`;
  }
  summarize() {
    const last = this.window.findLast((bucket) => bucket && bucket.running !== null);
    return last
      ? ['running', 'waiting', 'ready'].map((name) => [name, `${count(last[name])} ${name}`])
      : [[null, 'not known yet']];
  }
}

export class Plots {
  constructor(parent, series) {
    this.series = series;
    this.plots = [new ThroughputPlot(), new LatencyPlot(), new PoolPlot()];
    parent.append(...this.plots.map((plot) => plot.element));
  }
  update(now) {
    const window = this.series.window(now);
    const totals = summary(window);
    for (const plot of this.plots) plot.set(window, totals, now, this.series.concurrency);
  }
  recolour() {
    for (const plot of this.plots) plot.recolour();
  }
}

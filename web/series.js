// The last two minutes, a bucket a second: how many calls ended, how long they took, how the pool
// stood.
import { neverRan } from './outcomes.js';

export const SECONDS = 120;
export const BINS_PER_DECADE = 16;
export const LOWEST_MS = 0.1;
export const DECADES = 6; // to 100 s
const BINS = BINS_PER_DECADE * DECADES;

function binOf(ms) {
  const bin = Math.floor(Math.log10(Math.max(ms, LOWEST_MS) / LOWEST_MS) * BINS_PER_DECADE);
  return Math.min(bin, BINS - 1);
}
const middleOf = (bin) => LOWEST_MS * 10 ** ((bin + 0.5) / BINS_PER_DECADE);

// Of a histogram; null of an empty one.
export function quantile(histogram, total, share) {
  if (total === 0) return null;
  let left = Math.ceil(total * share);
  for (let bin = 0; bin < BINS; ++bin) {
    left -= histogram[bin];
    if (left <= 0) return middleOf(bin);
  }
  return middleOf(BINS - 1);
}

class Bucket {
  constructor() {
    this.histogram = new Uint32Array(BINS);
    this.clear(0);
  }
  clear(second) {
    this.second = second;
    this.ok = this.failed = this.timed = 0;
    this.running = this.waiting = this.ready = null;
    this.histogram.fill(0);
  }
}

export class Series {
  constructor() {
    this.ring = Array.from({ length: SECONDS }, () => new Bucket());
    this.concurrency = null;
  }

  at(second) {
    const bucket = this.ring[second % SECONDS];
    if (bucket.second !== second) bucket.clear(second);
    return bucket;
  }

  finished(call, now) {
    const bucket = this.at(Math.floor(now / 1000));
    if (call.outcome === 'ok') ++bucket.ok;
    else ++bucket.failed;
    if (Number.isFinite(call.durationMs) && !neverRan(call)) {
      ++bucket.timed;
      ++bucket.histogram[binOf(call.durationMs)];
    }
  }

  status(status, now) {
    const bucket = this.at(Math.floor(now / 1000));
    bucket.running = Number(status.running) || 0;
    bucket.waiting = Number(status.waiting) || 0;
    bucket.ready = Number(status.ready) || 0;
    this.concurrency = Number(status.concurrency) || null;
  }

  // Oldest first, `SECONDS` of them; the last is the second that has just ended, as this one is not
  // whole.
  window(now) {
    const last = Math.floor(now / 1000) - 1;
    return Array.from({ length: SECONDS }, (_, i) => {
      const second = last - SECONDS + 1 + i;
      const bucket = this.ring[((second % SECONDS) + SECONDS) % SECONDS];
      return bucket.second === second ? bucket : null;
    });
  }
}

export function summary(window) {
  const histogram = new Uint32Array(BINS);
  let timed = 0,
    ended = 0,
    failed = 0;
  for (const bucket of window) {
    if (!bucket) continue;
    ended += bucket.ok + bucket.failed;
    failed += bucket.failed;
    timed += bucket.timed;
    if (bucket.timed > 0) for (let bin = 0; bin < BINS; ++bin) histogram[bin] += bucket.histogram[bin];
  }
  const recent = window.slice(-10);
  const rate = recent.reduce((sum, bucket) => sum + (bucket ? bucket.ok + bucket.failed : 0), 0) / 10;
  return {
    ended,
    failed,
    rate,
    p50: quantile(histogram, timed, 0.5),
    p95: quantile(histogram, timed, 0.95),
    p99: quantile(histogram, timed, 0.99),
  };
}

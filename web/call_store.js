// What is known of calls: from the server's events, and from what it has kept of earlier ones.
// Bounded: the last thousand, the oldest finished go first.
import { fromBase64 } from './text.js';
import { OutputBuffer } from './output_buffer.js';
import { isLive, stateOf } from './outcomes.js';

const MOST_CALLS = 1000;
const RANKS = { running: 0, queued: 1 };
let nextKey = 1;

// Another caller may use the same id.
const nameOf = (id, caller) => (caller ? `${caller} ${id}` : String(id));

export function newCall(id, tool, caller, now) {
  return {
    key: nextKey++, // ids are the callers' choice, and may come twice
    id: String(id),
    tool: String(tool ?? ''),
    caller: String(caller ?? ''),
    state: 'queued', // running, done; unknown: it ended while this page was not connected
    outcome: null,
    message: '',
    created: now,
    seen: now,
    ended: null,
    durationMs: null,
    steps: null,
    usage: null,
    violations: [],
    connections: [],
    connectionsTotal: null,
    progress: null,
    arguments: null, // as far as the operator lets them be seen
    result: null,
    output: new OutputBuffer(),
    stdoutBytes: null,
    stderrBytes: null,
    version: 0, // counts the changes, so that painters can skip what they have shown
  };
}

// Applies one event of a call. `finished` is of /events, `result` of a call's own stream.
export function applyEvent(call, kind, data, now) {
  call.seen = now;
  ++call.version;
  switch (kind) {
    case 'queued':
      call.arguments = argumentsOf(data);
      break;
    case 'started':
      if (isLive(call)) call.state = 'running';
      break;
    case 'output':
      call.output.add(
        data.stream === 'stderr' ? 'stderr' : 'stdout',
        typeof data.text === 'string' ? data.text : fromBase64(data.text_base64 ?? ''),
      );
      if (call.state === 'queued') call.state = 'running';
      break;
    case 'progress':
      call.progress = { fraction: Number(data.fraction), text: String(data.text ?? '') };
      break;
    case 'finished':
      finish(call, data, now);
      call.stdoutBytes = data.stdout_bytes ?? null;
      call.stderrBytes = data.stderr_bytes ?? null;
      break;
    case 'result':
      finish(call, { ...data.report, duration_ms: data.duration_ms }, now);
      call.result = data;
      if (!data.ok && data.error) call.message = String(data.error);
      call.stdoutBytes = data.report?.stdout_bytes ?? null;
      call.stderrBytes = data.report?.stderr_bytes ?? null;
      break;
  }
}

const argumentsOf = (data) =>
  data.arguments !== null && typeof data.arguments === 'object' ? data.arguments : null;

function finish(call, data, now) {
  call.state = 'done';
  call.outcome = String(data.outcome ?? 'internal');
  call.message = String(data.message ?? '');
  call.ended = now;
  call.durationMs = Number.isFinite(data.duration_ms) ? data.duration_ms : now - call.created;
  call.steps = data.steps ?? null;
  call.usage = data.usage ?? null;
  call.violations = Array.isArray(data.violations) ? data.violations : [];
  call.connections = Array.isArray(data.connections) ? data.connections : [];
  call.connectionsTotal = data.connections_total ?? null;
}

export class CallStore {
  constructor(onFinished) {
    this.calls = new Map(); // key → call, in the order they came
    this.live = new Map(); // caller and id → its calls that have not ended
    this.added = 0;
    this.restored = 0; // of earlier ones
    this.told = new Map(); // caller and id → when it ended, of those that restore() was told of last
    this.pinned = null; // the key of the call that is being looked at
    this.onFinished = onFinished;
  }

  handle(kind, data, now) {
    if (typeof data.call_id !== 'string') return;
    const known = this.live.get(nameOf(data.call_id, data.caller)) ?? [];
    if (known.length === 0 && this.#isOld(kind, data)) return;
    let call;
    if (kind === 'queued') call = this.#add(data, now);
    else if (kind === 'started') call = known.find((one) => one.state === 'queued') ?? known.at(-1);
    else if (kind === 'finished') call = known[0];
    else call = known.at(-1);
    call ??= this.#add(data, now); // it began before this page did
    if (kind !== 'queued' && kind !== 'finished' && call.state === 'queued') call.state = 'running';
    applyEvent(call, kind, data, now);
    if (kind === 'finished') {
      this.#end(call);
      this.onFinished(call);
    }
  }

  // `calls` of /v1/calls, asked for at `asked`: adds what the page has not seen, ends what is no
  // more.
  reconcile(calls, asked, now) {
    const there = new Set();
    // An event overtakes the answer: what it has ended does not run again.
    const ended = new Set();
    for (const call of this.calls.values())
      if (!isLive(call) && call.seen >= asked) ended.add(nameOf(call.id, call.caller));
    for (const data of calls) {
      const name = nameOf(data.call_id, data.caller);
      there.add(name);
      if (this.live.has(name) || ended.has(name)) continue;
      const call = this.#add(data, now);
      call.created = now - (Number(data.age_ms) || 0);
      call.arguments = argumentsOf(data);
      if (data.status === 'running') call.state = 'running';
    }
    for (const [name, known] of [...this.live]) {
      if (there.has(name)) continue;
      for (const call of known.filter((one) => one.seen < asked)) {
        call.state = 'unknown';
        call.message = 'the call ended while this page was not connected';
        call.ended = now;
        ++call.version;
        this.#end(call);
      }
    }
  }

  // `ended` of /v1/calls, the newest first, as of `at` by the server's clock: what ended before
  // this page was there, or while it was not connected.
  restore(ended, at, now) {
    const known = new Map([...this.calls.values()].map((call) => [nameOf(call.id, call.caller), call]));
    const old = [];
    this.told = new Map();
    for (const data of ended) {
      const name = nameOf(data.call_id, data.caller);
      const seen = known.get(name);
      if (!this.told.has(name)) this.told.set(name, Date.parse(data.ended_at));
      if (seen && seen.state !== 'unknown') continue;
      const call = seen ?? newCall(data.call_id, data.tool, data.caller, now);
      const ago = (text) => (Number.isFinite(Date.parse(text)) ? Math.max(0, at - Date.parse(text)) : 0);
      applyEvent(call, 'finished', data, now - ago(data.ended_at));
      if (seen) continue;
      call.created = now - ago(data.started_at);
      call.arguments = argumentsOf(data);
      for (const stream of ['stdout', 'stderr']) {
        const end = data[`${stream}_end`];
        if (typeof end !== 'string') continue;
        call.output.add(stream, end);
        call.output.dropped += Math.max(0, (Number(data[`${stream}_bytes`]) || 0) - new Blob([end]).size);
      }
      old.push(call);
    }
    this.restored += old.length;
    const kept = old.slice(0, Math.max(0, MOST_CALLS - this.calls.size)).reverse();
    this.calls = new Map([...kept.map((call) => [call.key, call]), ...this.calls]);
  }

  // The answer overtakes events, too: those of a call that it has told of as ended.
  #isOld(kind, data) {
    const ended = this.told.get(nameOf(data.call_id, data.caller));
    return ended !== undefined && (kind === 'finished' || Date.parse(data.at) <= ended);
  }

  get(key) {
    return this.calls.get(key);
  }

  // What runs, then what waits, then what has ended; the newest first.
  newestFirst() {
    const rank = (call) => RANKS[stateOf(call).kind] ?? 2;
    return [...this.calls.values()].reverse().sort((one, other) => rank(one) - rank(other));
  }

  countLive() {
    let total = 0;
    for (const known of this.live.values()) total += known.length;
    return total;
  }

  #add(data, now) {
    const call = newCall(data.call_id, data.tool, data.caller, now);
    this.calls.set(call.key, call);
    ++this.added;
    const name = nameOf(call.id, call.caller);
    const known = this.live.get(name);
    if (known) known.push(call);
    else this.live.set(name, [call]);
    if (this.calls.size > MOST_CALLS) this.#evict();
    return call;
  }

  #end(call) {
    const name = nameOf(call.id, call.caller);
    const rest = (this.live.get(name) ?? []).filter((one) => one !== call);
    if (rest.length > 0) this.live.set(name, rest);
    else this.live.delete(name);
  }

  #evict() {
    let victim = null;
    for (const call of this.calls.values()) {
      if (call.key === this.pinned) continue;
      victim ??= call;
      if (!isLive(call)) {
        victim = call;
        break;
      }
    }
    this.#end(victim);
    this.calls.delete(victim.key);
  }
}

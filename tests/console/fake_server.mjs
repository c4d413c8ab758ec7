// A server that speaks the console's half of the HTTP contract and runs nothing: for working on the console without
// a build, and for its tests of what a real server seldom does (floods, lost events, broken connections).
//
//   node fake_server.mjs [--port 8099] [--token TOKEN] [--demo]     --demo: calls happen by themselves
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { FAKE_TOOLS, runFake } from './fake_tools.mjs';

const WEB = fileURLToPath(new URL('../../web/', import.meta.url));
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};
const LAYERS = [
  ['user_namespace', true, 'made, and ids mapped in it', '', true],
  ['mount_namespace', true, 'made, and a tmpfs mounted in it', '', true],
  ['pid_namespace', true, 'made', '', true],
  ['network_namespace', true, 'made', '', true],
  ['landlock', false, 'the kernel does not have it', 'boot with lsm=landlock,…', false],
  ['seccomp', true, 'a filter with a listener was loaded', '', true],
  ['cgroup_memory', true, 'version 2', '', false],
  ['cgroup_pids', true, 'version 2', '', false],
].map(([name, present, detail, fix, required]) => ({ name, present, detail, fix, required }));

export class FakeServer {
  constructor({ token = '' } = {}) {
    this.token = token;
    this.watchers = new Set();
    this.calls = new Map(); // id → {call, cancel()}
    this.ended = []; // the newest first
    this.total = 0;
    this.extra = {}; // over the status
    this.began = Date.now();
    this.serial = 0;
    this.refuseEvents = false;
    this.lateRefusals = false;
    this.server = createServer((request, response) =>
      this.#answer(request, response).catch((error) => {
        if (!response.headersSent) problem(response, 500, 'internal', error.message);
        else response.destroy();
      }),
    );
  }

  listen(port = 0) {
    return new Promise((resolve) =>
      this.server.listen(port, '127.0.0.1', () => {
        this.url = `http://127.0.0.1:${this.server.address().port}`;
        this.clock = setInterval(() => this.emit('status', this.status()), 1000);
        resolve(this.url);
      }),
    );
  }

  close() {
    clearInterval(this.clock);
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  status() {
    const running = [...this.calls.values()].length;
    return {
      version: '1.0.0',
      uptime_s: (Date.now() - this.began) / 1000,
      draining: false,
      tools: FAKE_TOOLS.length,
      running,
      waiting: 0,
      concurrency: 4,
      queue: 1024,
      ready: 4,
      calls_total: this.total,
      connections: this.watchers.size,
      builtins: true,
      auth: this.token !== '',
      ...this.extra,
    };
  }

  // To all that watch.
  emit(kind, data) {
    const text = frame(++this.serial, kind, { kind, tool: '', at: new Date().toISOString(), ...data });
    for (const watcher of this.watchers) watcher.write(text);
  }

  // Breaks every stream; with `refuse`, new ones too.
  disconnect(refuse = false) {
    this.refuseEvents = refuse;
    for (const watcher of this.watchers) watcher.destroy();
    this.watchers.clear();
  }

  async #answer(request, response) {
    const url = new URL(request.url, 'http://fake');
    const path = url.pathname;
    if (path === '/healthz') return json(response, 200, { status: 'ok' });
    if (path === '/' || path.startsWith('/console/'))
      return this.#file(path === '/' ? 'index.html' : path.slice(9), response);
    if (this.token && request.headers.authorization !== `Bearer ${this.token}`) {
      response.setHeader('WWW-Authenticate', 'Bearer');
      return problem(response, 401, 'unauthorized', 'A token is needed.');
    }
    const called = path.match(/^\/v1\/tools\/([^/]+)\/call$/);
    if (called && request.method === 'POST')
      return this.#call(decodeURIComponent(called[1]), request, response);
    const cancelled = path.match(/^\/v1\/calls\/([^/]+)$/);
    if (cancelled && request.method === 'DELETE')
      return this.#cancel(decodeURIComponent(cancelled[1]), response);
    switch (path) {
      case '/events':
        return this.#watch(response);
      case '/v1/tools':
        return json(response, 200, { tools: FAKE_TOOLS });
      case '/v1/status':
        return json(response, 200, this.status());
      case '/v1/calls':
        return json(response, 200, {
          calls: [...this.calls.values()].map(({ call }) => ({
            ...call,
            status: 'running',
            age_ms: Date.now() - call.began,
          })),
          at: new Date().toISOString(),
          ended: this.ended.slice(0, Number(url.searchParams.get('ended') ?? 0)),
        });
      case '/v1/capabilities':
        return json(response, 200, {
          backend: 'brig',
          available: true,
          isolation_level: 'jail',
          floors: { jail: true, landlock: false, process: true },
          layers: LAYERS,
        });
      default:
        return problem(response, 404, 'not-found', `Nothing is at ${path}.`);
    }
  }

  async #file(name, response) {
    const type = TYPES[name.split('.').pop()];
    if (!/^[a-z_]+\.(html|js|css)$/.test(name) || !type) return problem(response, 404, 'not-found', name);
    const text = await readFile(WEB + name).catch(() => null);
    if (text === null) return problem(response, 404, 'not-found', name);
    response.writeHead(200, {
      'Content-Type': type,
      'Content-Security-Policy': CSP,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-cache',
    });
    response.end(text);
  }

  #watch(response) {
    if (this.refuseEvents) return response.destroy();
    stream(response);
    this.watchers.add(response);
    response.on('close', () => this.watchers.delete(response));
    response.write(
      frame(++this.serial, 'status', { kind: 'status', at: new Date().toISOString(), ...this.status() }),
    );
  }

  #cancel(id, response) {
    const found = this.calls.get(id);
    if (!found) return problem(response, 404, 'unknown-call', 'There is no such call.');
    found.cancel();
    json(response, 202, { cancelled: true });
  }

  async #call(name, request, response) {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text || '{}');
    const tool = FAKE_TOOLS.find((one) => one.name === name);
    if (!tool) return problem(response, 404, 'unknown-tool', `There is no tool ${name}.`);
    const faults = faultsOf(tool.input_schema, body.arguments ?? {});
    const streams = (request.headers.accept ?? '').includes('text/event-stream');
    if (faults.length > 0) {
      const message = `the arguments do not fit the tool: ${faults.join('; ')}`;
      // In a stream it may be a result as well: brig serve finds out when the stream has begun.
      if (!streams || !this.lateRefusals) return problem(response, 422, 'invalid-arguments', message);
      stream(response);
      return response.end(
        frame(
          1,
          'result',
          report(body.call_id, { outcome: 'invalid_arguments', message, stdout: '', stderr: '' }, 0),
        ),
      );
    }
    if (streams) stream(response);
    let serial = 0;
    const result = await this.run(name, body.arguments ?? {}, body.call_id, (kind, data) => {
      if (streams) response.write(frame(++serial, kind, data));
    });
    if (!streams) return json(response, 200, result);
    response.end(frame(++serial, 'result', result));
  }

  // Runs a call, as it would look from outside. `tell` gets its events too.
  async run(name, args, id = `fake-${this.total + 1}`, tell = () => {}, caller = 'http') {
    ++this.total;
    const common = { call_id: id, tool: name, caller };
    const began = Date.now();
    let cancel;
    const cancelled = new Promise((resolve) => (cancel = resolve));
    const started_at = new Date(began).toISOString();
    const shown = { arguments: Object.keys(args).length > 0 ? args : null };
    this.calls.set(id, { call: { ...common, ...shown, began, started_at }, cancel });
    const say = (kind, data = {}) => {
      this.emit(kind, { ...common, ...data });
      tell(kind, data);
    };
    this.emit('queued', { ...common, ...shown });
    tell('queued', {}); // who asks knows the arguments
    say('started');
    const ran = await runFake(name, args, say, cancelled);
    this.calls.delete(id);
    const result = report(id, ran, Date.now() - began);
    const { outcome, message, violations, connections, connections_total, steps } = result.report;
    const told = {
      outcome,
      message,
      violations,
      ...(connections_total > 0 ? { connections, connections_total } : {}),
      steps,
      duration_ms: result.duration_ms,
      usage: { cpu_ms: 1.2, memory_peak_bytes: 3145728, processes_peak: 2 },
      stdout_bytes: result.report.stdout_bytes,
      stderr_bytes: result.report.stderr_bytes,
    };
    this.emit('finished', { ...common, ...told });
    this.ended.unshift({
      ...common,
      ...shown,
      ...told,
      started_at,
      ended_at: new Date().toISOString(),
      stdout_end: ran.stdout.slice(-2048),
      stderr_end: ran.stderr.slice(-2048),
    });
    this.ended.splice(1000);
    return result;
  }
}

// A little of a schema: what is required, and what must be text.
function faultsOf(schema, args) {
  const missing = schema.required
    .filter((key) => !(key in args))
    .map((key) => `/${key}: expected a value: it is required`);
  const wrong = Object.keys(args)
    .filter((key) => schema.properties[key]?.type === 'string' && typeof args[key] !== 'string')
    .map((key) => `/${key}: expected a string`);
  const nobody = args.who === 'nobody' ? ['/who: expected somebody'] : [];
  return [...missing, ...wrong, ...nobody];
}

function report(id, ran, took) {
  const duration = ran.duration ?? took;
  return {
    call_id: id,
    ok: ran.outcome === 'ok',
    output: ran.output ?? null,
    error: ran.outcome === 'ok' ? null : ran.message,
    error_type: null,
    traceback: ran.traceback ?? null,
    denied: ran.outcome === 'denied',
    reason: null,
    duration_ms: duration,
    started_at: new Date(Date.now() - duration).toISOString(),
    report: {
      outcome: ran.outcome,
      exit_code: ran.exit_code ?? null,
      signal: null,
      message: ran.message,
      stdout: ran.stdout,
      stderr: ran.stderr,
      stdout_bytes: Buffer.byteLength(ran.stdout),
      stderr_bytes: Buffer.byteLength(ran.stderr),
      usage: { wall_ms: duration, cpu_ms: 1.2, memory_peak_bytes: 3145728, processes_peak: 2 },
      steps: {
        queue_ms: 0.02 + duration * 0.08,
        dispatch_ms: 0.1,
        run_ms: duration * 0.9,
        teardown_ms: duration * 0.02,
      },
      enforced: [
        'process',
        'environment',
        'user_namespace',
        'mount_namespace',
        'seccomp',
        'rlimits',
        'memory:cgroup_v2',
      ],
      violations: ran.violations ?? [],
      connections: ran.connections ?? [],
      connections_total: ran.connections_total ?? 0,
    },
  };
}

const frame = (id, kind, data) => `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
const stream = (response) =>
  response
    .writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    .flushHeaders();
function json(response, status, value, type = 'application/json') {
  response.writeHead(status, { 'Content-Type': type });
  response.end(JSON.stringify(value));
}
const problem = (response, status, name, detail) =>
  json(
    response,
    status,
    {
      type: `urn:brig:problem:${name}`,
      title: name.replaceAll('-', ' ').replace(/^./, (first) => first.toUpperCase()),
      status,
      detail,
    },
    'application/problem+json',
  );

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, otherwise) =>
    process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : otherwise;
  const server = new FakeServer({ token: option('--token', '') });
  console.log(await server.listen(Number(option('--port', '8099'))));
  if (process.argv.includes('--demo')) (await import('./fake_demo.mjs')).demo(server);
}

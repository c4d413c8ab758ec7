// The HTTP API with curl, and its description with @redocly/cli.
import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as brig from './support.mjs';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const answers = []; // all that curl got

// Sends a request with curl; gives status, headers (in lower case) and body, parsed if it is JSON.
async function curl(path, { method, body, headers = {}, base = brig.url, args = [] } = {}) {
  const given = ['-sS', '-i', '--max-time', '30', ...args];
  if (method) given.push('-X', method);
  if (body !== undefined) {
    given.push('--data-binary', '@-');
    headers = { 'Content-Type': 'application/json', ...headers };
  }
  for (const [name, value] of Object.entries(headers)) given.push('-H', `${name}: ${value}`);
  const input = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const done = await brig.run('curl', [...given, base + path], { input });
  assert.equal(done.code, 0, `curl ${path}: ${done.stderr}`);
  const end = done.stdout.indexOf('\r\n\r\n');
  const [line, ...lines] = done.stdout.slice(0, end).split('\r\n');
  const text = done.stdout.slice(end + 4);
  const told = Object.fromEntries(
    lines.map((each) => [each.slice(0, each.indexOf(':')).toLowerCase(), each.slice(each.indexOf(':') + 1).trim()]),
  );
  const answer = {
    status: Number(line.split(' ')[1]),
    headers: told,
    text,
    json: /json/.test(told['content-type'] ?? '') ? JSON.parse(text) : undefined,
  };
  answers.push({
    ...answer,
    method: (method ?? (body === undefined ? 'GET' : 'POST')).toLowerCase(),
    path: path.split('?')[0],
  });
  return answer;
}

// Events of a stream that has ended.
const events = (text) =>
  text
    .split('\n\n')
    .filter((block) => /^data:/m.test(block))
    .map((block) => ({
      kind: block.match(/^event: (.*)$/m)?.[1],
      id: block.match(/^id: (.*)$/m)?.[1],
      data: JSON.parse(block.match(/^data: (.*)$/m)[1]),
    }));

function assertProblem(answer, status, name) {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers['content-type'], /^application\/problem\+json/);
  assert.equal(answer.json.status, status);
  assert.equal(typeof answer.json.title, 'string');
  if (name) assert.equal(answer.json.type, `urn:brig:problem:${name}`);
}

const call = (tool, given, options) =>
  curl(`/v1/tools/${tool}/call`, { body: { arguments: given, ...options?.more }, ...options });
const stream = { headers: { Accept: 'text/event-stream' } };

describe('curl: tools', { timeout: 60_000 }, () => {
  test('are listed by name', async () => {
    const { status, json } = await curl('/v1/tools');
    assert.equal(status, 200);
    const names = json.tools.map((tool) => tool.name);
    assert.deepEqual(names, names.toSorted());
    const add = json.tools.find((tool) => tool.name === 'add');
    assert.equal(add.description, 'Adds two integers.');
    assert.deepEqual(add.input_schema.required, ['a', 'b']);
    assert.deepEqual(add.annotations, { read_only: true, destructive: true, idempotent: false, open_world: false });
  });

  test('can be searched for', async () => {
    const { json } = await curl('/v1/tools?query=integers');
    assert.deepEqual(
      json.tools.map((tool) => tool.name),
      ['add'],
    );
    assert.deepEqual((await curl('/v1/tools?query=nothing-like-it')).json.tools, []);
  });

  test('are called', async () => {
    const { status, json } = await call('add', { a: 2, b: 3 }, { more: { call_id: 'mine-1' } });
    assert.equal(status, 200);
    assert.equal(json.ok, true);
    assert.equal(json.output, 5);
    assert.equal(json.error, null);
    assert.equal(json.call_id, 'mine-1');
    assert.equal(json.report.outcome, 'ok');
  });

  test('fail in the result, not in the status', async () => {
    const { status, json } = await call('fail', { message: 'no such city' });
    assert.equal(status, 200);
    assert.equal(json.ok, false);
    assert.equal(json.output, null);
    assert.equal(json.error, 'ValueError: no such city');
    assert.equal(json.error_type, 'ValueError');
    assert.equal(json.report.outcome, 'tool_error');
  });

  test('are called with a stream of what happens', async () => {
    const { status, headers, text } = await call('slow', { steps: 3, seconds: 0.02 }, stream);
    assert.equal(status, 200);
    assert.match(headers['content-type'], /^text\/event-stream/);
    const seen = events(text);
    assert.deepEqual(
      seen.map(({ kind }) => kind),
      ['queued', 'started', 'progress', 'progress', 'progress', 'result'],
    );
    assert.deepEqual(
      seen.filter(({ kind }) => kind === 'progress').map(({ data }) => data.text),
      ['step 1', 'step 2', 'step 3'],
    );
    assert.equal(seen.at(-1).data.output, '3 steps');
  });

  test('tell what they print in the stream', async () => {
    const { text } = await call('log', { lines: ['one', 'two'] }, stream);
    const printed = events(text).filter(({ kind }) => kind === 'output');
    assert.ok(printed.every(({ data }) => data.stream === 'stderr'));
    assert.equal(printed.map(({ data }) => data.text).join(''), 'INFO one\nINFO two\n');
  });

  test('are cancelled by the id of the call', async () => {
    const mark = brig.newMark();
    const calling = call('nap', { mark }, { more: { call_id: mark } });
    await brig.isRunning(mark);
    const running = (await curl('/v1/calls')).json.calls.find((each) => each.call_id === mark);
    assert.equal(running.tool, 'nap');
    assert.ok(running.age_ms >= 0);
    const cancelled = await curl(`/v1/calls/${mark}`, { method: 'DELETE' });
    assert.equal(cancelled.status, 202);
    assert.deepEqual(cancelled.json, { cancelled: true });
    assert.equal((await calling).json.report.outcome, 'cancelled');
    await brig.isGone(mark);
    assertProblem(await curl(`/v1/calls/${mark}`, { method: 'DELETE' }), 404);
  });

  test('are cancelled by a client that goes away', async () => {
    const mark = brig.newMark();
    let child;
    const body = JSON.stringify({ arguments: { mark } });
    const going = brig.run(
      'curl',
      ['-sN', '--json', body, '-H', 'Accept: text/event-stream', `${brig.url}/v1/tools/nap/call`],
      {
        started: (started) => (child = started),
      },
    );
    await brig.isRunning(mark);
    child.kill('SIGKILL');
    await going;
    await brig.isGone(mark);
  });
});

describe('curl: problems', { timeout: 60_000 }, () => {
  const cases = {
    'an unknown tool': [() => call('no_such_tool', {}), 404, 'unknown-tool'],
    'arguments that do not fit': [() => call('add', { a: 'two', b: 3 }), 422, 'invalid-arguments'],
    'a body that is no JSON': [() => curl('/v1/tools/add/call', { body: '{"arguments":' }), 400, 'malformed'],
    'a body that is no object': [() => curl('/v1/tools/add/call', { body: '[]' }), 400, 'malformed'],
    'a member that is not known': [
      () => curl('/v1/tools/add/call', { body: { argumnets: {} } }),
      422,
      'invalid-arguments',
    ],
    'another content type': [
      () => curl('/v1/tools/add/call', { body: 'a=1', headers: { 'Content-Type': 'text/plain' } }),
      415,
    ],
    'an unknown path': [() => curl('/v1/nothing'), 404],
    'an unknown job': [() => curl('/v1/jobs/none'), 404],
  };
  for (const [what, [send, status, name]] of Object.entries(cases)) {
    test(`${what} is ${status}`, async () => assertProblem(await send(), status, name));
  }

  test('a method that a path does not have is 405, with those that it has', async () => {
    const answer = await curl('/v1/tools', { method: 'DELETE' });
    assertProblem(answer, 405);
    assert.match(answer.headers.allow, /GET/);
  });

  test('a host that is not ours is turned away: a page elsewhere must not reach us by a name of its own', async () => {
    const answer = await curl('/v1/tools', { headers: { Host: 'evil.example.com' } });
    assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
  });

  test('an origin that is not ours is turned away', async () => {
    const answer = await curl('/v1/tools', { headers: { Origin: 'https://evil.example.com' } });
    assert.equal(answer.status, 403, answer.text);
  });
});

describe('curl: jobs', { timeout: 60_000 }, () => {
  test('are submitted, waited for, listed and forgotten', async () => {
    const submitted = await curl('/v1/jobs', { body: { tool: 'slow', arguments: { steps: 2, seconds: 0.1 } } });
    assert.equal(submitted.status, 202, submitted.text);
    const path = submitted.headers.location;
    assert.equal(path, `/v1/jobs/${submitted.json.id}`);
    assert.equal(submitted.json.tool, 'slow');
    assert.ok(['queued', 'running'].includes(submitted.json.status));
    const done = await curl(`${path}?wait=10`);
    assert.equal(done.json.status, 'done', done.text);
    assert.equal(done.json.result.output, '2 steps');
    assert.ok((await curl('/v1/jobs')).json.jobs.some((job) => job.id === submitted.json.id));
    assert.equal((await curl(path, { method: 'DELETE' })).status, 204);
    assertProblem(await curl(path), 404);
  });

  test('are cancelled', async () => {
    const mark = brig.newMark();
    const { headers } = await curl('/v1/jobs', { body: { tool: 'nap', arguments: { mark } } });
    await brig.isRunning(mark);
    assert.equal((await curl(headers.location)).json.status, 'running');
    assert.equal((await curl(headers.location, { method: 'DELETE' })).status, 202);
    await brig.isGone(mark);
    const done = await curl(`${headers.location}?wait=5`);
    assert.equal(done.json.result.report.outcome, 'cancelled');
  });

  test('go on when the client that submitted them is gone', async () => {
    const { headers } = await curl('/v1/jobs', { body: { tool: 'add', arguments: { a: 1, b: 2 } } });
    assert.equal((await curl(`${headers.location}?wait=10`)).json.result.output, 3);
  });

  test('of an unknown tool are refused at once', async () => {
    assertProblem(await curl('/v1/jobs', { body: { tool: 'no_such_tool' } }), 404, 'unknown-tool');
  });
});

describe('curl: commands', { timeout: 60_000 }, () => {
  let server; // without a manifest: its tools are run_command and run_python

  before(async () => {
    server = await brig.serve();
  });
  after(() => server.stop());
  const run = (body, options) => curl('/v1/run', { base: server.url, body, ...options });

  test('are run', async () => {
    const { status, json } = await run({ argv: ['tr', 'a-z', 'A-Z'], stdin: 'ahoy' });
    assert.equal(status, 200);
    assert.equal(json.report.outcome, 'ok');
    assert.equal(json.report.stdout, 'AHOY');
  });

  test('are run by a shell, with files', async () => {
    const files = { 'data/one.txt': 'one', 'data/two.bin': { base64: Buffer.from('two').toString('base64') } };
    const { json } = await run({ command: 'cat data/*; exit 3', files });
    assert.equal(json.report.stdout, 'onetwo');
    assert.equal(json.report.outcome, 'exit');
    assert.equal(json.report.exit_code, 3);
  });

  test('have limits, which a request can make narrower', async () => {
    const { json } = await run({ argv: ['sleep', '20'], limits: { timeout: '300ms' } });
    assert.equal(json.report.outcome, 'timeout');
  });

  test('have limits, which no request can make wider', async () => {
    assertProblem(await run({ argv: ['true'], limits: { timeout: 100_000 } }), 422, 'wider-policy');
    assertProblem(await run({ argv: ['true'], limits: { memory: '512G' } }), 422, 'wider-policy');
  });

  test('have a network, which a request can only make narrower', async () => {
    assert.equal((await run({ argv: ['true'], network: 'none' })).status, 200);
    assertProblem(await run({ argv: ['true'], network: { allow: ['api.github.com'] } }), 422, 'wider-policy');
    assertProblem(await run({ argv: ['true'], network: 'host' }), 422, 'invalid-arguments');
  });

  test('are streamed', async () => {
    const { text } = await run({ command: 'echo one; sleep 0.1; echo two' }, stream);
    const seen = events(text);
    const printed = seen.filter(({ kind }) => kind === 'output').map(({ data }) => data.text);
    assert.equal(printed.join(''), 'one\ntwo\n');
    assert.equal(seen.at(-1).kind, 'result');
  });

  test('can leave no file outside', async () => {
    assertProblem(await run({ argv: ['true'], files: { '../../etc/passwd': 'x' } }), 422);
    assertProblem(await run({ argv: ['true'], files: { '/etc/passwd': 'x' } }), 422);
  });

  test('are tools, too: run_command and run_python', async () => {
    const { json } = await curl('/v1/tools', { base: server.url });
    assert.deepEqual(
      json.tools.map((tool) => tool.name),
      ['run_command', 'run_python'],
    );
    const ran = await call('run_python', { code: 'print(6 * 7)' }, { base: server.url });
    assert.equal(ran.json.ok, true, ran.text);
    assert.match(ran.text, /42/);
  });
});

test('curl: no commands where the manifest offers none', { timeout: 20_000 }, async () => {
  assertProblem(await curl('/v1/run', { body: { argv: ['true'] } }), 403, 'no-commands');
});

describe('curl: a server with tokens', { timeout: 60_000 }, () => {
  const token = 'one-token-of-the-tests-0123456789abcdef';
  let directory;
  let server;

  before(async () => {
    directory = await mkdtemp(`${tmpdir()}/brig-token-`);
    await writeFile(`${directory}/token`, `${token}\n`, { mode: 0o600 });
    server = await brig.serve('--manifest', brig.manifest, '--token-file', `${directory}/token`);
  });
  after(async () => {
    await server.stop();
    await rm(directory, { recursive: true });
  });
  const bearer = (value) => ({ base: server.url, headers: { Authorization: `Bearer ${value}` } });

  test('turns away who has none, or another', async () => {
    for (const options of [{ base: server.url }, bearer('another'), bearer(token.slice(0, -1)), bearer(`${token}x`)]) {
      const answer = await curl('/v1/tools', options);
      assertProblem(answer, 401);
      assert.match(answer.headers['www-authenticate'], /^Bearer/);
    }
    for (const path of ['/v1/status', '/v1/jobs', '/v1/calls', '/v1/openapi.json', '/metrics', '/events', '/mcp']) {
      assert.equal((await curl(path, { base: server.url })).status, 401, path);
    }
  });

  test('lets in who has it', async () => {
    assert.equal((await curl('/v1/tools', bearer(token))).status, 200);
    assert.equal((await curl('/v1/status', bearer(token))).json.auth, true);
    const { json } = await curl('/v1/tools/add/call', { ...bearer(token), body: { arguments: { a: 2, b: 3 } } });
    assert.equal(json.output, 5);
  });

  test('tells anyone that it is well', async () => {
    const { status, json } = await curl('/healthz', { base: server.url });
    assert.equal(status, 200);
    assert.deepEqual(json, { status: 'ok' });
  });
});

describe('curl: tokens that allow less', { timeout: 60_000 }, () => {
  const token = (name) => `token-of-${name}-0123456789abcdef`;
  const as = (name) => ({ base: server.url, headers: { Authorization: `Bearer ${token(name)}` } });
  let directory;
  let server;

  before(async () => {
    directory = await mkdtemp(`${tmpdir()}/brig-tokens-`);
    const table = (name, more) => `[[token]]\nname = "${name}"\ntoken = "${token(name)}"\n${more}\n`;
    const tables = [table('adder', 'tools = ["add"]'), table('slow', 'rate = 1'), table('one', ''), table('other', '')];
    await writeFile(`${directory}/tokens.toml`, tables.join(''), { mode: 0o600 });
    server = await brig.serve('--manifest', brig.manifest, '--token-file', `${directory}/tokens.toml`);
  });
  after(async () => {
    await server.stop();
    await rm(directory, { recursive: true });
  });

  test('some tools, and the others are not there', async () => {
    assert.deepEqual(
      (await curl('/v1/tools', as('adder'))).json.tools.map((tool) => tool.name),
      ['add'],
    );
    assert.equal((await call('add', { a: 2, b: 3 }, as('adder'))).json.output, 5);
    assertProblem(await call('fail', { message: 'x' }, as('adder')), 403, 'not-allowed');
  });

  test('some calls per second', async () => {
    const answers = [];
    for (let i = 0; i < 4; ++i) answers.push(await call('add', { a: 1, b: 1 }, as('slow')));
    const refused = answers.find(({ status }) => status !== 200);
    assertProblem(refused, 429, 'rate-limited');
    assert.ok(Number(refused.headers['retry-after']) >= 1);
  });

  test('not the calls and jobs of others', async () => {
    const mark = brig.newMark();
    const { headers } = await curl('/v1/jobs', { ...as('one'), body: { tool: 'nap', arguments: { mark } } });
    await brig.isRunning(mark);
    assert.deepEqual((await curl('/v1/jobs', as('other'))).json.jobs, []);
    assert.deepEqual((await curl('/v1/calls', as('other'))).json.calls, []);
    assertProblem(await curl(headers.location, as('other')), 404);
    assertProblem(await curl(headers.location, { ...as('other'), method: 'DELETE' }), 404);
    const [running] = (await curl('/v1/calls', as('one'))).json.calls;
    assertProblem(await curl(`/v1/calls/${running.call_id}`, { ...as('other'), method: 'DELETE' }), 404);
    assert.equal((await curl(headers.location, as('one'))).json.status, 'running');
    assert.equal((await curl(headers.location, { ...as('one'), method: 'DELETE' })).status, 202);
    await brig.isGone(mark);
  });

  test('not the sessions of others', async () => {
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'curl', version: '1' } },
    };
    const mcp = (name, body, more) => {
      const headers = { ...as(name).headers, Accept: 'application/json, text/event-stream', ...more };
      return curl('/mcp', { base: server.url, body, headers });
    };
    const session = { 'Mcp-Session-Id': (await mcp('one', initialize)).headers['mcp-session-id'] };
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    // The same id of another's is a session of its own: what it ends is not the first one.
    assert.equal((await mcp('other', ping, session)).status, 200);
    const gone = await curl('/mcp', { base: server.url, method: 'DELETE', headers: { ...as('other').headers, ...session } });
    assert.ok(gone.status < 300, `${gone.status}`);
    assert.equal((await mcp('other', ping, session)).status, 404);
    assert.equal((await mcp('one', ping, session)).status, 200);
  });
});

describe('curl: other ways to the server', { timeout: 60_000 }, () => {
  let directory;

  before(async () => {
    directory = await mkdtemp(`${tmpdir()}/brig-ways-`);
  });
  after(() => rm(directory, { recursive: true }));

  test("a socket in the file system, which is its owner's alone", async () => {
    const path = `${directory}/brig.sock`;
    const server = await brig.serve('--listen', `unix:${path}`);
    assert.equal(server.url, `unix:${path}`);
    assert.equal((await stat(path)).mode & 0o077, 0);
    const answer = await curl('/healthz', { base: 'http://localhost', args: ['--unix-socket', path] });
    assert.deepEqual(answer.json, { status: 'ok' });
    await server.stop();
    await assert.rejects(stat(path), { code: 'ENOENT' });
  });

  test('TLS', async () => {
    const [key, certificate] = [`${directory}/key.pem`, `${directory}/certificate.pem`];
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const done = await brig.run('openssl', ['req', ...made, ...names, '-keyout', key, '-out', certificate]);
    assert.equal(done.code, 0, done.stderr);
    const server = await brig.serve('--tls-cert', certificate, '--tls-key', key);
    assert.match(server.url, /^https:/);
    const answer = await curl('/healthz', { base: server.url, args: ['--cacert', certificate] });
    assert.deepEqual(answer.json, { status: 'ok' });
    await server.stop();
  });

  test('an address of the network only with tokens', async () => {
    await assert.rejects(brig.serve('--listen', '0.0.0.0:0'), /token/);
  });
});

describe('curl: how the server is', { timeout: 60_000 }, () => {
  test('healthz', async () => {
    assert.deepEqual((await curl('/healthz')).json, { status: 'ok' });
  });

  test('status', async () => {
    const { json } = await curl('/v1/status');
    assert.match(json.version, /^\d+\.\d+/);
    assert.equal(json.draining, false);
    assert.equal(json.auth, false);
    assert.ok(json.tools >= brig.toolNames.length);
    assert.ok(json.calls_total >= 1);
    for (const each of ['uptime_s', 'running', 'waiting', 'concurrency', 'queue', 'ready', 'connections']) {
      assert.equal(typeof json[each], 'number', each);
    }
  });

  test('capabilities', async () => {
    const { status, json } = await curl('/v1/capabilities');
    assert.equal(status, 200);
    assert.equal(typeof json, 'object');
  });

  test('metrics, as Prometheus reads them', async () => {
    const { status, headers, text } = await curl('/metrics');
    assert.equal(status, 200);
    assert.match(headers['content-type'], /^text\/plain/);
    const metrics = text.trimEnd().split('\n');
    for (const line of metrics) {
      assert.match(
        line,
        /^(# (HELP|TYPE) [a-z_:]+ .+|[a-z_:]+(\{([a-z_]+="([^"\\]|\\.)*",?)*\})? (-?[0-9.e+-]+|NaN|[+-]?Inf))$/,
      );
    }
    assert.ok(
      metrics.some((line) => /^brig_[a-z_]*total\b/.test(line)),
      'a counter',
    );
  });

  test('events of one call, as they happen', async () => {
    const id = brig.newMark();
    let child;
    const watching = brig.run('curl', ['-sNv', '--max-time', '30', `${brig.url}/events?call_id=${id}`], {
      started: (started) => (child = started),
    });
    let head = '';
    let heard = '';
    child.stderr.on('data', (text) => (head += text));
    child.stdout.on('data', (text) => (heard += text));
    await brig.until('the head of its answer', () => /^< HTTP\/1\.1 200 /m.test(head)); // it watches from there on
    await call('slow', { steps: 1, seconds: 0.05 }, { more: { call_id: id } });
    await brig.until('the end of the call', () => /^event: finished$/m.test(heard));
    child.kill();
    await watching;
    const seen = events(heard);
    assert.deepEqual(
      seen.map(({ kind }) => kind),
      ['queued', 'started', 'progress', 'finished'],
    );
    assert.ok(seen.every(({ data }) => data.call_id === id && data.tool === 'slow'));
    assert.equal(seen.at(-1).data.outcome, 'ok');
  });
});

describe('the description of the API', { timeout: 120_000 }, () => {
  let description;

  before(async () => {
    description = (await curl('/v1/openapi.json')).json;
  });

  test('has every path of the API', () => {
    assert.match(description.openapi, /^3\.1\./);
    for (const path of [
      '/healthz',
      '/metrics',
      '/events',
      '/v1/calls',
      '/v1/capabilities',
      '/v1/jobs',
      '/v1/run',
      '/v1/status',
      '/v1/tools',
    ]) {
      assert.ok(description.paths[path], path);
    }
  });

  test('says what the answers to all requests above were', () => {
    const ajv = new Ajv2020({ formats: { 'date-time': TIME }, strict: false });
    ajv.addSchema(description, 'description');
    const whole = (node) =>
      node?.$ref
        ? node.$ref
            .slice(2)
            .split('/')
            .reduce((at, key) => at[key], description)
        : node;
    const matches = (template, path) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
    const wrong = new Set();
    for (const { method, path, status, headers, json } of answers) {
      const template = Object.keys(description.paths).find((each) => matches(each, path));
      const operation = description.paths[template]?.[method];
      if (!operation) continue; // paths and methods that are not there, and /mcp
      const what = `${method} ${template} ${status}`;
      const type = headers['content-type']?.split(';')[0];
      const response = whole(operation.responses[status]);
      if (!response) wrong.add(`${what} is not described`);
      else if (type && !response.content?.[type]) wrong.add(`${what} is not described as ${type}`);
      else if (json !== undefined) {
        const inside = `#/paths/${template.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/${method}/responses/${status}`;
        const pointer = operation.responses[status].$ref ?? inside;
        const schema = { $ref: `description${pointer}/content/${type.replaceAll('/', '~1')}/schema` };
        if (!ajv.validate(schema, json)) wrong.add(`${what}: ${ajv.errorsText()}`);
      }
    }
    assert.deepEqual([...wrong], []);
    assert.ok(answers.length > 50, `${answers.length}`);
  });

  test('is found good by @redocly/cli', async (t) => {
    const directory = await mkdtemp(`${tmpdir()}/brig-openapi-`);
    t.after(() => rm(directory, { recursive: true }));
    await writeFile(`${directory}/openapi.json`, JSON.stringify(description, null, 2));
    const args = ['lint', '--config', `${brig.here}/redocly.yaml`, '--format', 'json', `${directory}/openapi.json`];
    const done = await brig.node(brig.bin('redocly'), args, {
      env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
    const problems = JSON.parse(done.stdout).problems.map(({ severity, ruleId, message, location }) => ({
      severity,
      ruleId,
      message,
      at: location[0]?.pointer,
    }));
    assert.deepEqual(problems, []);
    assert.equal(done.code, 0, done.stderr);
  });
});

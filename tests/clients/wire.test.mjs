// What no well-behaved client sends, or looks at: the rules of the protocol that are kept on the wire, over stdio and HTTP.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as brig from './support.mjs';

const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
const clientInfo = { name: 'brig-tests', version: '1' };
const meta = (more) => ({
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
  ...more,
});
const request = (id, method, params) => ({ jsonrpc: '2.0', id, method, ...(params && { params }) });
const initialize = (id, protocolVersion = LEGACY) =>
  request(id, 'initialize', { protocolVersion, capabilities: {}, clientInfo });
const callTool = (id, name, given, _meta) =>
  request(id, 'tools/call', { name, arguments: given, ...(_meta && { _meta }) });

describe('wire: stdio', { timeout: 60_000 }, () => {
  // One server, and the messages that it sent, in their order.
  function start() {
    const child = spawn(brig.stdio.command, brig.stdio.args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const messages = [];
    createInterface({ input: child.stdout }).on('line', (line) => messages.push(JSON.parse(line)));
    const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal)));
    const write = (text) => child.stdin.write(`${text}\n`);
    const send = (message) => write(JSON.stringify(message));
    const answer = async (id) => {
      await brig.until(`an answer to ${id}`, () => messages.some((each) => each.id === id && !each.method));
      return messages.find((each) => each.id === id && !each.method);
    };
    return { child, messages, ended, write, send, answer, ask: (message) => (send(message), answer(message.id)) };
  }

  let server;
  before(async () => {
    server = start();
    await server.ask(initialize(0));
    server.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  });
  after(async () => {
    server.child.stdin.end();
    await server.ended;
  });

  test('an id comes back as it was sent, a text as a text', async () => {
    assert.deepEqual((await server.ask(request('7', 'ping'))).result, {});
    assert.deepEqual((await server.ask(request(7, 'ping'))).result, {});
  });

  test('the version that is asked for is spoken, if it is known; else the newest of that era', async () => {
    for (const [asked, told] of [
      [LEGACY, LEGACY],
      ['2025-06-18', '2025-06-18'],
      ['1999-01-01', LEGACY],
    ]) {
      const other = start();
      assert.equal((await other.ask(initialize(1, asked))).result.protocolVersion, told);
      other.child.stdin.end();
      assert.equal(await other.ended, 0);
    }
  });

  test('a long call does not hold up a short one', async () => {
    const mark = brig.newMark();
    server.send(callTool('long', 'nap', { mark }));
    await brig.isRunning(mark);
    await server.ask(callTool('short', 'add', { a: 1, b: 2 }));
    assert.ok(!server.messages.some((each) => each.id === 'long'));
    server.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'long' } });
    await brig.isGone(mark);
    assert.equal((await server.ask(callTool('brief', 'nap', { mark, seconds: 0 }))).result.structuredContent.result, 'slept');
  });

  test('no message follows for a call that was cancelled', async () => {
    const mark = brig.newMark();
    server.send(callTool('given up', 'nap', { mark }));
    await brig.isRunning(mark);
    server.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'given up', reason: 'test' },
    });
    await brig.isGone(mark);
    await server.ask(callTool('later', 'add', { a: 1, b: 2 }));
    await sleep(200); // nothing tells that no message comes; a slow machine only makes this look less closely
    assert.ok(!server.messages.some((each) => each.id === 'given up'));
  });

  test('cancelling a call that is not there does nothing', async () => {
    server.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'never was' } });
    server.send({ jsonrpc: '2.0', method: 'notifications/no_such_thing' });
    await server.ask(request('still there', 'ping'));
  });

  test('progress is told to who asked for it, with the token as it was sent', async () => {
    const before = server.messages.length;
    await server.ask(callTool('asks', 'slow', { steps: 2, seconds: 0.01 }, { progressToken: 41 }));
    await server.ask(callTool('asks not', 'slow', { steps: 2, seconds: 0.01 }));
    const told = server.messages.slice(before).filter((each) => each.method === 'notifications/progress');
    assert.deepEqual(
      told.map((each) => each.params.progressToken),
      [41, 41],
    );
  });

  test('both eras are spoken on one connection', async () => {
    const discovered = await server.ask(request('d', 'server/discover', { _meta: meta() }));
    assert.ok(discovered.result.supportedVersions.includes(MODERN));
    assert.equal(discovered.result.resultType, 'complete');
    const called = await server.ask(callTool('c', 'add', { a: 2, b: 3 }, meta()));
    assert.equal(called.result.resultType, 'complete');
    assert.equal(called.result.structuredContent, 5);
    assert.equal((await server.ask(callTool('l', 'add', { a: 2, b: 3 }))).result.resultType, undefined);
  });

  const mistakes = {
    'text that is no JSON': ['{"jsonrpc":', -32700],
    'a batch': [JSON.stringify([request(1, 'ping')]), -32600],
    'a request that is none': ['{"jsonrpc":"2.0","id":901,"metod":"ping"}', -32600],
    'another version of JSON-RPC': ['{"jsonrpc":"1.0","id":902,"method":"ping"}', -32600],
    'a method that is not there': [JSON.stringify(request(903, 'no/such')), -32601],
    'a call without a name': [JSON.stringify(request(904, 'tools/call', {})), -32602],
    'arguments that are no object': [
      JSON.stringify(request(905, 'tools/call', { name: 'add', arguments: [1] })),
      -32602,
    ],
  };
  for (const [what, [line, code]] of Object.entries(mistakes)) {
    test(`${what} is answered with ${code}, and the connection goes on`, async () => {
      const before = server.messages.length;
      server.write(line);
      await brig.until('an error', () => server.messages.slice(before).some((each) => each.error));
      assert.equal(server.messages.slice(before).find((each) => each.error).error.code, code);
      assert.deepEqual((await server.ask(request(`after ${what}`, 'ping'))).result, {});
    });
  }

  test('empty lines and spaces around a message do no harm', async () => {
    server.write('');
    server.write(`  ${JSON.stringify(request('spaced', 'ping'))}  \r`);
    await server.answer('spaced');
  });

  test('at the end of its input the server ends at once, and its calls with it', async () => {
    const other = start();
    await other.ask(initialize(1));
    const mark = brig.newMark();
    other.send(callTool(2, 'nap', { mark }));
    await brig.isRunning(mark);
    const began = Date.now();
    other.child.stdin.end();
    assert.equal(await other.ended, 0);
    assert.ok(Date.now() - began < 15_000, `it took ${Date.now() - began} ms`);
    await brig.isGone(mark);
  });

  test('SIGTERM ends it, too', async () => {
    const other = start();
    await other.ask(initialize(1));
    const mark = brig.newMark();
    other.send(callTool(2, 'nap', { mark }));
    await brig.isRunning(mark);
    other.child.kill('SIGTERM');
    await other.ended;
    await brig.isGone(mark);
  });
});

async function post(message, headers = {}, options = {}) {
  const response = await fetch(brig.endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
    ...options,
  });
  return response;
}

// The answer of a response, be it JSON or a stream.
async function answerOf(response) {
  const text = await response.text();
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return text ? JSON.parse(text) : undefined;
  const messages = [...text.matchAll(/^data: ?(.+)$/gm)].map((match) => JSON.parse(match[1]));
  return messages.find((each) => each.result || each.error);
}

const modern = (method, more) => ({ 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method, ...more });

async function newSession() {
  const response = await post(initialize(1));
  assert.equal(response.status, 200);
  await answerOf(response);
  const id = response.headers.get('mcp-session-id');
  const headers = { 'MCP-Protocol-Version': LEGACY, ...(id && { 'Mcp-Session-Id': id }) };
  const told = await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  assert.equal(told.status, 202);
  assert.equal(await told.text(), '');
  return { id, headers };
}

describe('wire: HTTP with sessions', { timeout: 60_000 }, () => {
  test('the id of a session can not be guessed', async () => {
    const ids = [(await newSession()).id, (await newSession()).id];
    assert.notEqual(ids[0], ids[1]);
    for (const id of ids) assert.match(id, /^[\x21-\x7e]{22,}$/);
  });

  test('a request without its session is 400, with one that is not there 404', async () => {
    assert.equal((await post(request(2, 'tools/list'), { 'MCP-Protocol-Version': LEGACY })).status, 400);
    const wrong = { 'MCP-Protocol-Version': LEGACY, 'Mcp-Session-Id': 'no-such-session' };
    assert.equal((await post(request(2, 'tools/list'), wrong)).status, 404);
  });

  test('a version that is not known is 400', async () => {
    const { headers } = await newSession();
    assert.equal(
      (await post(request(2, 'tools/list'), { ...headers, 'MCP-Protocol-Version': '1999-01-01' })).status,
      400,
    );
  });

  test('a version that is not told is taken for an old one', async () => {
    const { id } = await newSession();
    const response = await post(request(2, 'tools/list'), { 'Mcp-Session-Id': id });
    assert.equal(response.status, 200);
    assert.ok((await answerOf(response)).result.tools.length > 0);
  });

  test('a session ends by DELETE', async () => {
    const { headers } = await newSession();
    const ended = await fetch(brig.endpoint, { method: 'DELETE', headers });
    assert.ok(ended.ok, `${ended.status}`);
    assert.equal((await post(request(2, 'ping'), headers)).status, 404);
  });

  test('a client that loses its connection cancels nothing', async () => {
    const { headers } = await newSession();
    const mark = brig.newMark();
    const leave = new AbortController();
    const calling = post(callTool(2, 'nap', { mark }), headers, { signal: leave.signal }).then((response) =>
      response.text(),
    );
    calling.catch(() => {});
    await brig.isRunning(mark);
    leave.abort();
    await assert.rejects(calling);
    await sleep(500); // nothing tells that it is not cancelled; a slow machine only makes this look less closely
    await brig.isRunning(mark);
    const told = await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } }, headers);
    assert.equal(told.status, 202);
    await brig.isGone(mark);
  });

  test('DELETE ends the calls of the session', async () => {
    const { headers } = await newSession();
    const mark = brig.newMark();
    const calling = post(callTool(2, 'nap', { mark }), headers).then((response) => response.text());
    calling.catch(() => {});
    await brig.isRunning(mark);
    await fetch(brig.endpoint, { method: 'DELETE', headers });
    await brig.isGone(mark);
    await calling.catch(() => {});
  });

  test('a session can not cancel the calls of another, though their ids are the same', async () => {
    const [mine, other] = [await newSession(), await newSession()];
    const mark = brig.newMark();
    const calling = post(callTool(5, 'nap', { mark, seconds: 2 }), mine.headers).then(answerOf);
    await brig.isRunning(mark);
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }, other.headers);
    assert.equal((await calling).result.structuredContent.result, 'slept');
  });

  test('GET is a stream, or it is refused by 405', async () => {
    const { headers } = await newSession();
    const leave = new AbortController();
    const response = await fetch(brig.endpoint, {
      headers: { ...headers, Accept: 'text/event-stream' },
      signal: leave.signal,
    });
    if (response.status !== 405) {
      assert.equal(response.status, 200);
      assert.match(response.headers.get('content-type'), /^text\/event-stream/);
    }
    leave.abort();
  });
});

describe('wire: HTTP without sessions', { timeout: 60_000 }, () => {
  test('no session is made', async () => {
    const response = await post(request(1, 'server/discover', { _meta: meta() }), modern('server/discover'));
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('mcp-session-id'), null);
  });

  test('GET and DELETE are 405', async () => {
    for (const method of ['GET', 'DELETE']) {
      const response = await fetch(brig.endpoint, {
        method,
        headers: { 'MCP-Protocol-Version': MODERN, Accept: 'text/event-stream' },
      });
      assert.equal(response.status, 405, method);
      await response.body?.cancel();
    }
  });

  test('a client that goes away ends its call', async () => {
    for (const more of [{}, { progressToken: 1 }]) {
      const mark = brig.newMark();
      const leave = new AbortController();
      const headers = modern('tools/call', { 'Mcp-Name': 'nap' });
      const calling = post(callTool(1, 'nap', { mark }, meta(more)), headers, { signal: leave.signal }).then(
        (response) => response.text(),
      );
      calling.catch(() => {});
      await brig.isRunning(mark);
      leave.abort();
      await assert.rejects(calling);
      await brig.isGone(mark);
    }
  });

  test('a notification can not end the call of someone else', async () => {
    const mark = brig.newMark();
    const calling = post(
      callTool(5, 'nap', { mark, seconds: 2 }, meta()),
      modern('tools/call', { 'Mcp-Name': 'nap' }),
    ).then(answerOf);
    await brig.isRunning(mark);
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5, _meta: meta() } };
    await (await post(cancel, modern('notifications/cancelled'))).text();
    assert.equal((await calling).result.structuredContent, 'slept');
  });

  test('a name in a header may be in base64', async () => {
    const response = await post(
      callTool(1, 'add', { a: 2, b: 3 }, meta()),
      modern('tools/call', { 'Mcp-Name': `=?base64?${Buffer.from('add').toString('base64')}?=` }),
    );
    assert.equal((await answerOf(response)).result.structuredContent, 5);
  });

  test('a stream is not to be buffered by proxies', async () => {
    const response = await post(
      callTool(1, 'slow', { steps: 2, seconds: 0.01 }, meta({ progressToken: 'p' })),
      modern('tools/call', { 'Mcp-Name': 'slow' }),
    );
    assert.match(response.headers.get('content-type'), /^text\/event-stream/);
    assert.equal(response.headers.get('x-accel-buffering'), 'no');
    assert.match(response.headers.get('cache-control'), /no-cache|no-store/);
    await response.text();
  });

  test('a log is told from the level on that was asked for', async () => {
    const logged = async (level) => {
      const response = await post(
        callTool(1, 'log', { lines: ['one'] }, meta({ 'io.modelcontextprotocol/logLevel': level })),
        modern('tools/call', { 'Mcp-Name': 'log' }),
      );
      return (await response.text()).includes('notifications/message');
    };
    assert.equal(await logged('debug'), true);
    assert.equal(await logged('info'), true);
    assert.equal(await logged('warning'), false);
  });

  test('a tool that is not there is an error of the protocol', async () => {
    const response = await post(
      callTool(1, 'no_such_tool', {}, meta()),
      modern('tools/call', { 'Mcp-Name': 'no_such_tool' }),
    );
    assert.equal((await answerOf(response)).error.code, -32602);
  });
});

describe('wire: HTTP in both eras', { timeout: 60_000 }, () => {
  test('a body that is no JSON is 400 with -32700', async () => {
    const response = await post('{"jsonrpc":');
    assert.equal(response.status, 400);
    assert.equal((await response.json()).error.code, -32700);
  });

  test('a batch is 400 with -32600', async () => {
    const response = await post([request(1, 'ping')]);
    assert.equal(response.status, 400);
    assert.equal((await response.json()).error.code, -32600);
  });

  test('another content type is refused', async () => {
    const response = await post(initialize(1), { 'Content-Type': 'text/plain' });
    assert.ok([400, 415].includes(response.status), `${response.status}`);
  });

  test('an origin that is not ours is 403: a page in a browser must not call tools', async () => {
    assert.equal((await post(initialize(1), { Origin: 'https://evil.example.com' })).status, 403);
    assert.equal((await post(initialize(1), { Origin: 'null' })).status, 403);
  });

  test('a body larger than any request is refused before it is read', async () => {
    const response = await post(JSON.stringify(callTool(1, 'measure', { text: 'x'.repeat(70 << 20) }))).catch(
      (error) => error,
    );
    if (!(response instanceof Error)) assert.equal(response.status, 413);
  });
});

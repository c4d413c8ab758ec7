// @openai/agents: OpenAI's Agents SDK, with the tools of a server for an agent. It opens with server/discover.
//
// It offers no callback for progress. It lets one ask for it, in _meta, and over HTTP one can read along.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { getAllMcpTools, MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents';
import * as brig from './support.mjs';

const progress = [];

// Reads a copy of each answer, and keeps the progress that it tells.
async function readAlong(input, init) {
  const response = await fetch(input, init);
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  const [one, other] = response.body.tee();
  (async () => {
    let text = '';
    for await (const chunk of one.pipeThrough(new TextDecoderStream())) text += chunk;
    for (const line of text.split('\n').filter((each) => each.startsWith('data:'))) {
      const data = line.slice('data:'.length).trim();
      const message = data && JSON.parse(data);
      if (message?.method === 'notifications/progress') progress.push(message.params);
    }
  })().catch(() => {});
  return new Response(other, response);
}

const servers = {
  stdio: () => new MCPServerStdio({ name: 'brig', ...brig.stdio }),
  http: () => new MCPServerStreamableHttp({ name: 'brig', url: brig.endpoint, fetch: readAlong }),
};

for (const [name, make] of Object.entries(servers)) {
  describe(`@openai/agents over ${name}`, { timeout: 60_000 }, () => {
    const server = make();

    before(() => server.connect());
    after(() => server.close());

    test('lists the tools', async () => {
      const names = (await server.listTools()).map((tool) => tool.name);
      for (const each of brig.toolNames) assert.ok(names.includes(each), each);
    });

    test('makes functions for a model of all of them', async () => {
      const functions = await getAllMcpTools({ mcpServers: [server], convertSchemasToStrict: false });
      const add = functions.find((each) => each.name === 'add');
      assert.equal(add.type, 'function');
      assert.deepEqual(add.parameters.required, ['a', 'b']);
    });

    test('calls a tool and gets its structured result', async () => {
      const result = await server.callToolResult('measure', { text: 'one two' });
      brig.assertStructured(result, { characters: 7, words: 2 });
    });

    test('sees an error', async () => {
      const result = await server.callToolResult('fail', { message: 'no such city' });
      brig.assertToolError(result, /ValueError: no such city/);
    });

    test('asks for progress', async () => {
      progress.length = 0;
      const meta = { progressToken: 'far' };
      const result = await server.callToolResult('slow', { steps: 4, seconds: 0.05 }, meta);
      brig.assertStructured(result, '4 steps', { modern: true });
      if (name === 'stdio') return;
      await brig.until('all of the progress', () => progress.length >= 4);
      brig.assertProgress(progress, 4);
      assert.ok(progress.every((each) => each.progressToken === 'far'));
    });

    test('cancels a call, and nothing of it is left', async () => {
      const mark = brig.newMark();
      const stop = new AbortController();
      const calling = server.callToolResult('nap', { mark }, null, { signal: stop.signal });
      calling.catch(() => {});
      await brig.isRunning(mark);
      stop.abort();
      await assert.rejects(calling);
      await brig.isGone(mark);
    });
  });
}

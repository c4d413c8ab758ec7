// @ai-sdk/mcp, Vercel's AI SDK. It opens with server/discover, so it is in the era without sessions.
//
// It offers no way to ask for progress or a log, and over stdio it tells the server nothing of a call that it gave up:
// so there it is shown that the end of the client ends the call.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import * as brig from './support.mjs';

const transports = {
  stdio: () => new StdioTransport({ ...brig.stdio, stderr: 'inherit' }),
  http: () => ({ type: 'http', url: brig.endpoint }),
};

for (const [name, transport] of Object.entries(transports)) {
  describe(`@ai-sdk/mcp over ${name}`, { timeout: 60_000 }, () => {
    let client;
    let tools;
    const call = (tool, given, abortSignal) =>
      tools[tool].execute(given, { toolCallId: '1', messages: [], abortSignal });

    before(async () => {
      client = await createMCPClient({ transport: transport() });
      tools = await client.tools();
    });
    after(() => client.close());

    test('names the server', () => {
      assert.equal(client.serverInfo.name, 'brig');
    });

    test('lists the tools', () => {
      for (const each of brig.toolNames) assert.ok(tools[each], each);
      assert.match(tools.add.description, /^Adds two integers\.\nLimits: /);
    });

    test('calls a tool and gets its structured result', async () => {
      brig.assertStructured(await call('measure', { text: 'one two' }), { characters: 7, words: 2 });
      brig.assertStructured(await call('add', { a: 2, b: 3 }), 5, { modern: true });
    });

    test('sees an error', async () => {
      brig.assertToolError(await call('fail', { message: 'no such city' }), /ValueError: no such city/);
      brig.assertToolError(await call('add', { a: 'two', b: 3 }), /\/a/);
    });

    test('is not disturbed by a tool that tells its progress', async () => {
      const result = await call('slow', { steps: 4, seconds: 0.02 });
      brig.assertStructured(result, '4 steps', { modern: true });
    });

    test('ends a call, and nothing of it is left', async () => {
      const mark = brig.newMark();
      const stop = new AbortController();
      const calling = call('nap', { mark }, stop.signal);
      calling.catch(() => {});
      await brig.isRunning(mark);
      if (name === 'stdio') await client.close();
      else stop.abort();
      await assert.rejects(calling);
      await brig.isGone(mark);
    });
  });
}

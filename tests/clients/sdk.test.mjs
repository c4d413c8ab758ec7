// @modelcontextprotocol/sdk 1.x: the SDK that most clients are made of. It speaks the era of sessions, 2025-11-25.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import * as brig from './support.mjs';

const transports = {
  stdio: () => new StdioClientTransport({ ...brig.stdio, stderr: 'inherit' }),
  http: () => new StreamableHTTPClientTransport(new URL(brig.endpoint)),
};

for (const [name, connect] of Object.entries(transports)) {
  describe(`@modelcontextprotocol/sdk over ${name}`, { timeout: 60_000 }, () => {
    const client = new Client({ name: 'brig-tests', version: '1' });
    const logged = [];
    const call = (tool, given, options) => client.callTool({ name: tool, arguments: given }, undefined, options);

    before(async () => {
      await client.connect(connect());
      client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params));
    });
    after(async () => {
      await client.transport?.terminateSession?.();
      await client.close();
    });

    test('names the server', () => {
      assert.equal(client.getServerVersion().name, 'brig');
      assert.match(client.getServerVersion().version, /^\d+\.\d+/);
      assert.ok(client.getServerCapabilities().tools);
    });

    test('lists the tools', async () => {
      const { tools } = await client.listTools();
      const names = tools.map((tool) => tool.name);
      assert.deepEqual(names, names.toSorted(), 'in an order that does not change');
      for (const each of brig.toolNames) assert.ok(names.includes(each), each);
      const add = tools.find((tool) => tool.name === 'add');
      assert.deepEqual(add.inputSchema.required, ['a', 'b']);
      assert.equal(add.annotations.readOnlyHint, true);
      assert.equal(add.annotations.openWorldHint, false);
    });

    test('calls a tool and gets its structured result', async () => {
      brig.assertStructured(await call('measure', { text: 'one two' }), { characters: 7, words: 2 });
      brig.assertStructured(await call('add', { a: 2, b: 3 }), 5);
      const greeting = await call('greet', { who: 'you' }); // without an output schema: text, once
      assert.deepEqual(greeting.content, [{ type: 'text', text: 'hello you' }]);
      assert.equal(greeting.structuredContent, undefined);
    });

    test('sees an error of a tool as a result', async () => {
      brig.assertToolError(await call('fail', { message: 'no such city' }), /ValueError: no such city/);
    });

    test('sees arguments that do not fit as a result, so that a model can mend them', async () => {
      brig.assertToolError(await call('add', { a: 'two', b: 3 }), /\/a/);
    });

    test('sees a tool that is not there as an error of the protocol', async () => {
      await assert.rejects(call('no_such_tool', {}), { code: -32602 });
    });

    test('sees progress', async () => {
      const seen = [];
      await call('slow', { steps: 4, seconds: 0.05 }, { onprogress: (each) => seen.push(each) });
      brig.assertProgress(seen, 4);
    });

    test('sees what a tool logs, from the level on that it asked for', async () => {
      logged.length = 0;
      await client.setLoggingLevel('info');
      await call('log', { lines: ['one', 'two'] });
      await brig.until('two messages', () => logged.length >= 2);
      assert.deepEqual(
        logged.map(({ level, logger, data }) => [level, logger, data]),
        [
          ['info', 'log', 'INFO one'],
          ['info', 'log', 'INFO two'],
        ],
      );
      await client.setLoggingLevel('error');
      logged.length = 0;
      await call('log', { lines: ['three'] });
      assert.deepEqual(logged, []);
    });

    test('cancels a call, and nothing of it is left', async () => {
      const mark = brig.newMark();
      const stop = new AbortController();
      const calling = call('nap', { mark }, { signal: stop.signal });
      await brig.isRunning(mark);
      stop.abort('enough');
      await assert.rejects(calling);
      await brig.isGone(mark);
      brig.assertStructured(await call('add', { a: 1, b: 1 }), 2);
    });

    test('has many calls at once, each with its own answer', async () => {
      const results = await Promise.all(Array.from({ length: 20 }, (_, i) => call('add', { a: i, b: 1 })));
      assert.deepEqual(
        results.map((result) => result.structuredContent.result),
        results.map((_, i) => i + 1),
      );
    });

    test('is answered to ping', async () => {
      assert.deepEqual(await client.ping(), {});
    });
  });
}

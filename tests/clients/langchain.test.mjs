// @langchain/mcp-adapters: the tools of a server as LangChain's tools.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import * as brig from './support.mjs';

const servers = {
  stdio: { transport: 'stdio', ...brig.stdio },
  http: { transport: 'http', url: brig.endpoint, automaticSSEFallback: false },
};

for (const [name, server] of Object.entries(servers)) {
  describe(`@langchain/mcp-adapters over ${name}`, { timeout: 60_000 }, () => {
    const progress = [];
    const logged = [];
    const client = new MultiServerMCPClient({
      mcpServers: { brig: server },
      onProgress: (each) => void progress.push(each),
      onMessage: (each) => void logged.push(each),
    });
    let tools;
    const call = (tool, args, config) =>
      tools.find((each) => each.name === tool).invoke({ type: 'tool_call', id: '1', name: tool, args }, config);

    before(async () => {
      tools = await client.getTools();
    });
    after(() => client.close());

    test('lists the tools', () => {
      const names = tools.map((tool) => tool.name);
      for (const each of brig.toolNames) assert.ok(names.includes(each), each);
      assert.match(tools.find((tool) => tool.name === 'add').description, /^Adds two integers\.\nLimits: /);
    });

    test('calls a tool: the text for the model, the structured result as its artifact', async () => {
      const message = await call('measure', { text: 'one two' });
      const expected = { characters: 7, words: 2 };
      assert.deepEqual(JSON.parse(JSON.parse(message.content).text), expected);
      const [artifact] = message.artifact.filter((each) => each.type === 'mcp_structured_content');
      assert.deepEqual(artifact.data, expected);
    });

    test('sees an error', async () => {
      await assert.rejects(call('fail', { message: 'no such city' }), /ValueError: no such city/);
    });

    test('sees progress', async () => {
      progress.length = 0;
      await call('slow', { steps: 4, seconds: 0.05 });
      brig.assertProgress(progress, 4);
    });

    test('sees what a tool logs', async () => {
      logged.length = 0;
      await call('log', { lines: ['one'] });
      await brig.until('a message', () => logged.length >= 1);
      assert.deepEqual(
        logged.map(({ level, data }) => [level, data]),
        [['info', 'INFO one']],
      );
    });

    test('cancels a call, and nothing of it is left', async () => {
      const mark = brig.newMark();
      const stop = new AbortController();
      const calling = call('nap', { mark }, { signal: stop.signal });
      calling.catch(() => {});
      await brig.isRunning(mark);
      stop.abort();
      await assert.rejects(calling);
      await brig.isGone(mark);
    });
  });
}

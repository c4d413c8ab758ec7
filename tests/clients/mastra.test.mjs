// @mastra/mcp: the tools of a server as Mastra's tools.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MCPClient } from '@mastra/mcp';
import * as brig from './support.mjs';

const servers = { stdio: brig.stdio, http: { url: new URL(brig.endpoint) } };

for (const [name, server] of Object.entries(servers)) {
  describe(`@mastra/mcp over ${name}`, { timeout: 60_000 }, () => {
    const client = new MCPClient({ id: `brig-${name}`, servers: { brig: server } });
    let tools;
    before(async () => {
      tools = await client.listTools();
    });
    after(() => client.disconnect());
    const call = (tool, given) => tools[`brig_${tool}`].execute(given, {});

    test('lists the tools', () => {
      for (const each of brig.toolNames) assert.ok(tools[`brig_${each}`], each);
    });

    test('calls a tool', async () => {
      assert.deepEqual(await call('measure', { text: 'one two' }), { characters: 7, words: 2 });
      assert.match(JSON.stringify(await call('greet', { who: 'you' })), /hello you/);
    });

    test('sees an error', async () => {
      const seen = await call('fail', { message: 'no such city' }).catch((error) => error);
      assert.match(seen instanceof Error ? seen.message : JSON.stringify(seen), /no such city/);
    });
  });
}

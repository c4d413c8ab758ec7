// @modelcontextprotocol/sdk 1.10 and 1.12: what clients were made of in the spring of 2025, when the protocol was 2024-11-05 and
// 2025-03-26. They know no structured content and no links to resources, and refuse a result with a block that they do not know.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as brig from './support.mjs';

const versions = { '1.10': '2024-11-05', 1.12: '2025-03-26' };

for (const [sdk, version] of Object.entries(versions)) {
  const { Client } = await import(`sdk-${sdk}/client/index.js`);
  const { StdioClientTransport } = await import(`sdk-${sdk}/client/stdio.js`);
  const { StreamableHTTPClientTransport } = await import(`sdk-${sdk}/client/streamableHttp.js`);
  const transports = {
    stdio: () => new StdioClientTransport({ ...brig.stdio, stderr: 'inherit' }),
    http: () => new StreamableHTTPClientTransport(new URL(brig.endpoint)),
  };

  for (const [name, connect] of Object.entries(transports)) {
    describe(`@modelcontextprotocol/sdk ${sdk} over ${name}`, { timeout: 60_000 }, () => {
      const client = new Client({ name: 'brig-tests', version: '1' });
      const call = (tool, given, options) => client.callTool({ name: tool, arguments: given }, undefined, options);

      before(() => client.connect(connect()));
      after(() => client.close());

      test('lists the tools', async () => {
        const { tools } = await client.listTools();
        for (const each of brig.toolNames) assert.ok(tools.some((tool) => tool.name === each), each);
      });

      test('calls a tool and gets its result as text', async () => {
        const { content } = await call('measure', { text: 'one two' });
        assert.deepEqual(JSON.parse(content[0].text), { characters: 7, words: 2 });
        assert.equal((await call('greet', { who: 'you' })).content[0].text, 'hello you');
      });

      test('sees errors', async () => {
        brig.assertToolError(await call('fail', { message: 'no such city' }), /ValueError: no such city/);
        await assert.rejects(call('no_such_tool', {}), { code: -32602 });
      });

      test('sees progress', async () => {
        const seen = [];
        await call('slow', { steps: 4, seconds: 0.05 }, { onprogress: (each) => seen.push(each) });
        brig.assertProgress(seen, 4);
      });

      test('cancels a call', async () => {
        const mark = brig.newMark();
        const stop = new AbortController();
        const calling = call('nap', { mark }, { signal: stop.signal });
        await brig.isRunning(mark);
        stop.abort('enough');
        await assert.rejects(calling);
        await brig.isGone(mark);
      });
    });
  }

  test(`@modelcontextprotocol/sdk ${sdk} reads a file that a command wrote`, { timeout: 60_000 }, async () => {
    const client = new Client({ name: 'brig-tests', version: '1' });
    await client.connect(new StdioClientTransport({ command: brig.program, args: ['mcp'], stderr: 'inherit' }));
    const { content } = await client.callTool({ name: 'run_command', arguments: { command: 'echo a,b > out.csv' } });
    const uri = content.map((block) => block.text).join(' ').match(/brig:\/\/[^\]]+/)[0];
    const { contents } = await client.readResource({ uri });
    assert.equal(contents[0].text, 'a,b\n');
    assert.equal((await client.listResources()).resources.length, 1);
    await client.close();
  });

  test(`@modelcontextprotocol/sdk ${sdk} goes on when its server was started again`, { timeout: 60_000 }, async () => {
    let server = await brig.serve('--manifest', brig.manifest);
    const client = new Client({ name: 'brig-tests', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    const greet = () => client.callTool({ name: 'greet', arguments: { who: version } });
    assert.equal((await greet()).content[0].text, `hello ${version}`);
    const { port } = new URL(server.url);
    await server.stop();
    server = await brig.serve('--manifest', brig.manifest, '--listen', `127.0.0.1:${port}`);
    assert.equal((await greet()).content[0].text, `hello ${version}`);
    await client.close();
    await server.stop();
  });
}

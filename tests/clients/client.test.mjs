// @modelcontextprotocol/client 2.x, in both eras: with a session (2025-11-25, its default) and without (2026-07-28).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as brig from './support.mjs';

const transports = {
  stdio: () => new StdioClientTransport({ ...brig.stdio, stderr: 'inherit' }),
  http: () => new StreamableHTTPClientTransport(new URL(brig.endpoint)),
};
const eras = { '2025-11-25': { mode: 'legacy' }, '2026-07-28': { mode: { pin: '2026-07-28' } } };

for (const [name, connect] of Object.entries(transports)) {
  for (const [version, versionNegotiation] of Object.entries(eras)) {
    describe(`@modelcontextprotocol/client over ${name}, ${version}`, { timeout: 60_000 }, () => {
      const modern = version >= '2026';
      const client = new Client({ name: 'brig-tests', version: '1' }, { versionNegotiation });
      const logged = [];
      const call = (tool, given, options, _meta) =>
        client.callTool({ name: tool, arguments: given, ...(_meta && { _meta }) }, options);

      before(async () => {
        await client.connect(connect());
        client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params));
      });
      after(() => client.close());

      test('is in the era that was asked for', () => {
        assert.equal(client.getNegotiatedProtocolVersion(), version);
        assert.equal(client.getServerVersion().name, 'brig');
      });

      test('lists the tools', async () => {
        const names = (await client.listTools()).tools.map((tool) => tool.name);
        for (const each of brig.toolNames) assert.ok(names.includes(each), each);
      });

      test('calls a tool and gets its structured result', async () => {
        brig.assertStructured(await call('measure', { text: 'one two' }), { characters: 7, words: 2 });
        brig.assertStructured(await call('add', { a: 2, b: 3 }), 5, { modern });
      });

      test('gets an image as an image', async () => {
        const { content } = await call('test_image_content', {});
        assert.equal(content[0].mimeType, 'image/png');
        assert.equal(Buffer.from(content[0].data, 'base64').subarray(1, 4).toString(), 'PNG');
      });

      test('repeats a parameter in a header, where there are headers', async () => {
        await client.listTools(); // it knows from there which
        for (const region of ['eu-1', 'Zürich', '=?base64?x?=', ' ']) {
          const { content } = await call('test_header_parameter', { region, query: 'q' });
          assert.equal(content[0].text, `${region}: q`);
        }
      });

      test('sees errors', async () => {
        brig.assertToolError(await call('fail', { message: 'no such city' }), /ValueError: no such city/);
        brig.assertToolError(await call('add', { a: 'two', b: 3 }), /\/a/);
        await assert.rejects(call('no_such_tool', {}), { code: -32602 });
      });

      test('sees progress', async () => {
        const seen = [];
        await call('slow', { steps: 4, seconds: 0.05 }, { onprogress: (each) => seen.push(each) });
        brig.assertProgress(seen, 4);
      });

      test('sees what a tool logs only if it asked for it', async () => {
        logged.length = 0;
        if (!modern) await client.setLoggingLevel('info');
        await call('log', { lines: ['one', 'two'] }, undefined, modern ? { [LOG_LEVEL_META_KEY]: 'info' } : undefined);
        await brig.until('two messages', () => logged.length >= 2);
        assert.deepEqual(
          logged.map(({ data }) => data),
          ['INFO one', 'INFO two'],
        );
        if (!modern) return;
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
        brig.assertStructured(await call('add', { a: 1, b: 1 }), 2, { modern });
      });
    });
  }
}

test('@modelcontextprotocol/client finds the newer era by itself', { timeout: 20_000 }, async () => {
  for (const connect of Object.values(transports)) {
    const client = new Client({ name: 'brig-tests', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(connect());
    assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
    await client.close();
  }
});

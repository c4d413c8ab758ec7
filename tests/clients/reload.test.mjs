// The list of tools changes while clients are connected: the operator changes the manifest and sends SIGHUP.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as brig from './support.mjs';

describe('the tools change', { timeout: 60_000 }, () => {
  let directory;
  let server;
  const declare = (...names) =>
    writeFile(
      `${directory}/brig.toml`,
      names
        .map((name) => `[[command]]\nname = "${name}"\ndescription = "${name}"\nargv = ["echo", "${name}"]\n`)
        .join('\n'),
    );
  // A client's GET or subscription comes some time after it has connected: tools change until it hears of one.
  const hears = async (changed) => {
    let probes = 0;
    await brig.until('a client that listens', async () => {
      await declare('one', `probe_${++probes}`);
      server.child.kill('SIGHUP');
      return changed();
    });
  };
  const listed = async (client) => (await client.listTools()).tools.map((tool) => tool.name);

  before(async () => {
    directory = await mkdtemp(`${tmpdir()}/brig-reload-`);
    await declare('one');
    server = await brig.serve('--manifest', `${directory}/brig.toml`);
  });
  after(async () => {
    await server.stop();
    await rm(directory, { recursive: true });
  });

  test('and @modelcontextprotocol/sdk hears of it in its session', async () => {
    await declare('one');
    server.child.kill('SIGHUP');
    let changed;
    const client = new Client1(
      { name: 'brig-tests', version: '1' },
      { listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (changed = true) } } },
    );
    await client.connect(new Http1(new URL(`${server.url}/mcp`)));
    assert.deepEqual(await listed(client), ['one']);
    await hears(() => changed);
    changed = false;
    await declare('one', 'two');
    server.child.kill('SIGHUP');
    await brig.until('a notification', async () => changed && (await listed(client)).join() === 'one,two');
    const { content } = await client.callTool({ name: 'two', arguments: {} });
    assert.equal(content[0].text, 'two');
    await client.transport.terminateSession();
    await client.close();
  });

  test('and @modelcontextprotocol/client hears of it by its subscription', async () => {
    await declare('one');
    server.child.kill('SIGHUP');
    let changed;
    const client = new Client2(
      { name: 'brig-tests', version: '1' },
      {
        versionNegotiation: { mode: { pin: '2026-07-28' } },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (changed = true) } },
      },
    );
    await client.connect(new Http2(new URL(`${server.url}/mcp`)));
    await brig.until('the first list', async () => (await listed(client)).length === 1);
    await hears(() => changed);
    changed = false;
    await declare('one', 'three');
    server.child.kill('SIGHUP');
    await brig.until('a notification', async () => changed && (await listed(client)).join() === 'one,three');
    await client.close();
  });

  test('to one that is wrong, and those that were there stay', async () => {
    await declare('one', 'two');
    server.child.kill('SIGHUP');
    const names = async () => (await (await fetch(`${server.url}/v1/tools`)).json()).tools.map((tool) => tool.name);
    await brig.until('these tools', async () => (await names()).join() === 'one,two');
    await writeFile(`${directory}/brig.toml`, '[[command]]\nnmae = "three"\n');
    server.child.kill('SIGHUP');
    await brig.until('a complaint', () => /nmae/.test(server.told()));
    assert.deepEqual(await names(), ['one', 'two']);
  });
});

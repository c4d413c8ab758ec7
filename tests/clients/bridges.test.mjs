// mcp-remote and supergateway: programs that stand between a client of one transport and a server of the other.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as brig from './support.mjs';

async function listsAndCalls(transport) {
  const client = new Client({ name: 'brig-tests', version: '1' });
  await client.connect(transport);
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  for (const each of brig.toolNames) assert.ok(names.includes(each), each);
  const call = (name, given) => client.callTool({ name, arguments: given });
  const { content } = await call('measure', { text: 'one two' });
  assert.deepEqual(JSON.parse(content[0].text), { characters: 7, words: 2 });
  brig.assertToolError(await call('fail', { message: 'no such city' }), /ValueError: no such city/);
  await client.close();
}

const viaStdio = (name, ...args) =>
  new StdioClientTransport({ command: process.execPath, args: [brig.bin(name), ...args], env: process.env, stderr: 'ignore' });

test('mcp-remote: a stdio client reaches brig serve', { timeout: 60_000 }, () =>
  listsAndCalls(viaStdio('mcp-remote', brig.endpoint, '--transport', 'http-only')),
);

test('supergateway: a stdio client reaches brig serve', { timeout: 60_000 }, () =>
  listsAndCalls(viaStdio('supergateway', '--streamableHttp', brig.endpoint, '--logLevel', 'none')),
);

test('supergateway: an HTTP client reaches brig mcp', { timeout: 60_000 }, async () => {
  const port = await new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const free = probe.address().port;
      probe.close(() => resolve(free));
    });
  });
  const command = [brig.stdio.command, ...brig.stdio.args].join(' ');
  const args = ['--stdio', command, '--outputTransport', 'streamableHttp', '--stateful', '--port', String(port)];
  const gateway = spawn(process.execPath, [brig.bin('supergateway'), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  gateway.stdout.setEncoding('utf8').on('data', (text) => (told += text));
  try {
    await brig.until('a gateway that listens', () => /Listening/i.test(told));
    await listsAndCalls(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
  } finally {
    gateway.kill('SIGTERM');
  }
});

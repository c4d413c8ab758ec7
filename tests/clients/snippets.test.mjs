// The configuration texts of docs/serve.md, run as they stand there. Only the places that everyone must fill in are filled in: the
// manifest, the workspace and the address of the server.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as brig from './support.mjs';

const TOKEN = 'a-token-of-the-tests-0123456789abcdef';

describe('texts of docs/serve.md', { timeout: 120_000 }, () => {
  let directory; // with `brig` in it, for PATH
  let server; // with a token

  before(async () => {
    directory = await mkdtemp(`${tmpdir()}/brig-snippets-`);
    await symlink(brig.program, `${directory}/brig`);
    await writeFile(`${directory}/token`, `${TOKEN}\n`, { mode: 0o600 });
    server = await brig.serve('--manifest', brig.manifest, '--token-file', `${directory}/token`);
  });
  after(async () => {
    await server?.stop();
    await rm(directory, { recursive: true });
  });

  const snippet = async (name) =>
    (await readFile(`${brig.here}/snippets/${name}`, 'utf8'))
      .replaceAll('/srv/agent/brig.toml', brig.manifest)
      .replaceAll('${workspaceFolder}', `${brig.here}/fixtures`)
      .replaceAll('http://127.0.0.1:7070', server.url);
  const env = () => ({ PATH: `${directory}:${process.env.PATH}`, BRIG_TOKEN: TOKEN, HOME: directory });

  // What a client does with `${BRIG_TOKEN}` and `${input:brig-token}`.
  const filled = (text) => text.replaceAll(/\$\{(BRIG_TOKEN|input:brig-token)\}/g, TOKEN);

  const runs = async (name, options = []) => {
    const done = await brig.run(process.execPath, [...options, '--input-type=module', '-'], {
      env: env(),
      input: await snippet(name),
    });
    assert.equal(done.code, 0, done.stderr);
    return done.stdout;
  };

  for (const name of ['openai-agents.mjs', 'openai-agents-http.mjs']) {
    test(`${name}: an agent calls a tool`, async () => {
      assert.match(await runs(name, ['--import', './snippets/scripted_model.mjs']), /5/);
    });
  }

  for (const name of ['langchain.mjs', 'langchain-http.mjs', 'ai-sdk.mjs']) {
    test(`${name}: has all tools`, async () => {
      const names = (await runs(name)).trim().split(' ');
      for (const each of brig.toolNames) assert.ok(names.includes(each), each);
    });
  }

  for (const name of ['claude.json', 'claude-http.json', 'cursor.json']) {
    test(`${name}: the inspector reads it, and calls a tool`, async () => {
      const file = `${directory}/${name}`;
      await writeFile(file, filled(await snippet(name)));
      const call = ['--method', 'tools/call', '--tool-name', 'add', '--tool-args-json', '{"a":2,"b":3}'];
      const args = ['--cli', '--format', 'json', '--config', file, '--server', 'brig', ...call];
      const done = await brig.node(brig.bin('mcp-inspector'), args, {
        env: { ...env(), MCP_INSPECTOR_SECRET_STORE: 'memory' },
      });
      assert.equal(done.code, 0, done.stderr);
      brig.assertStructured(JSON.parse(done.stdout).result, 5);
    });
  }

  for (const name of ['vscode.json', 'vscode-http.json']) {
    test(`${name}: its server can be called`, async () => {
      const { type, url, headers, command, args } = JSON.parse(filled(await snippet(name))).servers.brig;
      const transport =
        type === 'stdio'
          ? new StdioClientTransport({ command, args, env: env() })
          : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
      const client = new Client({ name: 'brig-tests', version: '1' });
      await client.connect(transport);
      brig.assertStructured(await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } }), 5);
      await client.close();
    });
  }

  test('a client without the token is turned away', async () => {
    const client = new Client({ name: 'brig-tests', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`));
    await assert.rejects(client.connect(transport), /401|Unauthorized/i);
  });
});

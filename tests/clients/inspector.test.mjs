// @modelcontextprotocol/inspector --cli: each command is a client of its own, from the connection to the end.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before, describe, test } from 'node:test';
import * as brig from './support.mjs';

const targets = {
  stdio: ['--', brig.stdio.command, ...brig.stdio.args],
  http: ['--transport', 'http', brig.endpoint],
};
const TOOL_IS_ERROR = 5; // exit codes of the inspector

for (const [name, target] of Object.entries(targets)) {
  for (const era of ['legacy', 'modern']) {
    describe(`@modelcontextprotocol/inspector over ${name}, ${era} era`, { timeout: 120_000 }, () => {
      let home;
      const inspect = (method, args = [], options = {}) => {
        const own = ['--cli', '--protocol-era', era, '--format', 'json', '--method', method, ...args];
        return brig.node(brig.bin('mcp-inspector'), [...own, ...target], {
          env: { HOME: home, MCP_INSPECTOR_SECRET_STORE: 'memory' },
          ...options,
        });
      };
      const result = ({ stdout }) => JSON.parse(stdout).result;

      before(async () => {
        home = await mkdtemp(`${tmpdir()}/brig-inspector-`);
      });
      after(() => rm(home, { recursive: true }));

      test('lists the tools, and finds their schemas portable', async () => {
        const listed = await inspect('tools/list', ['--strict']);
        assert.equal(listed.code, 0, listed.stderr);
        const names = result(listed).tools.map((tool) => tool.name);
        for (const each of brig.toolNames) assert.ok(names.includes(each), each);
      });

      test('calls a tool', async () => {
        const called = await inspect('tools/call', ['--tool-name', 'add', '--tool-args-json', '{"a":2,"b":3}']);
        assert.equal(called.code, 0, called.stderr);
        brig.assertStructured(result(called), 5, { modern: era === 'modern' });
      });

      test('sees an error', async () => {
        const called = await inspect('tools/call', ['--tool-name', 'fail', '--tool-args-json', '{"message":"oh"}']);
        assert.equal(called.code, TOOL_IS_ERROR, called.stderr);
        brig.assertToolError(result(called), /ValueError: oh/);
      });

      const skip =
        name === 'http' &&
        era === 'legacy' &&
        'in the era of sessions a client that goes away cancels nothing: the call ends by its own limits';
      test('is killed, and nothing of its call is left', { skip }, async () => {
        const mark = brig.newMark();
        const given = ['--tool-name', 'nap', '--tool-args-json', JSON.stringify({ mark })];
        const ended = inspect('tools/call', given, {
          started: (child) => brig.isRunning(mark).finally(() => child.kill('SIGKILL')),
        });
        assert.equal((await ended).signal, 'SIGKILL');
        await brig.isGone(mark);
      });
    });
  }
}

test('@modelcontextprotocol/inspector makes 200 calls, 8 at once, and none fails', { timeout: 60_000 }, async () => {
  const load = ['--load', '--load-requests', '200', '--load-concurrency', '8'];
  const call = ['--method', 'tools/call', '--tool-name', 'add', '--tool-args-json', '{"a":2,"b":3}'];
  const args = ['--cli', '--format', 'json', ...call, ...load, ...targets.http];
  const done = await brig.node(brig.bin('mcp-inspector'), args, { env: { MCP_INSPECTOR_SECRET_STORE: 'memory' } });
  assert.equal(done.code, 0, done.stderr);
  const { ok, errors, toolErrors } = JSON.parse(done.stdout).result;
  assert.deepEqual({ ok, errors, toolErrors }, { ok: 200, errors: 0, toolErrors: 0 });
});

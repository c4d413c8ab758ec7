// Tasks: calls that outlive their request. @modelcontextprotocol/sdk 1.x asks for them in 2025-11-25;
// @modelcontextprotocol/ext-tasks, with @modelcontextprotocol/client 2.x, takes them in both eras.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import * as brig from './support.mjs';

const me = { name: 'brig-tests', version: '1' };

const oldTransports = {
  stdio: () => new OldStdio({ ...brig.stdio, stderr: 'inherit' }),
  http: () => new OldHttp(new URL(brig.endpoint)),
};

for (const [name, connect] of Object.entries(oldTransports)) {
  describe(`tasks of @modelcontextprotocol/sdk over ${name}`, { timeout: 60_000 }, () => {
    const client = new OldClient(me);
    const { tasks } = client.experimental;
    const follow = async (tool, given) => {
      const seen = [];
      for await (const each of tasks.callToolStream({ name: tool, arguments: given })) seen.push(each);
      return seen;
    };

    before(async () => {
      await client.connect(connect());
      await client.listTools(); // it knows from there which tools can be tasks
    });
    after(async () => {
      await client.transport?.terminateSession?.();
      await client.close();
    });

    test('follows a task to its result', async () => {
      const seen = await follow('slow', { steps: 2, seconds: 0.3 });
      assert.equal(seen[0].type, 'taskCreated');
      assert.equal(seen[0].task.status, 'working');
      assert.ok(seen.some(({ type, task }) => type === 'taskStatus' && task.status === 'completed'));
      brig.assertStructured(seen.at(-1).result, '2 steps');
    });

    test('gets the result of a task that failed', async () => {
      const seen = await follow('fail', { message: 'no such city' });
      assert.equal(seen.at(-1).type, 'error'); // that is all that this client tells
      const { task } = seen.findLast(({ type }) => type === 'taskStatus');
      assert.equal(task.status, 'failed');
      assert.match(task.statusMessage, /no such city/);
      brig.assertToolError(
        await tasks.getTaskResult(task.taskId, CallToolResultSchema),
        /ValueError: no such city/,
      );
    });

    test('cancels a task, and nothing of it is left', async () => {
      const mark = brig.newMark();
      const stream = tasks.callToolStream({ name: 'nap', arguments: { mark } });
      const { task } = (await stream.next()).value;
      await brig.isRunning(mark);
      assert.equal((await tasks.cancelTask(task.taskId)).status, 'cancelled');
      await brig.isGone(mark);
      assert.equal((await tasks.getTask(task.taskId)).status, 'cancelled');
    });
  });
}

// The SDK's own codec knows no task in 2026-07-28: who uses ext-tasks there brings the requests to the server.
const clientCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
let requests = 0;
const v2 = {
  v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo: me, clientCapabilities },
  async rawDispatch(request, options) {
    const { name, taskId } = request.params ?? {};
    const answer = await fetch(brig.endpoint, {
      method: 'POST',
      headers: {
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': request.method,
        ...((name ?? taskId) && { 'Mcp-Name': name ?? taskId }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++requests, ...request }),
      signal: options?.signal,
    });
    const { result, error } = await answer.json();
    return error ? { kind: 'error', error } : { kind: 'result', result };
  },
};

const sessions = {
  'stdio, 2025-11-25': [() => new StdioClientTransport({ ...brig.stdio, stderr: 'inherit' }), { mode: 'legacy' }, {}],
  'http, 2025-11-25': [() => new StreamableHTTPClientTransport(new URL(brig.endpoint)), { mode: 'legacy' }, {}],
  'http, 2026-07-28': [
    () => new StreamableHTTPClientTransport(new URL(brig.endpoint)),
    { mode: { pin: '2026-07-28' } },
    v2,
  ],
};

for (const [name, [connect, versionNegotiation, options]] of Object.entries(sessions)) {
  describe(`@modelcontextprotocol/ext-tasks over ${name}`, { timeout: 60_000 }, () => {
    const modern = name.endsWith('2026-07-28');
    const client = new Client(me, { versionNegotiation, capabilities: clientCapabilities });
    let session, tools;
    const call = (tool, given, preference = 'prefer') =>
      session.callTool(tool, given, { task: { preference }, declaration: tools.get(tool) });

    before(async () => {
      await client.connect(connect());
      const listed = (await client.listTools()).tools;
      tools = new Map(listed.map((tool) => [tool.name, { ...tool, taskSupport: tool.execution?.taskSupport }]));
      session = createTaskSessionFromClient(client, { endpointId: 'brig', ...options });
    });
    after(async () => {
      await session?.close();
      await client.close();
    });

    test('gets the result of a long call as a task', async () => {
      const execution = await call('slow', { steps: 3, seconds: 0.5 });
      assert.equal(execution.kind, 'task');
      const { outcome, lastTask } = await execution.settle();
      assert.equal(lastTask.status, 'completed');
      brig.assertStructured(resultFromTaskOutcome(outcome), '3 steps', { modern });
    });

    test('gets the result of a short call', async () => {
      const execution = await call('add', { a: 2, b: 3 });
      const { outcome } = await execution.settle();
      brig.assertStructured(resultFromTaskOutcome(outcome), 5, { modern });
    });

    test('cancels a task, and nothing of it is left', async () => {
      const mark = brig.newMark();
      const execution = await call('nap', { mark });
      await brig.isRunning(mark);
      await execution.cancel();
      await brig.isGone(mark);
      assert.equal((await execution.result()).status, 'cancelled');
    });
  });
}

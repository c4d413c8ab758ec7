// docs/mcp-session.md: a session as a client sees it, from the list of tools to a call that works after a grant. The page is what
// this test has seen; BRIG_UPDATE=1 writes it anew.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import * as brig from './support.mjs';

const page = `${brig.here}/../../docs/mcp-session.md`;

// A client that notes what it asks and what it is told.
async function connect(options) {
  const client = new Client({ name: 'brig-tests', version: '1' });
  await client.connect(new StdioClientTransport({ command: brig.program, args: ['mcp', ...options], stderr: 'inherit' }));
  return client;
}

// Ids, times and the place of the directory differ from one run to the next.
function shown(value, project) {
  const fixed = JSON.stringify(value, null, 2)
    .replaceAll(project, '/srv/project')
    .replace(/brig:\/\/kept\/[0-9a-f]{32}/g, 'brig://kept/0f3a…')
    .replace(/"(taskId)": "[^"]+"/g, '"$1": "t7be…"')
    .replace(/"(createdAt|lastUpdatedAt)": "[^"]+"/g, '"$1": "2026-11-18T09:26:53.589Z"')
    .replace(/"brig\/duration_ms": [\d.e-]+/g, '"brig/duration_ms": 4.2')
    .replace(/"brig\/call_id": "[^"]+"/g, '"brig/call_id": "c41d…"')
    .replace(/,\s*"traceparent": "[^"]+"/g, '');
  return '```json\n' + fixed + '\n```\n';
}

test('docs/mcp-session.md is what a client sees', { timeout: 60_000 }, async (t) => {
  const directory = await mkdtemp(`${tmpdir()}/brig-session-`);
  t.after(() => rm(directory, { recursive: true }));
  const project = `${directory}/project`;
  await mkdir(project);
  await writeFile(`${project}/sales.csv`, 'month,units\nmay,3\njune,4\n', { mode: 0o644 });
  const ask = { name: 'run_command', arguments: { command: `cut -d, -f2 ${project}/sales.csv | tail -n 2 | tee units` } };

  let client = await connect([]);
  const { tools } = await client.listTools();
  const briefly = tools.map(({ name, description, annotations }) => ({ name, description, annotations }));
  const denied = await client.callTool({ ...ask, arguments: { argv: ['cat', `${project}/sales.csv`] } });
  assert.equal(denied.isError, true);
  await client.close();

  client = await connect(['--read', project]);
  const granted = (await client.listTools()).tools[0].description;
  const worked = await client.callTool(ask);
  assert.ok(!worked.isError, JSON.stringify(worked));
  assert.equal(worked.content[0].text, '3\n4\n');
  const link = worked.content.find((block) => block.type === 'resource_link');
  const read = await client.readResource({ uri: link.uri });
  assert.equal(read.contents[0].text, '3\n4\n');
  const long = await client.callTool({ name: 'run_command', arguments: { command: 'seq 200000' } });
  const build = { name: 'run_command', arguments: { command: 'sleep 1; echo built' } };
  const stream = client.experimental.tasks.callToolStream(build, undefined, { task: { ttl: 60_000 } });
  const created = (await stream.next()).value.task;
  const built = await client.experimental.tasks.getTaskResult(created.taskId, CallToolResultSchema);
  await client.close();
  const gap = long.content[0].text.match(/.*\n.*\n(\[\.\.\. .* left out \.\.\.\])\n.*\n.*/)[0];
  assert.ok(long.content[0].text.length < 26_000);

  const text = `# A session, as a client sees it

Made by \`tests/clients/session.test.mjs\`, which fails if this page is not what it sees. The client is \`@modelcontextprotocol/sdk\`; ids and times are shortened.

## 1. The list: \`brig mcp\`

\`tools/list\`, without the schemas. The last sentence of a description is the policy.

${shown(briefly, project)}
## 2. A call that fails

\`\`\`json
${JSON.stringify({ name: 'run_command', arguments: { argv: ['cat', '/srv/project/sales.csv'] } })}
\`\`\`

No file of the host's is in the cell unless the operator lists it:

${shown(denied, project)}
## 3. The grant: \`brig mcp --read /srv/project\`

Only the operator can give it. The description says so from now on:

> ${granted.replaceAll(project, '/srv/project')}

## 4. The call that works

\`\`\`json
${JSON.stringify(ask).replaceAll(project, '/srv/project')}
\`\`\`

The answer is text, once; the file that the command wrote to its workspace is a link:

${shown(worked, project)}
\`resources/read\` of that link, by the same caller, within ten minutes:

${shown(read, project)}
## 5. A long output

\`seq 200000\` prints 1.2 MiB. The text has 25 KiB of it, the beginning and the end, and in between:

\`\`\`
${gap}
\`\`\`

What is kept beyond that is linked as the resource \`stdout\`.

## 6. A call that takes long

\`\`\`json
${JSON.stringify({ ...build, task: { ttl: 60_000 } })}
\`\`\`

Asked for as a task, it is answered at once:

${shown({ task: created }, project)}
\`tasks/get\` returns its state, \`tasks/cancel\` ends it, and \`tasks/result\` waits for its end:

${shown(built, project)}`;
  if (process.env.BRIG_UPDATE) await writeFile(page, text);
  assert.equal(await readFile(page, 'utf8').catch(() => ''), text, 'write it anew: BRIG_UPDATE=1 tests/clients/run session.test.mjs');
});

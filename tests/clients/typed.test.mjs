// Clients that are made of /v1/openapi.json: openapi-typescript with openapi-fetch, and swagger-client.
import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import SwaggerClient from 'swagger-client';
import * as brig from './support.mjs';

const tool = (path) => `${brig.here}/node_modules/${path}`;

test('a program in TypeScript compiles against the description, and calls', async (t) => {
  const work = await mkdtemp(`${tmpdir()}/brig-typed-`);
  t.after(() => rm(work, { recursive: true }));
  await cp(`${brig.here}/typed`, work, { recursive: true });
  await symlink(`${brig.here}/node_modules`, `${work}/node_modules`);
  const run = async (...words) => {
    const done = await brig.run(process.execPath, words, { cwd: work });
    assert.equal(done.code, 0, `${words[0]}: ${done.stdout}${done.stderr}`);
    return done.stdout;
  };
  const description = `${brig.url}/v1/openapi.json`;
  await run(tool('openapi-typescript/bin/cli.js'), description, '-o', `${work}/schema.d.ts`);
  await run(tool('typescript/bin/tsc'), '--project', work);
  assert.equal((await run(`${work}/program.js`)).trim(), 'typed');
});

test('swagger-client finds every operation, and calls', async () => {
  const client = await SwaggerClient({ url: `${brig.url}/v1/openapi.json` });
  assert.deepEqual(client.errors, []);
  const operations = Object.values(client.apis).flatMap((each) => Object.keys(each));
  for (const name of ['callTool', 'run', 'submitJob', 'getJob', 'listCalls', 'cancelCall', 'getStatus'])
    assert.ok(operations.includes(name), `${name} is none of ${operations}`);
  const execute = (operationId, parameters, requestBody) =>
    client.execute({ operationId, parameters, requestBody, server: brig.url });
  const called = await execute('callTool', { name: 'greet' }, { arguments: { who: 'swagger' } });
  assert.equal(called.status, 200);
  assert.equal(called.body.output, 'hello swagger');
  const listed = await execute('listTools', { query: 'greet' });
  assert.deepEqual(
    listed.body.tools.map((each) => each.name),
    ['greet'],
  );
  await assert.rejects(execute('callTool', { name: 'zebra' }, {}), (error) => {
    assert.equal(error.status, 404);
    assert.match(error.response.body?.type ?? error.response.text, /unknown-tool/);
    return true;
  });
});

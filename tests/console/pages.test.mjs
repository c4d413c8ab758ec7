// Pages of other origins than the server's own, in the browser: those that --allow-origin names, and others.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { LAUNCH } from './browser.mjs';
import { isFake, until } from './support.mjs';

const program = process.env.BRIG_PROGRAM ?? fileURLToPath(new URL('../../build/release/bin/brig', import.meta.url));
const realOnly = isFake ? 'needs a real server' : false;
const TOKEN = 'page-0123456789abcdef';

// An origin of its own; its page is empty.
async function site() {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' });
    response.end('<!doctype html><title>a page</title>');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, origin: `http://127.0.0.1:${server.address().port}` };
}

const world = {};
before(async () => {
  if (isFake) return;
  world.allowed = await site();
  world.other = await site();
  world.work = mkdtempSync(`${tmpdir()}/brig-pages-`);
  writeFileSync(`${world.work}/token`, TOKEN, { mode: 0o600 });
  const words = ['--listen', '127.0.0.1:0', '--audit', 'none', '--token-file', `${world.work}/token`];
  world.brig = spawn(program, ['serve', ...words, '--allow-origin', world.allowed.origin]);
  let told = '';
  world.brig.stderr.setEncoding('utf8').on('data', (text) => (told += text));
  world.url = await until(() => told.match(/listening on (\S+)/)?.[1], 'a server that listens');
  world.browser = await chromium.launch(LAUNCH);
});
after(async () => {
  await world.browser?.close();
  world.brig?.kill('SIGTERM');
  world.allowed?.server.close();
  world.other?.server.close();
  if (world.work) rmSync(world.work, { recursive: true });
});

// What a page of that origin gets: calls a tool, as JSON and as events.
async function askFrom(origin, token = TOKEN) {
  const page = await world.browser.newPage();
  try {
    await page.goto(origin);
    return await page.evaluate(
      async ({ url, token }) => {
        const call = async (accept) => {
          const response = await fetch(`${url}/v1/tools/run_command/call`, {
            method: 'POST',
            headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: accept },
            body: JSON.stringify({ arguments: { command: 'echo from a page' } }),
          });
          return {
            status: response.status,
            text: await response.text(),
            id: response.headers.get('Brig-Call-Id'),
            trace: response.headers.get('traceparent'),
          };
        };
        try {
          return { json: await call('application/json'), events: await call('text/event-stream') };
        } catch (error) {
          return { error: `${error}` };
        }
      },
      { url: world.url, token },
    );
  } finally {
    await page.close();
  }
}

test('a page of an allowed origin calls a tool, and reads the answer', { skip: realOnly }, async () => {
  const { json, events, error } = await askFrom(world.allowed.origin);
  assert.equal(error, undefined);
  assert.equal(json.status, 200);
  assert.equal(JSON.parse(json.text).output.stdout, 'from a page\n');
  assert.equal(json.trace.length, 55);
  assert.match(events.text, /event: result\n/);
  assert.match(events.id, /^c[0-9a-f]{32}$/);
});

test('without a token it may read why not', { skip: realOnly }, async () => {
  const { json } = await askFrom(world.allowed.origin, 'wrong');
  assert.equal(json.status, 401);
  assert.match(json.text, /token-needed/);
});

test('a page of another origin gets nothing, and nothing is called', { skip: realOnly }, async () => {
  const calls = async () => {
    const response = await fetch(`${world.url}/v1/status`, { headers: { Authorization: `Bearer ${TOKEN}` } });
    return (await response.json()).calls_total;
  };
  const before = await calls();
  assert.match((await askFrom(world.other.origin)).error, /Failed to fetch/);
  assert.equal(await calls(), before);
});

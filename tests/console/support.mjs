// What the console's tests share: a server (BRIG_URL, or the fake with BRIG_FAKE=1), a browser, and pages that are
// watched: whatever the browser complains about fails the test.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';
import { LAUNCH } from './browser.mjs';
import { FakeServer } from './fake_server.mjs';

export const isFake = process.env.BRIG_FAKE === '1';
export const fakeOnly = isFake ? false : 'needs the fake server (BRIG_FAKE=1)';
const token = process.env.BRIG_TOKEN ?? '';
export const WAIT = 15000;

// Sets up a server and a browser for a file of tests.
export function setUp() {
  const world = { pages: [] };
  before(async () => {
    if (isFake) {
      world.fake = new FakeServer();
      world.url = await world.fake.listen();
    } else {
      assert.ok(process.env.BRIG_URL, 'set BRIG_URL to a server, or BRIG_FAKE=1');
      world.url = process.env.BRIG_URL.replace(/\/$/, '');
    }
    world.browser = await chromium.launch(LAUNCH);
  });
  after(async () => {
    await world.browser?.close();
    await world.fake?.close();
  });
  return world;
}

// Runs `body(page)` on a fresh page that is connected. `allow`: messages of the browser that are expected.
export async function onPage(world, options, body) {
  const { allow = [], url = world.url, connect = true, hash = '', ...settings } = options;
  const context = await world.browser.newContext({ viewport: { width: 1280, height: 860 }, ...settings });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT);
  const complaints = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(`${error}`));
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    const address = new URL(request.url());
    if (address.protocol !== 'data:' && address.origin !== new URL(url).origin)
      complaints.push(`a request to ${address.origin}`);
  });
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) =>
      console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  try {
    await page.goto(url + hash);
    if (connect) {
      if (token) {
        await page.fill('#token', token);
        await page.keyboard.press('Enter');
        allow.push(/status of 401/);
      }
      await page.locator('#link[data-state=live]').waitFor();
    }
    await body(page);
    assert.deepEqual(
      complaints.filter((text) => !allow.some((pattern) => pattern.test(text))),
      [],
    );
  } finally {
    await context.close();
  }
}

// A request to the server, past the console.
export async function ask(world, method, path, body) {
  const response = await fetch(world.url + path, {
    method,
    body: body && JSON.stringify(body),
    headers: {
      ...(body ? { 'Content-Type': 'application/json' } : {}),
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
    },
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
}

// Calls a tool as an agent would; the promise is of its result.
export const callTool = (world, name, args, callId) =>
  ask(world, 'POST', `/v1/tools/${name}/call`, { arguments: args, call_id: callId });

// A directory that the server's cells can read: commands wait there for what a test makes.
const gates = process.env.BRIG_GATE ?? (isFake ? mkdtempSync(`${tmpdir()}/brig-gates-`) : '');
export const gatesOnly = gates ? false : 'needs BRIG_GATE: a directory that cells of the server can read';
if (isFake && !process.env.BRIG_GATE) after(() => rmSync(gates, { recursive: true }));

// A command with `wait` in it goes on when the test has called open(), however fast or slow the page is.
export function newGate() {
  const path = `${gates}/${newId()}`;
  return {
    wait: `until [ -e ${path} ]; do sleep 0.05; done`,
    open: () => writeFileSync(path, ''),
  };
}

let calls = 0;
export const newId = () => `test-${process.pid}-${Date.now().toString(36)}-${++calls}`;

// The row of a call, found by its id.
export async function rowOf(page, id) {
  await page.fill('#call-filter', id);
  const isFiltered = (text) => document.getElementById('rows').dataset.filter === text;
  await page.waitForFunction(isFiltered, id.toLowerCase());
  const row = page.locator('#rows tr');
  await row.first().waitFor();
  return row.first();
}

export const field = (page, name) =>
  page
    .locator('.field', { has: page.locator(`.field-head .name:text-is("${name}")`) })
    .locator('input, textarea, select')
    .first();
export const callButton = (page) => page.getByRole('button', { name: 'Call', exact: true });
export const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
export const nodes = (page) => page.evaluate(() => document.querySelectorAll('*').length);

// Waits until `ask()` gives something true.
export async function until(ask, what) {
  const end = Date.now() + WAIT;
  for (;;) {
    const value = await ask();
    if (value) return value;
    assert.ok(Date.now() < end, `waited for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

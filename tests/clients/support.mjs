// What the tests of all clients need: where the server is, and whether a call still runs.
//
// BRIG_PROGRAM  the program under test
// BRIG_URL      where its `serve` listens, such as http://127.0.0.1:7070
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export const here = import.meta.dirname;
export const program = needed('BRIG_PROGRAM');
export const url = needed('BRIG_URL');
export const endpoint = `${url}/mcp`;
export const manifest = `${here}/fixtures/brig.toml`;
export const stdio = { command: program, args: ['mcp', '--manifest', manifest] };

// Every tool of fixtures/brig.toml that the tests of the clients call.
export const toolNames = ['add', 'fail', 'greet', 'log', 'measure', 'nap', 'slow'];

function needed(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; start the tests with tests/clients/run`);
  return value;
}

// A name for a process of the tool `nap`; the kernel keeps 15 characters of it.
export function newMark() {
  return `nap-${randomBytes(5).toString('hex')}`;
}

// The processes of that name, whoever's they are: a cell can't hide from the outside.
async function processesNamed(mark) {
  const found = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const name = await readFile(`/proc/${entry}/comm`, 'utf8').catch(() => '');
    if (name.trim() === mark) found.push(Number(entry));
  }
  return found;
}

// Long enough for a machine that stalls, and far less than forever.
export async function until(what, condition, milliseconds = 15_000) {
  const end = Date.now() + milliseconds;
  while (!(await condition())) {
    if (Date.now() > end) assert.fail(`not within ${milliseconds} ms: ${what}`);
    await sleep(20);
  }
}

export const isRunning = (mark) => until(`a process ${mark}`, async () => (await processesNamed(mark)).length > 0);

// In less than the time that a call has: it was ended, and did not end by itself.
export async function isGone(mark) {
  await until(`the end of process ${mark}`, async () => !(await processesNamed(mark)).length);
  await until('no running call', async () => !(await runningCalls()).some((call) => call.tool === 'nap'));
}

async function runningCalls() {
  const answer = await fetch(`${url}/v1/calls`);
  return (await answer.json()).calls;
}

// Increasing, as both eras of the protocol want it, up to all of it.
export function assertProgress(seen, steps) {
  assert.equal(seen.length, steps, JSON.stringify(seen));
  seen.forEach((each, i) => {
    assert.equal(each.message, `step ${i + 1}`);
    if (i > 0) assert.ok(each.progress > seen[i - 1].progress, 'progress must increase');
  });
  const last = seen.at(-1);
  assert.equal(last.progress, last.total ?? 1);
}

// A result that is no object is wrapped in one where the protocol wants one: in the era of sessions. The text is for clients that
// know no structured content, and for models.
export function assertStructured(result, value, { modern = false } = {}) {
  assert.ok(!result.isError, JSON.stringify(result));
  assert.deepEqual(result.structuredContent, modern || typeof value === 'object' ? value : { result: value });
  assert.equal(result.content.length, 1);
  const { type, text } = result.content[0];
  assert.equal(type, 'text');
  assert.deepEqual(typeof value === 'string' ? text : JSON.parse(text), value);
}

export function assertToolError(result, text) {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.match(result.content[0].text, text);
}

// Runs a program to its end, and gives what it wrote.
export function run(command, args, { cwd = here, env = {}, input = '', timeout = 60_000, started } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, timeout, killSignal: 'SIGKILL' });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) {
      child[stream].setEncoding('utf8').on('data', (text) => (output[stream] += text));
    }
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...output }));
    child.stdin.on('error', () => {}).end(input);
    started?.(child);
  });
}

export const bin = (name) => `${here}/node_modules/.bin/${name}`;
export const node = (script, args, options) => run(process.execPath, [script, ...args], options);

// Another server than the one that all tests use: with other options. `url`: what it says that it listens on.
export async function serve(...options) {
  const args = options.includes('--listen') ? options : ['--listen', '127.0.0.1:0', ...options];
  const child = spawn(program, ['serve', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal)));
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (told += text));
  const stop = async () => {
    child.kill('SIGTERM');
    assert.equal(await ended, 0, told);
  };
  const address = () => told.match(/listening on (\S+)/)?.[1];
  await until('a server that listens', () => address() || child.exitCode !== null).catch(() => {});
  if (!address()) {
    child.kill('SIGKILL');
    assert.fail(`brig serve ${args.join(' ')}: ${told}`);
  }
  return { url: address(), stop, child, told: () => told };
}

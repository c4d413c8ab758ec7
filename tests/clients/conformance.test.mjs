// @modelcontextprotocol/conformance: the referee of the protocol's authors, for both eras, over HTTP.
//
// conformance-ERA.yml lists what can't pass, with the reason. The run fails if anything else fails, warnings included, and if
// something that is listed passes.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import * as brig from './support.mjs';

for (const era of ['2025-11-25', '2026-07-28']) {
  test(
    `@modelcontextprotocol/conformance ${era}: all scenarios pass but those that are listed`,
    { timeout: 180_000 },
    async (t) => {
      const results = await mkdtemp(`${tmpdir()}/brig-conformance-`);
      t.after(() => rm(results, { recursive: true }));
      const done = await brig.node(
        brig.bin('conformance'),
        [
          'server',
          '--url',
          brig.endpoint,
          '--suite',
          'all',
          '--spec-version',
          era,
          '--expected-failures',
          `${brig.here}/conformance-${era}.yml`,
          '--output-dir',
          results,
        ],
        { timeout: 170_000 },
      );
      const summary = done.stdout.slice(done.stdout.indexOf('=== SUMMARY ==='));
      const expected = new Set([...summary.matchAll(/^  ~ ([\w-]+)/gm)].map((match) => match[1])); // some only warn
      const passed = [...summary.matchAll(/^✓ ([\w-]+)/gm)]
        .map((match) => match[1])
        .filter((each) => !expected.has(each));
      if (done.code !== 0) assert.fail(`${summary}\n${await failures(results, summary)}\n${done.stderr}`);
      assert.ok(passed.length >= 13, summary);
      t.diagnostic(`${passed.length} scenarios passed: ${passed.join(' ')}`);
    },
  );
}

// Of extensions the suite runs nothing by itself: each scenario is named.
test(
  '@modelcontextprotocol/conformance tasks-*: all scenarios pass but those that are listed',
  { timeout: 180_000 },
  async (t) => {
    const server = await brig.serve('--manifest', `${brig.here}/fixtures/tasks.toml`, '--drain', '0');
    t.after(() => server.stop());
    const results = await mkdtemp(`${tmpdir()}/brig-conformance-`);
    t.after(() => rm(results, { recursive: true }));
    const list = await brig.node(brig.bin('conformance'), ['list', '--server']);
    const scenarios = [...list.stdout.matchAll(/^\s+- (tasks-[\w-]+)/gm)].map((match) => match[1]);
    assert.ok(scenarios.length >= 10, list.stdout);
    const baseline = ['--expected-failures', `${brig.here}/conformance-tasks.yml`];
    const url = ['--url', `${server.url}/mcp`, '--output-dir', results];
    const passed = [];
    for (const scenario of scenarios) {
      const args = ['server', '--scenario', scenario, ...url, ...baseline];
      const done = await brig.node(brig.bin('conformance'), args);
      assert.equal(done.code, 0, `${done.stdout}\n${done.stderr}`);
      if (!/Expected failures/.test(done.stdout)) passed.push(scenario);
    }
    t.diagnostic(`${passed.length} scenarios passed: ${passed.join(' ')}`);
  },
);

// What the checks of the unexpected failures say: the summary only names the scenarios.
async function failures(results, summary) {
  const lines = [];
  const unexpected = new Set([...summary.matchAll(/^  ✗ ([\w-]+)/gm)].map((match) => match[1]));
  for (const directory of await readdir(results)) {
    const scenario = directory.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    if (!unexpected.has(scenario)) continue;
    for (const check of JSON.parse(await readFile(`${results}/${directory}/checks.json`, 'utf8'))) {
      if (!['FAILURE', 'WARNING'].includes(check.status)) continue;
      lines.push(
        `${scenario}:${check.id}: ${check.errorMessage ?? check.description} ${JSON.stringify(check.details ?? {})}`,
      );
    }
  }
  return lines.join('\n');
}

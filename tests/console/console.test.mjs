// The console, against any server that has the built-in tool run_command:
//   BRIG_URL=http://127.0.0.1:8080 [BRIG_TOKEN=…] [BRIG_GATE=DIRECTORY] node --test     or     BRIG_FAKE=1 node --test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ask,
  callButton,
  callTool,
  field,
  gatesOnly,
  isFake,
  newGate,
  newId,
  onPage,
  overflow,
  rowOf,
  setUp,
  until,
} from './support.mjs';

const world = setUp();

test('the page comes with a strict content security policy', async () => {
  const response = await fetch(world.url);
  const policy = response.headers.get('content-security-policy');
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'self'(;|$)/);
  assert.match(policy, /style-src 'self'(;|$)/);
  const html = await response.text();
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|\sstyle=|<style|\son[a-z]+=/i);
  assert.doesNotMatch(html, /(src|href)="(https?:)?\/\//i);
});

test('every file that the page names is served, and an unknown one is not', async () => {
  const html = await (await fetch(world.url)).text();
  const names = [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, name]) => name);
  assert.ok(names.length > 10);
  for (const name of names) assert.equal((await fetch(world.url + name)).status, 200, name);
  assert.equal((await fetch(`${world.url}/console/nothing.js`)).status, 404);
});

test('a call appears, streams while it runs, and finishes', { skip: gatesOnly }, async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    const gate = newGate();
    const result = callTool(world, 'run_command', { command: `echo first; ${gate.wait}; echo second` }, id);
    const row = await rowOf(page, id);
    await row.locator('a').click();
    await page.waitForFunction(() => {
      const text = (part) => document.querySelector(`#detail ${part}`)?.textContent;
      return (
        text('.outcome-word') === 'running' &&
        text('.output') === 'first\n' &&
        document.querySelector('#rows tr').dataset.kind === 'running'
      );
    });
    gate.open();
    await page.locator('#detail .output >> text=second').waitFor();
    await page.locator('#detail .outcome-word:text-is("ok")').waitFor();
    assert.equal((await result).ok, true);
    assert.match(await page.locator('#detail .facts').textContent(), new RegExp(id));
    assert.match(await page.locator('#detail .steps').textContent(), /queue.*run/);
    await row.locator('text=ok').first().waitFor();
  });
});

test('a call that was running before the page was opened is there', async () => {
  const id = newId();
  const result = callTool(world, 'run_command', { command: 'sleep 600' }, id);
  await until(
    async () =>
      (await ask(world, 'GET', '/v1/calls')).calls.some(
        (call) => call.call_id === id && call.status === 'running',
      ),
    'the call',
  );
  await onPage(world, {}, async (page) => {
    const row = await rowOf(page, id);
    await row.locator('text=running').waitFor();
    await ask(world, 'DELETE', `/v1/calls/${id}`);
    await row.locator('text=cancelled').first().waitFor();
  });
  await result;
});

test('calls that ended are there after the page is loaded again, with their arguments', async () => {
  const id = newId();
  await callTool(world, 'run_command', { command: 'echo kept; exit 5' }, id);
  await onPage(world, {}, async (page) => {
    const look = async () => {
      const row = await rowOf(page, id);
      await row.locator('.c-outcome >> text=exit').waitFor();
      await row.locator('a').click();
      await page.locator('#detail .outcome-word:text-is("exit")').waitFor();
      assert.match(await page.locator('#detail .output').textContent(), /kept\n/);
      assert.match(await page.locator('#detail .arguments').textContent(), /"command": "echo kept; exit 5"/);
    };
    await look();
    await page.goto(`${world.url}#calls`);
    await page.reload();
    await look();
  });
});

test('arrow keys move through the calls at once', async () => {
  await callTool(world, 'run_command', { command: 'echo a' }, newId());
  await callTool(world, 'run_command', { command: 'echo b' }, newId());
  await onPage(world, {}, async (page) => {
    await page.locator('#rows tr').nth(1).waitFor();
    const focused = () =>
      page.evaluate(() => {
        const rows = [...document.querySelectorAll('#rows tr')];
        return rows.indexOf(document.activeElement.closest('tr'));
      });
    assert.equal(await focused(), -1);
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(), 0);
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(), 1);
    await page.keyboard.press('ArrowUp');
    assert.equal(await focused(), 0);
    await page.keyboard.press('Enter');
    await page.locator('#detail h2:focus').waitFor();
  });
});

test('a click is for the call that was pressed, though another one comes before the release', async () => {
  const id = newId();
  await callTool(world, 'run_command', { command: 'echo pressed' }, id);
  await onPage(world, {}, async (page) => {
    const row = page.locator('#rows tr', { hasText: 'pressed' });
    await row.waitFor();
    const total = page.locator('.gauge-calls_total .value');
    await total.locator('text=/[0-9]/').waitFor();
    const before = await total.textContent();
    await row.locator('a').hover(); // once it stands still
    await page.mouse.down();
    await callTool(world, 'run_command', { command: 'echo later' }, newId());
    await page.waitForFunction(
      (text) => document.querySelector('.gauge-calls_total .value').textContent !== text,
      before,
    );
    await page.mouse.up();
    await page.locator('#detail .output:has-text("pressed")').waitFor();
    await page.locator('#rows tr', { hasText: 'later' }).waitFor();
  });
});

test('the first words of a plot move nothing below it', async () => {
  await callTool(world, 'run_command', { command: 'echo a' }, newId());
  await onPage(world, {}, async (page) => {
    await page.locator('.plot-headline span').first().waitFor();
    const height = () => page.evaluate(() => document.getElementById('plots').offsetHeight);
    const before = await height();
    await page.evaluate(() => {
      for (const words of document.querySelectorAll('.plot-headline')) words.replaceChildren();
    });
    assert.equal(await height(), before);
  });
});

test('what a tool prints stays text', async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    await callTool(
      world,
      'run_command',
      { command: `echo '<img src=x onerror=window.owned=1><b>bold</b>'` },
      id,
    );
    const row = await rowOf(page, id);
    await row.locator('text=<img src=x').waitFor();
    await row.locator('a').click();
    assert.match(
      await page.locator('#detail .output').textContent(),
      /<img src=x onerror=window\.owned=1><b>bold<\/b>/,
    );
    assert.equal(await page.evaluate(() => window.owned), undefined);
    assert.equal(await page.locator('main img, main b').count(), 0);
  });
});

const asItComes = 'a form made from the schema calls the tool and shows its output as it comes';
test(asItComes, { skip: gatesOnly }, async () => {
  await onPage(world, { hash: '#tools/run_command' }, async (page) => {
    const gate = newGate();
    await field(page, 'command').fill(`echo begun; ${gate.wait}; echo done`);
    await callButton(page).click();
    const tried = page.locator('.tried');
    await tried.locator('.output >> text=begun').waitFor();
    assert.equal(await tried.locator('.outcome-word').textContent(), 'running');
    assert.ok(await callButton(page).isDisabled());
    gate.open();
    await tried.locator('.outcome-word:text-is("ok")').waitFor();
    assert.match(await tried.locator('.output').textContent(), /begun\ndone/);
    assert.match(await tried.textContent(), /Enforced: \d+ layers/);
    assert.ok(await callButton(page).isEnabled());
    await page.locator('#announce:has-text("run_command: ok")').waitFor({ state: 'attached' });
  });
});

test('how a command fails is told: its exit code and its sentence', async () => {
  await onPage(world, { hash: '#tools/run_command' }, async (page) => {
    await field(page, 'command').fill('echo careful >&2; exit 3');
    await callButton(page).click();
    await page.locator('.tried .outcome-word:text-is("exit")').waitFor();
    assert.match(await page.locator('.tried .facts').textContent(), /Exit code3/);
    assert.equal((await page.locator('.tried .output .stderr').textContent()).trim(), 'careful');
  });
});

test('what the policy refused is shown, with what would allow it', { skip: isFake && 'needs a server with a policy' }, async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    await callTool(world, 'run_command', { argv: ['cat', '/srv/brig-nowhere'] }, id);
    await (await rowOf(page, id)).locator('a').click();
    const hit = page.locator('#detail .hits li');
    await hit.locator('.grant >> text=files.read = ["/srv/brig-nowhere"]').waitFor();
    assert.equal(await hit.locator('.layer').textContent(), 'file.not_in_cell');
    assert.match(await hit.locator('.rule').textContent(), /files\.write do not list it/);
    assert.equal(await hit.locator('.certain').count(), 1);
  });
});

test("the server's problem document is shown beside the form", async () => {
  await onPage(world, { hash: '#tools/run_command', allow: [/status of 422/] }, async (page) => {
    await page.getByRole('button', { name: 'JSON' }).click();
    await page.locator('.raw').fill('{"command": 5}');
    await callButton(page).click();
    const problem = page.locator('.problem');
    await problem.waitFor();
    assert.match(await problem.textContent(), /invalid-arguments/);
    assert.match(await problem.textContent(), /command/);
    await page.locator('.raw').fill('{"command": ');
    await callButton(page).click();
    await page.locator('.summary >> text=Not JSON').waitFor();
    assert.ok(await problem.isHidden());
  });
});

test('a running call is cancelled from its form', async () => {
  await onPage(world, { hash: '#tools/run_command' }, async (page) => {
    await field(page, 'command').fill('echo begun; sleep 600');
    await callButton(page).click();
    await page.locator('.tried .output >> text=begun').waitFor();
    await page.locator('.tried').getByRole('button', { name: 'Cancel' }).click();
    await page.locator('.tried .outcome-word:text-is("cancelled")').waitFor();
    assert.ok(await page.locator('.tried .danger').isHidden());
  });
});

test('a running call is cancelled from the list of calls', async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    const result = callTool(world, 'run_command', { command: 'sleep 600' }, id);
    const row = await rowOf(page, id);
    await row.locator('a').click();
    await page.locator('#detail').getByRole('button', { name: 'Cancel' }).click();
    await page.locator('#detail .outcome-word:text-is("cancelled")').waitFor();
    assert.equal((await result).report.outcome, 'cancelled');
  });
});

test('all can be done by keyboard alone', async () => {
  await onPage(world, {}, async (page) => {
    const press = (...keys) =>
      keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
    const focused = () =>
      page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id);
    await press('Tab');
    assert.equal(await focused(), 'Skip to the content');
    for (let i = 0; i < 4 && (await focused()) !== 'Tools'; ++i) await press('Tab');
    assert.equal(await focused(), 'Tools');
    await press('Enter');
    await page.locator('#tool-list a').first().waitFor();
    await press('/');
    assert.equal(await focused(), 'tool-filter');
    await page.keyboard.type('run_command');
    await press('Tab', 'Enter');
    await page.locator('.pane h2:focus').waitFor();
    for (
      let i = 0;
      i < 12 && !(await field(page, 'command').evaluate((one) => one === document.activeElement));
      ++i
    )
      await press('Tab');
    await page.keyboard.type('echo typed');
    await press('Control+Enter');
    await page.locator('.tried .outcome-word:text-is("ok")').waitFor();

    await page.locator('.tabs a').first().focus();
    await press('Enter', '/');
    assert.equal(await focused(), 'call-filter');
    await page.keyboard.type('console-');
    await page.locator('#rows tr').first().waitFor();
    for (let i = 0; i < 8 && !(await page.locator('#rows a:focus').count()); ++i) await press('Tab');
    assert.equal(await focused(), 'run_command');
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, 'solid');
    await press('Enter');
    await page.locator('#detail h2:focus').waitFor();
    await press('Escape');
    await page.locator('#detail').waitFor({ state: 'hidden' });
    assert.equal(await focused(), 'run_command');
  });
});

test('nothing is wider than a phone', async () => {
  const phone = { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true };
  await onPage(world, phone, async (page) => {
    const id = newId();
    await callTool(world, 'run_command', { command: `echo ${'wide'.repeat(400)}` }, id);
    const row = await rowOf(page, id);
    assert.ok((await overflow(page)) <= 0, 'the list');
    await row.locator('a').click();
    await page.locator('#detail .output').waitFor();
    assert.ok((await overflow(page)) <= 0, 'a call');
    for (const hash of ['#tools', '#tools/run_command', '#machine', '#calls']) {
      await page.evaluate((to) => (location.hash = to), hash);
      const settled = { '#tools/run_command': '#tool-pane .field', '#machine': '.layer-table tbody tr' };
      await page
        .locator(settled[hash] ?? `#view-${hash.slice(1)}`)
        .first()
        .waitFor();
      assert.ok((await overflow(page)) <= 0, hash);
    }
  });
});

test('light, dark, and the switch between them', async () => {
  const brightness = (page) =>
    page.evaluate(() => {
      const [red, green, blue] = getComputedStyle(document.body)
        .backgroundColor.match(/[\d.]+/g)
        .map(Number);
      return (red + green + blue) / 3;
    });
  await onPage(world, { colorScheme: 'dark' }, async (page) => {
    assert.ok((await brightness(page)) < 60);
    await page.locator('#theme-button').click();
    assert.ok((await brightness(page)) > 200, 'light, though the system is dark');
    await page.reload();
    assert.ok((await brightness(page)) > 200, 'it is remembered');
    await page.locator('#theme-button').click();
    assert.ok((await brightness(page)) < 60);
  });
  await onPage(world, { colorScheme: 'light' }, async (page) => assert.ok((await brightness(page)) > 200));
});

test('the machine page tells what is enforced, the gauges how the pool stands', async () => {
  await onPage(world, {}, async (page) => {
    await page.locator('.gauge-running .most >> text=of').waitFor();
    assert.match(await page.locator('.gauge-calls_total .value').textContent(), /^[\d,]+$/);
    for (const id of ['throughput', 'latency', 'pool'])
      assert.ok(await page.locator(`#plot-${id}`).isVisible());
    await page.locator('.tabs a', { hasText: 'Machine' }).click();
    await page.locator('.layer-table tbody tr').first().waitFor();
    assert.match(await page.locator('.verdict').textContent(), /Isolation: \w+/);
    assert.match(await page.locator('.layer-table').textContent(), /seccomp/);
  });
});

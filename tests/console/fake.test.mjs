// What a real server seldom does: these need the fake one (BRIG_FAKE=1), and are skipped without it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeServer } from './fake_server.mjs';
import {
  callButton,
  callTool,
  fakeOnly,
  field,
  newGate,
  newId,
  nodes,
  onPage,
  overflow,
  rowOf,
  setUp,
  until,
} from './support.mjs';

const world = setUp();
const fakeTest = (name, body) => test(name, { skip: fakeOnly }, body);

fakeTest('escapes, bidirectional overrides and markup are shown, not obeyed', async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    await callTool(world, 'hostile', {}, id);
    const row = await rowOf(page, id);
    await row.locator('text=denied').waitFor();
    await row.locator('a').click();
    const shown = await page.locator('#detail').textContent();
    assert.match(shown, /\^\[\[31mred\^\[\[0m \^G‹U\+202E›txt\.exe‹U\+202C›/);
    assert.match(shown, /<script>window\.owned=1<\/script>/);
    assert.match(shown, /syscall\.refused ptrace <img/);
    assert.equal(await page.locator('#detail .hits .layer').textContent(), 'syscall.refused');
    assert.match(await page.locator('#detail .hits .grant').textContent(), /^Grant: syscalls\.allow = \["ptrace"\] <img/);
    assert.match(shown, /×3/);
    assert.match(shown, /��A/);
    assert.doesNotMatch(shown, /[\u0000-\u0008\u000e-\u001f\u202a-\u202e]/);
    assert.equal(await page.evaluate(() => window.owned), undefined);
    assert.equal(await page.locator('main img, main script').count(), 0);
    await page.locator('#call-chips button', { hasText: 'Violations' }).click();
    await page.locator('#rows tr .badge >> text=1 violation').first().waitFor();
  });
});

fakeTest('of a violation all is shown that its record says', async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    await callTool(world, 'refused', {}, id);
    await (await rowOf(page, id)).locator('a').click();
    const hits = page.locator('#detail .hits li');
    await until(async () => (await hits.count()) === 2, 'both records');
    const parts = async (hit) => await hit.locator('span').allTextContents();
    assert.deepEqual(await parts(hits.nth(0)), [
      'file.not_in_cell',
      '/srv/data',
      'named a path that is not in the cell',
      'Rule: files.read and files.write do not list it',
      'Grant: files.read = ["/srv/data"]',
      'Works once it is granted',
      "Not certain: concluded from the tool's own words",
    ]);
    assert.deepEqual(await parts(hits.nth(1)), [
      'syscall.refused',
      'mount',
      ' ×2',
      'Rule: the system calls that are refused by default',
      'No policy allows it',
    ]);
  });
});

fakeTest('what a call reached, and what it was denied, is a table', async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    await callTool(world, 'reaches', {}, id);
    await (await rowOf(page, id)).locator('a').click();
    const table = page.locator('#detail .connections');
    await table.locator('summary', { hasText: 'Connections: 300' }).waitFor();
    const rows = table.locator('tbody tr');
    assert.equal(await rows.count(), 3);
    assert.deepEqual(await rows.nth(0).locator('td').allTextContents(), [
      'api.github.com:443192.0.2.7',
      'allowedby api.github.com:443',
      '517 B',
      '2.00 MiB',
      '1.50 s',
    ]);
    assert.match(await rows.nth(1).textContent(), /\^\[\[31mred.*:22denied.*<script>window\.owned=1/);
    assert.equal(await rows.nth(2).locator('td').first().textContent(), 'looked.example');
    assert.equal(await table.locator('> p').textContent(), 'and 297 more');
    assert.equal(await page.evaluate(() => window.owned), undefined);
    assert.equal(await page.locator('#detail img, #detail script').count(), 0);
    assert.ok((await overflow(page)) <= 0);
  });
});

fakeTest('hostile names of tools, callers and calls are text too', async () => {
  await onPage(world, {}, async (page) => {
    world.fake.emit('queued', {
      call_id: '<i>id</i>',
      tool: '<script>owned=1</script>',
      caller: '<img src=x onerror=owned=1>',
    });
    world.fake.emit('finished', {
      call_id: '<i>id</i>',
      tool: '<script>owned=1</script>',
      caller: '<img src=x onerror=owned=1>',
      outcome: '<u>odd</u>',
      message: '<svg onload=owned=1>',
      duration_ms: 'NaN',
      violations: [null, { code: {}, what: [] }],
    });
    const row = await rowOf(page, '<i>id');
    assert.match(await row.textContent(), /<u>odd<\/u><script>owned=1/);
    await row.locator('a').click();
    await page.locator('#detail >> text=<svg onload').waitFor();
    assert.equal(await page.evaluate(() => window.owned), undefined);
  });
});

fakeTest('two thousand events a second leave the page small and working', async () => {
  await onPage(world, {}, async (page) => {
    const begun = await nodes(page);
    await page.evaluate(() => {
      window.said = 0;
      new MutationObserver((changes) => (window.said += changes.length)).observe(
        document.getElementById('announce'),
        { childList: true },
      );
    });
    let call = 0;
    for (let tick = 0; tick < 30; ++tick) {
      for (let i = 0; i < 50; ++i) {
        const common = { call_id: `flood-${++call}`, tool: `tool_${call % 7}`, caller: 'flood' };
        world.fake.emit('queued', common);
        world.fake.emit('started', common);
        world.fake.emit('output', { ...common, stream: i % 2 ? 'stdout' : 'stderr', text: `line ${call}\n` });
        world.fake.emit('finished', {
          ...common,
          outcome: i % 10 ? 'ok' : 'timeout',
          message: 'over',
          duration_ms: 1 + (call % 90),
          violations: [],
        });
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await page.locator('#list-note >> text=/The last 1,000 of 1,[5-9][0-9][0-9] calls/').waitFor();
    assert.equal(await page.locator('#rows tr').count(), 100);
    assert.ok((await nodes(page)) - begun < 100 * 13, 'few elements');
    for (const rows of [200, 300, 400, 500, 600, 700, 800, 900, 1000]) {
      await page.locator('#more').click();
      await until(async () => (await page.locator('#rows tr').count()) === rows, `${rows} rows`);
    }
    await page.locator('#more').waitFor({ state: 'hidden' });
    assert.ok((await nodes(page)) - begun < 1000 * 13, 'a bounded number of elements');
    await page.locator('#plot-latency[aria-label*="p95"]').waitFor();
    assert.match(await page.locator('#plot-throughput').getAttribute('aria-label'), /failed in 2 min/);
    await rowOf(page, 'flood-1500');
    assert.equal(await page.evaluate(() => window.said), 0, 'nothing of it is read aloud');
  });
});

fakeTest('a flood of output is cut to its end, and bounded in elements', async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    const common = { call_id: id, tool: 'yes', caller: '' };
    world.fake.emit('queued', common);
    world.fake.emit('started', common);
    await (await rowOf(page, id)).locator('a').click();
    for (let i = 0; i < 4000; ++i)
      world.fake.emit('output', {
        ...common,
        stream: i % 2 ? 'stdout' : 'stderr',
        text: `${i} ${'y'.repeat(60)}\n`,
      });
    await page.locator('#detail .output >> text=3999 yyy').waitFor();
    assert.ok((await page.locator('#detail .output').textContent()).length <= 64 * 1024);
    assert.ok((await page.locator('#detail .output span').count()) <= 256);
    assert.match(await page.locator('#detail .sizes').textContent(), /only the end is shown/);
    const atEnd = await page
      .locator('#detail .output')
      .evaluate((pre) => pre.scrollHeight - pre.scrollTop - pre.clientHeight);
    assert.ok(atEnd < 24, 'it follows the end');
    world.fake.emit('finished', {
      ...common,
      outcome: 'output_limit',
      message: 'it wrote too much',
      duration_ms: 9,
      violations: [],
    });
    await page.locator('#detail .hits >> text=output').waitFor();
  });
});

fakeTest('a plot is read by keyboard', async () => {
  await onPage(world, {}, async (page) => {
    await callTool(world, 'greet', { who: 'a' }, newId());
    const plot = page.locator('#plot-throughput');
    await page.locator('#plot-throughput[aria-label*="0.1 /s"]').waitFor();
    await page.evaluate(() => {
      // A screen that is drawn three times a second: what is read keeps up with the keys all the same.
      globalThis.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 300);
    });
    await plot.focus();
    const figure = page.locator('.plot', { has: plot });
    await until(async () => {
      await page.keyboard.press('ArrowLeft');
      return /\d\d:\d\d:\d\d {2}1 \/s/.test(await figure.locator('.plot-readout').textContent());
    }, 'the second with one call');
    await until(async () => / {2}1 \/s/.test(await plot.getAttribute('aria-label')), 'its label');
  });
});

fakeTest('nothing moves for those who want no motion', async () => {
  await onPage(world, { reducedMotion: 'reduce' }, async (page) => {
    const id = newId();
    world.fake.emit('started', { call_id: id, tool: 'still', caller: '' });
    const row = await rowOf(page, id);
    assert.equal(await row.locator('.mark').evaluate((mark) => getComputedStyle(mark).animationName), 'none');
  });
});

fakeTest('the list can be held still', async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    await callTool(world, 'greet', { who: 'a' }, id);
    const all = world.fake.ended.length; // those of the tests above are there again
    await until(async () => (await page.locator('#rows tr').count()) === all, 'all rows');
    await page.locator('#hold').click();
    const before = await page.locator('#rows tr').count();
    await callTool(world, 'greet', { who: 'b' }, newId());
    await page.locator('#hold >> text=Continue (1 new)').waitFor();
    assert.equal(await page.locator('#rows tr').count(), before);
    await page.locator('#hold').click();
    await until(async () => (await page.locator('#rows tr').count()) === before + 1, 'the new row');
  });
});

fakeTest('a broken connection is told, and mended', async () => {
  await onPage(world, { allow: [/Failed to load resource/, /ERR_/] }, async (page) => {
    const id = newId();
    world.fake.emit('queued', { call_id: id, tool: 'gone', caller: '' });
    world.fake.emit('started', { call_id: id, tool: 'gone', caller: '' });
    const row = await rowOf(page, id);
    world.fake.disconnect(true);
    await page.locator('#banner >> text=Not connected').waitFor();
    await page.locator('#link[data-state=waiting]').waitFor();
    assert.match(await page.locator('#link-text').textContent(), /again in \d+ s/);
    // While it is still refused: a page that has reconnected by itself has no such button any more.
    await page.locator('#banner').getByRole('button', { name: 'Try now' }).click();
    world.fake.refuseEvents = false;
    await page.locator('#link[data-state=live]').waitFor();
    await page.locator('#banner').waitFor({ state: 'hidden' });
    await row.locator('text=not seen').waitFor();
    await callTool(world, 'greet', { who: 'again' }, `${id}-after`);
    await rowOf(page, `${id}-after`);
  });
});

fakeTest('events that did not reach the page, and a server that drains, are told', async () => {
  await onPage(world, {}, async (page) => {
    world.fake.emit('lost', { dropped: 1234 });
    await page.locator('#banner >> text=1,234 events did not reach this page').waitFor();
    world.fake.extra = { draining: true };
    await page.locator('#banner >> text=shutting down').waitFor();
    world.fake.extra = {};
  });
});

fakeTest('a token is asked for, refused when wrong, and kept in this tab only', async () => {
  const locked = new FakeServer({ token: 'open-sesame' });
  const url = await locked.listen();
  try {
    await onPage(world, { url, connect: false, allow: [/status of 401/] }, async (page) => {
      await page.locator('#token-dialog[open]').waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.id), 'token');
      await page.keyboard.type('wrong');
      await page.keyboard.press('Enter');
      await page.locator('#token-fault >> text=did not accept').waitFor();
      await page.fill('#token', 'open-sesame');
      await page.keyboard.press('Enter');
      await page.locator('#link[data-state=live]').waitFor();
      assert.equal(await page.locator('#token-dialog[open]').count(), 0);
      assert.deepEqual(
        await page.evaluate(() => [
          Object.values(sessionStorage),
          JSON.stringify(localStorage).includes('sesame'),
          document.cookie,
          location.href.includes('sesame'),
        ]),
        [['open-sesame'], false, '', false],
      );
      await page.reload();
      await page.locator('#link[data-state=live]').waitFor();
      await page.evaluate(() => (location.hash = '#tools/greet'));
      await field(page, 'who').fill('you');
      await callButton(page).click();
      await page.locator('.tried .outcome-word:text-is("ok")').waitFor();
      await page.locator('#token-button >> text=Lock').click();
      await page.locator('#token-dialog[open]').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('#token-button >> text=Unlock').waitFor();
      await page.locator('#banner >> text=asks for a token').waitFor();
    });
  } finally {
    await locked.close();
  }
});

fakeTest('a form has a field for everything, and sends what was typed', async () => {
  await onPage(world, { hash: '#tools/everything' }, async (page) => {
    await field(page, 'title').fill('A title');
    assert.equal(await field(page, 'count').inputValue(), '3');
    await field(page, 'count').fill('9007199254740993');
    await field(page, 'ratio').fill('.5');
    await field(page, 'strict').selectOption({ label: 'yes' });
    const tags = page.locator('fieldset', { has: page.locator('legend >> text=tags') });
    await tags.getByRole('button', { name: 'Add an item' }).click();
    await page.keyboard.type('one');
    await tags.getByRole('button', { name: 'Add an item' }).click();
    await page.keyboard.type('two');
    await tags.getByRole('button', { name: 'Add an item' }).click();
    await tags.getByRole('button', { name: 'Remove' }).last().click();
    await field(page, 'lat').fill('-1');
    await field(page, 'lon').fill('2e1');
    await page
      .locator('fieldset', { has: page.locator('legend >> text=filters') })
      .getByRole('button', { name: 'Add an item' })
      .click();
    await field(page, 'key').fill('size');
    await field(page, 'op').selectOption({ label: 'is not' });
    await field(page, 'extra').fill('{"any": [1, null]}');
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await callButton(page).click();
    const text = (await sent).postData();
    assert.match(text, /"count":9007199254740993,/, 'all digits');
    const { count, ...rest } = JSON.parse(text).arguments;
    assert.deepEqual(rest, {
      title: 'A title',
      ratio: 0.5,
      unit: 'words',
      strict: true,
      tags: ['one', 'two'],
      place: { lat: -1, lon: 20 },
      filters: [{ key: 'size', op: 'is not' }],
      extra: { any: [1, null] },
    });
    await page.locator('.result .answer', { hasText: '"title": "A title"' }).waitFor();
  });
});

fakeTest('what does not fit is told at its field before anything is sent', async () => {
  await onPage(world, { hash: '#tools/everything' }, async (page) => {
    let sent = 0;
    page.on('request', (request) => (sent += request.method() === 'POST'));
    await field(page, 'title').fill('x');
    await field(page, 'count').fill('1.5');
    await field(page, 'ratio').fill('2');
    await field(page, 'lat').fill('1');
    await field(page, 'extra').fill('{');
    await callButton(page).click();
    await page.locator('.summary >> text=5 arguments').waitFor();
    const faults = await page.locator('.fault:not(.summary):visible').allTextContents();
    assert.deepEqual(faults.map((text) => text.replace(/^not JSON.*/, 'not JSON')).filter(Boolean), [
      'at least 2 characters',
      'must be a whole number',
      'at most 1',
      'this field is required',
      'not JSON',
    ]);
    assert.equal(await field(page, 'title').getAttribute('aria-invalid'), 'true');
    assert.ok(
      await field(page, 'title').evaluate((one) => one === document.activeElement),
      'the first fault has the focus',
    );
    assert.equal(sent, 0);
    await field(page, 'title').fill('xy');
    assert.equal(await field(page, 'title').getAttribute('aria-invalid'), null);
  });
});

for (const late of [false, true]) {
  fakeTest(
    `the server's faults are told at their fields, found ${late ? 'after' : 'before'} its stream began`,
    async () => {
      await onPage(world, { hash: '#tools/greet', allow: [/status of 422/] }, async (page) => {
        world.fake.lateRefusals = late;
        await field(page, 'who').fill('nobody');
        await callButton(page).click();
        await page.locator('.problem >> text=Invalid arguments').waitFor();
        assert.match(await page.locator('.problem code').textContent(), /422 invalid-arguments/);
        await page.locator('.field .fault >> text=expected somebody').waitFor();
        assert.ok(await field(page, 'who').evaluate((one) => one === document.activeElement));
        assert.equal(await page.locator('.tried *').count(), 0);
        world.fake.lateRefusals = false;
      });
    },
  );
}

fakeTest("run_python's value and images are shown, what it printed only once", async () => {
  await onPage(world, { hash: '#tools/run_python' }, async (page) => {
    await field(page, 'code').fill('print("once")\n6 * 7');
    await callButton(page).click();
    await page.locator('.tried .outcome-word:text-is("ok")').waitFor();
    assert.deepEqual(await page.locator('.result .answer').allTextContents(), ['a table', '42']);
    assert.equal(await page.locator('.result table').count(), 0);
    assert.equal((await page.locator('.tried').textContent()).match(/once/g).length, 1);
    await page.locator('.result img').first().waitFor();
    assert.equal(await page.locator('.result img').count(), 2);
    await page.locator('.result >> text=rows.csv').waitFor();
    await page.locator('.result >> text=plot.png').waitFor();
  });
});

fakeTest('what was typed survives the way to JSON and back, and to another page', async () => {
  await onPage(world, { hash: '#tools/everything' }, async (page) => {
    await field(page, 'title').fill('kept');
    await page.getByRole('button', { name: 'JSON' }).click();
    assert.deepEqual(JSON.parse(await page.locator('.raw').inputValue()), {
      title: 'kept',
      count: 3,
      unit: 'words',
    });
    await page.locator('.raw').fill('{"title": "changed", "tags": ["a", "b"]}');
    await page.getByRole('button', { name: 'Form' }).click();
    assert.equal(await field(page, 'title').inputValue(), 'changed');
    assert.equal(await page.locator('.items li').count(), 2);
    await page.locator('.tabs a', { hasText: 'Calls' }).click();
    await page.goBack();
    assert.equal(await field(page, 'title').inputValue(), 'changed');
  });
});

fakeTest('images of the four safe kinds are shown, others are not', async () => {
  await onPage(world, { hash: '#tools/picture' }, async (page) => {
    await callButton(page).click();
    const image = page.locator('.result img');
    await image.waitFor();
    assert.equal(await image.count(), 1);
    await until(() => image.evaluate((one) => one.complete && one.naturalWidth === 2), 'the picture');
    await page.locator(".result >> text=an image that can't be shown (image/svg+xml)").waitFor();
    await page.locator('.result >> text=two pixels').waitFor();
  });
});

fakeTest('every form fits a phone', async () => {
  await onPage(
    world,
    { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true, hash: '#tools/everything' },
    async (page) => {
      await field(page, 'title').waitFor();
      for (const add of await page.getByRole('button', { name: 'Add an item' }).all()) await add.click();
      assert.ok((await overflow(page)) <= 0);
      assert.ok((await callButton(page).boundingBox()).height >= 40, 'large enough for a finger');
    },
  );
});

fakeTest('what runs stands above what waits, and both above what has ended', async () => {
  await onPage(world, {}, async (page) => {
    const tool = newId();
    const call = (name) => ({ call_id: `${tool}-${name}`, tool, caller: 'order' });
    for (const name of ['old', 'running', 'waiting', 'new']) world.fake.emit('queued', call(name));
    for (const name of ['old', 'running', 'new']) world.fake.emit('started', call(name));
    for (const name of ['old', 'new']) world.fake.emit('finished', { ...call(name), outcome: 'ok', duration_ms: 1 });
    await rowOf(page, tool);
    await until(async () => {
      const kinds = await page.locator('#rows tr').evaluateAll((rows) => rows.map((row) => row.dataset.kind));
      return kinds.join() === 'running,queued,ok,ok';
    }, 'the order');
  });
});

fakeTest('what a server refused says nothing of how long tools take', async () => {
  await onPage(world, {}, async (page) => {
    const p50 = await page.evaluate(async () => {
      const { Series, summary } = await import('/console/series.js');
      const series = new Series();
      const now = Date.now();
      const call = (outcome, durationMs, steps = null) => series.finished({ outcome, durationMs, steps }, now - 2000);
      call('ok', 1000, { run_ms: 900 });
      for (let i = 0; i < 50; ++i) call('invalid_arguments', 0.1);
      call('cancelled', 0.1, { run_ms: 0 });
      const { p50, ended } = summary(series.window(now));
      return { p50, ended };
    });
    assert.ok(p50.p50 > 800, `${p50.p50}`);
    assert.equal(p50.ended, 52);
  });
});

fakeTest('hostile arguments are text', async () => {
  await onPage(world, {}, async (page) => {
    const id = newId();
    const hostile = { '<b>key</b>': '<img src=x onerror=window.owned=1>\u202e' };
    world.fake.emit('queued', { call_id: id, tool: 't', caller: '', arguments: hostile });
    await (await rowOf(page, id)).locator('a').click();
    const shown = await page.locator('#detail .arguments .answer').textContent();
    assert.match(shown, /<b>key<\/b>": "<img src=x onerror=window\.owned=1>‹U\+202E›/);
    assert.equal(await page.locator('#detail b, #detail img').count(), 0);
  });
});

fakeTest('a call that ended while the page was not connected is told as it ended', async () => {
  await onPage(world, { allow: [/ERR_/] }, async (page) => {
    const id = newId();
    const gate = newGate();
    const result = callTool(world, 'run_command', { command: `echo begun; ${gate.wait}; exit 7` }, id);
    const row = await rowOf(page, id);
    await row.locator('text=running').waitFor();
    world.fake.disconnect(true);
    await page.locator('#link[data-state=waiting]').waitFor();
    gate.open();
    await result;
    world.fake.refuseEvents = false;
    await page.locator('#link[data-state=live]').waitFor();
    await row.locator('.c-outcome >> text=exit').waitFor();
  });
});

// Pictures of the console, for people to look at: node shots.mjs OUT_DIR [BASE_URL]
import { mkdir } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { LAUNCH } from './browser.mjs';
import { demo } from './fake_demo.mjs';
import { FakeServer } from './fake_server.mjs';

const out = process.argv[2] ?? 'shots';
await mkdir(out, { recursive: true });
const fake = new FakeServer();
const url = process.argv[3] ?? (await fake.listen());
if (!process.argv[3]) demo(fake);
const browser = await chromium.launch(LAUNCH);
for (const [name, width, height, scheme, scale] of [
  ['light', 1360, 900, 'light', 1],
  ['dark', 1360, 900, 'dark', 1],
  ['phone', 375, 780, 'light', 2],
  ['phone-dark', 375, 780, 'dark', 2],
]) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    deviceScaleFactor: scale,
    hasTouch: width < 500,
    isMobile: width < 500,
  });
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForTimeout(Number(process.env.SHOT_WAIT ?? 15) * 1000);
  const shot = (what) => page.screenshot({ path: `${out}/${name}-${what}.png` });
  await shot('calls');
  await page.locator('#call-chips button', { hasText: 'Violations' }).click();
  if ((await page.locator('#rows tr').count()) > 0) {
    await page.locator('#rows a').first().click();
    await page.waitForTimeout(300);
    await shot('call');
  }
  await page.goto(`${url}#tools/everything`);
  await page.waitForTimeout(500);
  await shot('form');
  await page
    .locator('.field .name', { hasText: 'title' })
    .locator('xpath=ancestor::div[2]')
    .locator('input')
    .fill('x');
  await page.getByRole('button', { name: 'Add an item' }).first().click();
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.screenshot({ path: `${out}/${name}-form-faults.png`, fullPage: true });
  await page.goto(`${url}#tools/run_command`);
  await page.waitForTimeout(300);
  await page.locator('textarea').first().fill('echo one; echo careful >&2; echo <b>three</b>; exit 3');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.waitForTimeout(600);
  await page.screenshot({ path: `${out}/${name}-tried.png`, fullPage: true });
  await page.goto(`${url}#machine`);
  await page.waitForTimeout(300);
  await shot('machine');
  await context.close();
}
await browser.close();
await fake.close();
process.exit(0);

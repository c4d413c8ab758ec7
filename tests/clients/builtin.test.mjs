// run_command and run_python, by @modelcontextprotocol/sdk 1.x: what one call says of itself, and what comes back of it, also if it fails.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as brig from './support.mjs';

const PNG = 'iVBORw0KGgoAAAANSUhEUg==';
const client = new Client({ name: 'brig-tests', version: '1' });
const call = (name, args) => client.callTool({ name, arguments: args });
const textOf = (result) => result.content.filter((each) => each.type === 'text').map((each) => each.text);
const linkOf = (result, name) => result.content.find((each) => each.type === 'resource_link' && each.name === name);

before(() =>
  client.connect(
    new StdioClientTransport({ command: brig.program, args: ['mcp', '--audit', 'none', '--preload', 'wave'], stderr: 'inherit' }),
  ),
);
after(() => client.close());

test('the schemas name what one call may say', async () => {
  const { tools } = await client.listTools();
  const has = (name) => Object.keys(tools.find((each) => each.name === name).inputSchema.properties);
  for (const each of ['argv', 'command', 'stdin', 'files', 'timeout', 'env', 'cwd'])
    assert.ok(has('run_command').includes(each), each);
  for (const each of ['code', 'files', 'timeout', 'env', 'cwd', 'stdin']) assert.ok(has('run_python').includes(each), each);
});

test('a command has variables, a directory and a time of its own', async () => {
  const ran = await call('run_command', {
    command: 'echo $A; cat here',
    env: { A: 'a b' },
    cwd: 'd',
    files: { 'd/here': 'here\n' },
  });
  assert.deepEqual(textOf(ran), ['a b\nhere\n']);
  const late = await call('run_command', { command: 'echo x > kept; sleep 600', timeout: 0.5 });
  assert.equal(late.isError, true);
  assert.match(textOf(late)[0], /^timeout: .*raise timeout/);
  const { contents } = await client.readResource({ uri: linkOf(late, 'kept').uri });
  assert.equal(contents[0].text, 'x\n');
});

test('what a command may not say is told in its own words', async () => {
  for (const [given, told] of [
    [{ timeout: 3600 }, /timeout: 1 h is more than the 30 s of the policy/],
    [{ timeout: 'soon' }, /timeout: give a number of seconds/],
    [{ env: { 'A=B': '' } }, /env: 'A=B'/],
    [{ cwd: 'no/such' }, /cwd: .*was not run/],
  ]) {
    const refused = await call('run_command', { command: 'echo ran', ...given });
    assert.equal(refused.isError, true);
    assert.match(textOf(refused)[0], told);
    assert.equal(refused._meta['brig/outcome'], 'invalid_arguments');
  }
});

// Clients on stdio end the connection at a line of 5 MiB or more: what is larger comes in parts, each of which names the next.
test('a resource of more than 5 MiB is read in parts, and the connection holds', { timeout: 60_000 }, async () => {
  const made = await call('run_command', {
    command: "seq -w 1 760000 > lines.txt; head -c 6000001 /dev/urandom > noise.bin; cat noise.bin | sha256sum | cut -d ' ' -f 1",
  });
  const [sum] = textOf(made);
  const partsOf = async (link) => {
    const parts = [];
    assert.ok(link.size > 5 * 1024 * 1024, link);
    for (let uri = `${link.uri}?offset=0`; uri; ) {
      const { contents, _meta } = await client.readResource({ uri });
      assert.ok(JSON.stringify(contents).length < 5 * 1024 * 1024);
      parts.push(contents[0].text === undefined ? Buffer.from(contents[0].blob, 'base64') : Buffer.from(contents[0].text));
      uri = _meta?.['brig/next'];
    }
    assert.ok(parts.length > 2);
    return Buffer.concat(parts);
  };
  // Read as one, it says how it is to be read.
  await assert.rejects(client.readResource({ uri: linkOf(made, 'lines.txt').uri }), /Read it in parts/);
  const lines = (await partsOf(linkOf(made, 'lines.txt'))).toString();
  assert.equal(lines.length, 760_000 * 7);
  assert.deepEqual([lines.slice(0, 7), lines.slice(-7)], ['000001\n', '760000\n']);
  const noise = await partsOf(linkOf(made, 'noise.bin'));
  assert.equal(createHash('sha256').update(noise).digest('hex'), sum.trim());
  assert.deepEqual(textOf(await call('run_command', { command: 'echo still there' })), ['still there\n']);
});

test('code that fails keeps what it printed, its images and its files', async () => {
  const failed = await call('run_python', {
    code: `import base64\nprint('before')\nopen('f.txt', 'w').write('kept')\nopen('p', 'wb').write(base64.b64decode('${PNG}'))\n1 / 0`,
  });
  assert.equal(failed.isError, true);
  assert.match(textOf(failed).join('\n'), /ZeroDivisionError/);
  assert.match(textOf(failed).join('\n'), /stdout:\nbefore/);
  assert.equal(failed.content.find((each) => each.type === 'image').data, PNG);
  const { contents } = await client.readResource({ uri: linkOf(failed, 'f.txt').uri });
  assert.equal(contents[0].text, 'kept');
});

test('code that takes too long keeps its files', async () => {
  const late = await call('run_python', {
    code: "open('f.txt', 'w').write('kept')\nimport time\ntime.sleep(600)",
    timeout: 1,
  });
  assert.equal(late._meta['brig/outcome'], 'timeout');
  assert.ok(linkOf(late, 'f.txt'));
});

test('code finds a module that was preloaded', async () => {
  assert.deepEqual(textOf(await call('run_python', { code: "import sys; 'wave' in sys.modules" })), ['true']);
});

test('code has variables, a directory and input of its call', async () => {
  const ran = await call('run_python', {
    code: "import os\n[os.environ['A'], os.path.basename(os.getcwd()), input()]",
    env: { A: 'a b' },
    cwd: 'd',
    stdin: 'a line\n',
    files: { 'd/here': '' },
  });
  assert.deepEqual(JSON.parse(textOf(ran)[0]), ['a b', 'd', 'a line']);
});

test('a plot that is shown is one image, between what was printed', async (t) => {
  const found = await call('run_python', { code: "import importlib.util\nimportlib.util.find_spec('matplotlib') is not None" });
  if (textOf(found)[0] !== 'true') return t.skip('no matplotlib');
  const plot = "import matplotlib.pyplot as plt\nprint('before')\nplt.plot([1, 2])\n";
  for (const end of ["plt.show()\nprint('after')", "plt.savefig('p.png')\nprint('after')"]) {
    const { content } = await call('run_python', { code: plot + end, timeout: 30 });
    assert.equal(content.filter((each) => each.type === 'image').length, 1, end);
    if (end.startsWith('plt.show'))
      assert.deepEqual(content.map((each) => each.text ?? each.type), ['before\n', 'image', 'after\n']);
  }
});

test('numpy, pandas and matplotlib can be preloaded: a plot is one image, and a table has its data', { timeout: 120_000 }, async (t) => {
  const modules = ['numpy', 'pandas', 'matplotlib'];
  const find = `import importlib.util\n[each for each in ${JSON.stringify(modules)} if importlib.util.find_spec(each) is None]`;
  const missing = textOf(await call('run_python', { code: find }))[0];
  if (missing !== '[]') return t.skip(`there is no ${missing}`);
  const warm = new Client({ name: 'brig-tests', version: '1' });
  const args = ['mcp', '--audit', 'none', ...modules.flatMap((each) => ['--preload', each])];
  await warm.connect(new StdioClientTransport({ command: brig.program, args, stderr: 'inherit' }));
  try {
    const run = (code) => warm.callTool({ name: 'run_python', arguments: { code, timeout: 30 } });
    const there = await run(`import sys\n[each in sys.modules for each in ${JSON.stringify(modules)}]`);
    assert.deepEqual(JSON.parse(textOf(there)[0]), [true, true, true]);
    for (const end of ['plt.show()', '', "plt.savefig('p.png')"]) {
      const { content } = await run(`import matplotlib.pyplot as plt, numpy as np\nplt.plot(np.arange(9) ** 2)\n${end}\nNone`);
      assert.deepEqual(content.map((each) => each.type), ['image'], end);
      assert.equal(Buffer.from(content[0].data, 'base64').toString('latin1', 1, 4), 'PNG');
    }
    const table = await run("import pandas as pd\npd.DataFrame({'a': [1, 2]})");
    const link = table.content.find((each) => each.type === 'resource_link' && each.mimeType === 'application/json');
    const { contents } = await warm.readResource({ uri: link.uri });
    assert.deepEqual(JSON.parse(contents[0].text), { columns: ['a'], rows: [[1], [2]], total: 2 });
  } finally {
    await warm.close();
  }
});

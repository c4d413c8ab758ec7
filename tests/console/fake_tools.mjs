// The fake server's tools. None of them runs anything.
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const text = (description, more = {}) => ({ type: 'string', description, ...more });
const tool = (name, description, properties, required = [], annotations = {}, more = {}) => ({
  name,
  description,
  input_schema: { type: 'object', properties, required, additionalProperties: false, ...more },
  annotations: { read_only: false, destructive: false, idempotent: false, open_world: false, ...annotations },
});

export const HOSTILE = `<img src=x onerror="window.owned=1"><script>window.owned=1</script>\u001b[31mred\u001b[0m \u0007\u202etxt.exe\u202c`;
// Two pixels, red and blue.
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAD0lEQVR4nGP4z8AARP8BAAf/Af+zv8L/AAAAAElFTkSuQmCC';

export const FAKE_TOOLS = [
  tool(
    'calendar',
    'Tells the weekday on which a month begins.',
    {
      year: { type: 'integer', minimum: 1, maximum: 9999 },
      month: { type: 'integer', minimum: 1, maximum: 12 },
    },
    ['year', 'month'],
    { read_only: true, idempotent: true },
  ),
  tool(
    'everything',
    'Takes one of everything that a schema can ask for, and gives it back.',
    {
      title: text('A line of text.', { minLength: 2, maxLength: 40 }),
      body: text('As much text as you like.'),
      count: { type: 'integer', description: 'How many.', minimum: 0, default: 3 },
      ratio: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
      unit: {
        type: 'string',
        enum: ['lines', 'words', 'bytes'],
        default: 'words',
        description: 'What to count.',
      },
      strict: { type: 'boolean', description: 'Whether to be strict about it.' },
      tags: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        maxItems: 5,
        uniqueItems: true,
        description: 'In any order.',
      },
      place: {
        type: 'object',
        description: 'Where it is.',
        properties: {
          lat: { type: 'number' },
          lon: { type: 'number' },
          label: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        },
        required: ['lat', 'lon'],
      },
      filters: { type: 'array', items: { $ref: '#/$defs/filter' }, description: 'What to leave out.' },
      extra: { description: 'Anything at all.' },
    },
    ['title'],
    { idempotent: true },
    {
      $defs: {
        filter: {
          type: 'object',
          properties: { key: text('Which field.'), op: { enum: ['is', 'is not'] } },
          required: ['key', 'op'],
        },
      },
    },
  ),
  tool(
    'greet',
    'Greets someone.',
    {
      who: text('Whom to greet.', { minLength: 1, maxLength: 100 }),
      greeting: text('How.', { enum: ['hello', 'good morning'], default: 'hello' }),
    },
    ['who'],
    { read_only: true },
  ),
  tool('refused', 'Does what its policy does not allow.', {}),
  tool('reaches', 'Reaches one host and tries others.', {}),
  tool('hostile', 'Prints what would hurt a careless page. <b>Not bold.</b>', {}, [], {
    destructive: true,
    open_world: true,
  }),
  tool('picture', 'Draws two pixels.', {}, [], { read_only: true }),
  tool(
    'run_command',
    'Runs a command in a cell of its own: no network, no file of yours.',
    {
      command: text('A line for /bin/sh -c, in place of argv.'),
      argv: {
        type: 'array',
        items: { type: 'string' },
        description: 'The program and its arguments; no shell.',
      },
      stdin: text('What it reads.'),
      files: {
        type: 'object',
        description: 'Files in its workspace.',
        additionalProperties: { type: 'string' },
      },
    },
    [],
    { destructive: true },
  ),
  tool(
    'run_python',
    'Runs Python code in a fresh, isolated interpreter, in an empty working directory.',
    { code: text('Python source; the value of a last expression is the result.') },
    ['code'],
  ),
];

// `say(kind, data)`; `cancelled` resolves when somebody cancels. → {outcome, message, output, stdout, stderr, …}
export async function runFake(name, args, say, cancelled) {
  const printed = { stdout: '', stderr: '' };
  const print = (stream, line) => {
    printed[stream] += line;
    say('output', { stream, text: line });
  };
  let stop = false;
  cancelled.then(() => (stop = true));
  const ok = (output) => ({ outcome: 'ok', message: 'the tool succeeded', output, ...printed });
  switch (name) {
    case 'greet':
      await pause(20);
      print('stdout', `${args.greeting ?? 'hello'}, ${args.who}!\n`);
      return ok(`${args.greeting ?? 'hello'}, ${args.who}!`);
    case 'calendar':
      return ok(
        new Date(Date.UTC(args.year, args.month - 1, 1)).toLocaleDateString('en', {
          weekday: 'long',
          timeZone: 'UTC',
        }),
      );
    case 'everything':
      return ok(args);
    case 'run_python':
      print('stdout', 'once\n');
      return ok({
        value: 42,
        ...printed,
        displays: [
          { at: 0, data: { 'text/plain': 'a table', 'text/html': '<table><tr><td>a table</td></tr></table>' } },
          { at: 5, data: { 'image/png': PICTURE } },
        ],
        images: [{ path: 'plot.png', mime_type: 'image/png', data: PICTURE }],
        files: [{ path: 'rows.csv', mime_type: 'text/csv', size: 2048, data: 'YQ==' }],
      });
    case 'picture':
      return ok([
        { type: 'text', text: 'two pixels' },
        { type: 'image', mimeType: 'image/png', data: PICTURE },
        { type: 'image', mimeType: 'image/svg+xml', data: 'PHN2Zy8+' },
      ]);
    case 'hostile':
      print('stdout', `${HOSTILE}\n`);
      print('stderr', `${HOSTILE}\n`);
      say('output', { stream: 'stdout', text_base64: Buffer.from([0xff, 0xfe, 0x41, 0x0a]).toString('base64') });
      return {
        outcome: 'denied',
        message: `the tool may not: ${HOSTILE}`,
        ...printed,
        violations: [
          {
            code: 'syscall.refused',
            what: `ptrace ${HOSTILE}`,
            grant: `syscalls.allow = ["ptrace"] ${HOSTILE}`,
            count: 3,
          },
        ],
      };
    case 'reaches': {
      const other = {
        rule: '',
        reason: '',
        address: '',
        way: 'connect',
        sent_bytes: 0,
        received_bytes: 0,
        begin_ms: 1,
        duration_ms: 0.5,
      };
      return {
        outcome: 'ok',
        message: 'the tool succeeded',
        ...printed,
        violations: [],
        connections: [
          {
            ...other,
            host: 'api.github.com',
            port: 443,
            verdict: 'allowed',
            rule: 'api.github.com:443',
            address: '192.0.2.7',
            sent_bytes: 517,
            received_bytes: 2097152,
            duration_ms: 1500,
          },
          { ...other, host: HOSTILE, port: 22, verdict: 'denied', reason: `no rule allows it ${HOSTILE}` },
          { ...other, host: 'looked.example', port: 0, verdict: 'denied', reason: 'no rule allows it', way: 'dns' },
        ],
        connections_total: 300,
      };
    }
    case 'refused':
      return {
        outcome: 'exit',
        message: 'the command failed with exit code 1',
        ...printed,
        violations: [
          {
            code: 'file.not_in_cell',
            what: 'named a path that is not in the cell',
            target: '/srv/data',
            rule: 'files.read and files.write do not list it',
            grant: 'files.read = ["/srv/data"]',
            retry: 'after_grant',
            count: 1,
            certain: false,
          },
          {
            code: 'syscall.refused',
            what: 'mount',
            target: '',
            rule: 'the system calls that are refused by default',
            grant: '',
            retry: 'never',
            count: 2,
            certain: true,
          },
        ],
      };
    default:
      return command(args.command ?? (args.argv ?? []).join(' '), print, printed, cancelled, () => stop);
  }
}

// A shell line of `echo WORDS`, `echo WORDS >&2`, `sleep SECONDS`, `exit CODE` and `until [ -e FILE ]; do …; done`, with ;
// between.
async function command(line, print, printed, cancelled, stopped) {
  for (const part of line
    .split(';')
    .map((one) => one.trim())
    .filter(Boolean)) {
    const [word, ...rest] = part.split(/\s+/);
    if (word === 'sleep')
      await Promise.race([pause(Number(rest[0]) * 1000, null, { ref: false }), cancelled]);
    else if (word === 'until') {
      while (!stopped() && !existsSync(rest[2])) await Promise.race([pause(20, null, { ref: false }), cancelled]);
    } else if (word === 'exit')
      return {
        outcome: 'exit',
        message: `the command exited with code ${rest[0]}`,
        exit_code: Number(rest[0]),
        ...printed,
      };
    else if (word === 'echo')
      print(
        part.endsWith('>&2') ? 'stderr' : 'stdout',
        `${part
          .slice(5)
          .replace(/\s*>&2$/, '')
          .replace(/^(['"])(.*)\1$/, '$2')}\n`,
      );
    if (stopped()) return { outcome: 'cancelled', message: 'the call was cancelled', ...printed };
  }
  return {
    outcome: 'ok',
    message: 'the command succeeded',
    exit_code: 0,
    output: { exit_code: 0, ...printed },
    ...printed,
  };
}

// The parts of the console that need no page, run where they will run: in the browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onPage, setUp } from './support.mjs';

const world = setUp();
const inPage = (name, body, check) =>
  test(name, () => onPage(world, {}, async (page) => check(await page.evaluate(body))));

inPage(
  'events are read whole, however the bytes are cut',
  async () => {
    const { readEvents } = await import('/console/sse.js');
    const bytes = new TextEncoder().encode(
      ': hello\n\nid: 1\nevent: output\ndata: {"text":"zwölf ✓"}\r\n\r\nevent: x\ndata: not json\n\ndata: {"a":\ndata: 1}\n\nevent: cut\ndata: {"never":1}',
    );
    const seen = [];
    for (const size of [1, 2, 3, 7, 1000]) {
      const stream = new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
          controller.close();
        },
      });
      const events = [];
      await readEvents(stream, (kind, data) => events.push([kind, data]));
      seen.push(events);
    }
    return seen;
  },
  (seen) => {
    for (const events of seen)
      assert.deepEqual(events, [
        ['output', { text: 'zwölf ✓' }],
        ['message', { a: 1 }],
      ]);
  },
);

inPage(
  'output is bounded in characters and in pieces',
  async () => {
    const { OutputBuffer } = await import('/console/output_buffer.js');
    const small = new OutputBuffer(),
      big = new OutputBuffer(),
      mixed = new OutputBuffer();
    for (let i = 0; i < 100000; ++i) small.add('stdout', 'ab\n');
    big.add('stdout', 'x'.repeat(1e6) + 'end');
    for (let i = 0; i < 5000; ++i) mixed.add(i % 2 ? 'stdout' : 'stderr', 'z');
    return [small.length, small.dropped + small.length, big.length, big.lastWords(3), mixed.pieces.length];
  },
  ([small, all, big, words, pieces]) => {
    assert.ok(small <= 65536 && small > 60000);
    assert.equal(all, 300000);
    assert.equal(big, 65536);
    assert.equal(words.length, 3);
    assert.ok(pieces <= 256);
  },
);

inPage(
  'calls are bounded, the finished go first, and one id may come twice',
  async () => {
    const { CallStore } = await import('/console/call_store.js');
    let ended = 0;
    const store = new CallStore(() => ++ended);
    store.handle('queued', { call_id: 'old', tool: 't' }, 1);
    for (let i = 0; i < 2000; ++i) {
      store.handle('queued', { call_id: `c${i}`, tool: 't' }, 2);
      store.handle('finished', { call_id: `c${i}`, outcome: 'ok', duration_ms: 1 }, 3);
    }
    const kept = [...store.calls.values()].some((call) => call.id === 'old');
    for (const kind of ['queued', 'started', 'queued', 'started', 'finished'])
      store.handle(kind, { call_id: 'twice', tool: 't', outcome: 'ok' }, 4);
    const twice = [...store.calls.values()].filter((call) => call.id === 'twice').map((call) => call.state);
    for (let i = 0; i < 2000; ++i) store.handle('queued', { call_id: `w${i}`, tool: 't' }, 5);
    const most = store.calls.size;
    store.reconcile(
      [
        { call_id: 'w1999', tool: 't' },
        { call_id: 'new', tool: 't', status: 'running', age_ms: 50 },
      ],
      6,
      7,
    );
    return { ended, kept, twice, most, live: [...store.live.keys()] };
  },
  (seen) => {
    assert.deepEqual(seen, {
      ended: 2001,
      kept: true,
      twice: ['done', 'running'],
      most: 1000,
      live: ['w1999', 'new'],
    });
  },
);

inPage(
  'an answer and events that overtake each other make no call twice, and none that runs for ever',
  async () => {
    const { CallStore } = await import('/console/call_store.js');
    const states = (store) => [...store.calls.values()].map((call) => `${call.id} ${call.state}`);
    const at = (second) => `2026-01-01T00:00:0${second}.000Z`;
    // The answer says that it runs; its end has come meanwhile.
    const first = new CallStore(() => {});
    first.handle('queued', { call_id: 'x', tool: 't', at: at(1) }, 10);
    first.handle('finished', { call_id: 'x', outcome: 'ok', duration_ms: 1, at: at(2) }, 20);
    first.reconcile([{ call_id: 'x', tool: 't', status: 'running', age_ms: 5 }], 15, 30);
    // The answer says that it has ended; its events come later.
    const second = new CallStore(() => {});
    second.restore([{ call_id: 'y', tool: 't', outcome: 'ok', started_at: at(1), ended_at: at(3) }], 0, 10);
    second.handle('queued', { call_id: 'y', tool: 't', at: at(1) }, 20);
    second.handle('output', { call_id: 'y', stream: 'stdout', text: 'z', at: at(2) }, 20);
    second.handle('finished', { call_id: 'y', outcome: 'ok', at: at(4) }, 20);
    const once = states(second);
    second.handle('queued', { call_id: 'y', tool: 't', at: at(5) }, 30); // the id once more
    return { first: states(first), once, again: states(second), live: second.countLive() };
  },
  (seen) =>
    assert.deepEqual(seen, {
      first: ['x done'],
      once: ['y done'],
      again: ['y done', 'y queued'],
      live: 1,
    }),
);

inPage(
  'calls of two callers with the same id are two calls',
  async () => {
    const { CallStore } = await import('/console/call_store.js');
    const store = new CallStore(() => {});
    for (const caller of ['a', 'b']) store.handle('queued', { call_id: 'x', tool: 't', caller }, 1);
    store.handle('finished', { call_id: 'x', caller: 'b', outcome: 'ok', duration_ms: 1 }, 2);
    return [...store.calls.values()].map((call) => `${call.caller} ${call.state}`);
  },
  (seen) => assert.deepEqual(seen, ['a queued', 'b done']),
);

inPage(
  'numbers and hidden characters are made readable',
  async () => {
    const { age, bytes, milliseconds, oneLine, visible } = await import('/console/text.js');
    return [
      milliseconds(0.0123),
      milliseconds(4.256),
      milliseconds(1234),
      milliseconds(61000),
      age(3 * 3600e3 + 65e3),
      bytes(1536),
      bytes(12),
      visible('a\u0000b\u007f\u0085\u200b\r\nc\td'),
      oneLine(' a\n\n b '.repeat(3)),
      oneLine('x'.repeat(300)).length,
    ];
  },
  (seen) => {
    assert.deepEqual(seen, [
      '12 µs',
      '4.26 ms',
      '1.23 s',
      '1 m 01 s',
      '3 h 01 m',
      '1.50 KiB',
      '12 B',
      'a^@b^?‹U+0085›‹U+200B›\nc\td',
      'a b a b a b',
      201,
    ]);
  },
);

inPage(
  'references, unions with null and recursion find their fields',
  async () => {
    const { kindOf, numberFault, resolve, stringFault } = await import('/console/schema.js');
    const root = { $defs: { 'a/b': { type: 'integer' }, loop: { $ref: '#/$defs/loop' } } };
    const kind = (schema) => kindOf(resolve(schema, root).schema, 1);
    return [
      kind({ $ref: '#/$defs/a~1b' }),
      kind({ $ref: '#/$defs/loop' }),
      kind({ $ref: '#/$defs/none' }),
      kind({ $ref: '#/%' }),
      kind({ anyOf: [{ type: 'string' }, { type: 'null' }] }),
      kind({ type: ['number', 'null'] }),
      kind({ anyOf: [{ type: 'string' }, { type: 'integer' }] }),
      kind(true),
      kind({ enum: [1, 'a'] }),
      kind({ type: 'object' }),
      numberFault('1e400', {}, 'number'),
      numberFault('0x10', {}, 'integer'),
      numberFault('0.3', { multipleOf: 0.1 }, 'number'),
      stringFault('ab', { pattern: '^[a-z' }),
      stringFault('😀', { maxLength: 1 }),
    ];
  },
  (seen) => {
    assert.deepEqual(seen, [
      'integer',
      'json',
      'json',
      'json',
      'string',
      'number',
      'json',
      'json',
      'choice',
      'json',
      'the number is too large',
      'must be a whole number',
      null,
      null,
      null,
    ]);
  },
);

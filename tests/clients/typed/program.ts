// A program in TypeScript against the description of the HTTP API: openapi-typescript makes schema.d.ts of it, tsc checks this, node runs it.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

declare const process: { env: Record<string, string | undefined> };

// A call can be answered as events too: of these the program wants none.
type Media = 'application/json' | 'application/problem+json';
const client = createClient<paths, Media>({ baseUrl: process.env.BRIG_URL! });
function check(what: string, holds: boolean): void {
  if (!holds) throw new Error(what);
}

const listed = await client.GET('/v1/tools', {});
const names: string[] = listed.data!.tools.map((tool) => tool.name);
check('greet is listed', names.includes('greet'));

// Arguments are whatever the tool takes.
const called = await client.POST('/v1/tools/{name}/call', {
  params: { path: { name: 'greet' } },
  body: { arguments: { who: 'typed' }, call_id: 'typed-1' },
});
const result: components['schemas']['Result'] = called.data!;
const outcome: components['schemas']['Outcome'] = result.report.outcome;
check('the call succeeds', result.ok && outcome === 'ok' && result.output === 'hello typed');
check('its time is one', !Number.isNaN(Date.parse(result.started_at!)));

const nested = await client.POST('/v1/tools/{name}/call', {
  params: { path: { name: 'add' } },
  body: { arguments: { a: 2, b: 3 } },
});
check('numbers are taken', nested.data!.output === 5);

// What is no call is a problem, and typed as one.
const refused = await client.POST('/v1/tools/{name}/call', {
  params: { path: { name: 'zebra' } },
  body: { arguments: {} },
});
const problem: components['schemas']['Problem'] = refused.error!;
check('an unknown tool is a problem', refused.response.status === 404 && problem.type.endsWith(':unknown-tool'));

const submitted = await client.POST('/v1/jobs', { body: { tool: 'greet', arguments: { who: 'later' } } });
const job = await client.GET('/v1/jobs/{id}', {
  params: { path: { id: submitted.data!.id }, query: { wait: '10' } },
});
check('a job has its result', job.data!.status === 'done' && job.data!.result!.output === 'hello later');

const calls = await client.GET('/v1/calls', { params: { query: { ended: 100 } } });
const ended: components['schemas']['EndedCall'][] = calls.data!.ended!;
check('what ended is kept', ended.some((call) => call.call_id === 'typed-1' && call.outcome === 'ok'));

const status = await client.GET('/v1/status', {});
check('the status is typed', status.data!.concurrency > 0 && !status.data!.draining);
const machine = await client.GET('/v1/capabilities', {});
check('so is the machine', machine.data!.layers.some((layer) => layer.name === 'seccomp' && layer.present));

// @ts-expect-error: which tool?
const unnamed = await client.POST('/v1/jobs', { body: { arguments: {} } });
check('the server says so, too', unnamed.response.status === 422);

console.log('typed');

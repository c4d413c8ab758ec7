// The ways a call can end: a few words for people, and the kind that gives it its mark and colour.
const OUTCOMES = {
  ok: ['ok', 'ok'],
  tool_error: ['error', 'fail'],
  exit: ['exit', 'fail'],
  signal: ['signal', 'fail'],
  internal: ['internal', 'fail'],
  timeout: ['time limit', 'limit'],
  memory_limit: ['memory limit', 'limit'],
  output_limit: ['output limit', 'limit'],
  process_limit: ['process limit', 'limit'],
  denied: ['denied', 'denied'],
  cancelled: ['cancelled', 'void'],
  invalid_arguments: ['bad arguments', 'void'],
  unknown_tool: ['unknown tool', 'void'],
  overloaded: ['overloaded', 'void'],
};

// `call` as in call_store.js.
export function stateOf(call) {
  if (call.state === 'queued') return { label: 'waiting', kind: 'queued' };
  if (call.state === 'running') return { label: 'running', kind: 'running' };
  if (call.state === 'unknown') return { label: 'not seen', kind: 'void' };
  const [label, kind] = OUTCOMES[call.outcome] ?? [String(call.outcome), 'fail'];
  return { label, kind };
}

export const isFailure = (call) =>
  call.state === 'done' && call.outcome !== 'ok' && call.outcome !== 'cancelled';
export const isLimit = (call) => call.state === 'done' && OUTCOMES[call.outcome]?.[1] === 'limit';
// It was refused, or its time in the queue was all it had: how long that took says nothing of
// tools.
export const neverRan = (call) =>
  ['invalid_arguments', 'unknown_tool', 'overloaded'].includes(call.outcome) || call.steps?.run_ms === 0;
export const isLive = (call) => call.state === 'queued' || call.state === 'running';

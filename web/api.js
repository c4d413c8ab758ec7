// Requests to the server, with the token if there is one.
import { readEvents } from './sse.js';

const KEY = 'brig.token';
let token = '';
let askForToken = () => {};
try {
  token = sessionStorage.getItem(KEY) ?? '';
} catch {
  // storage may be forbidden: then the token lasts as long as the page
}

export const hasToken = () => token !== '';
export function setToken(value) {
  token = value;
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // as above
  }
}
// `ask(refused)` is called on a 401; `refused`: a token was sent.
export function onUnauthorized(ask) {
  askForToken = ask;
}

// What the server answered instead of what was asked for: an RFC 9457 problem document.
export class Problem extends Error {
  constructor(status, document, retryAfter) {
    super(document.detail || document.title || `the server answered ${status}`);
    this.status = status;
    this.document = document;
    this.retryAfter = retryAfter;
  }
  get name() {
    return String(this.document.type ?? '')
      .replace('urn:brig:problem:', '')
      .replace('about:blank', '');
  }
}

async function request(method, path, { body, accept = 'application/json', signal } = {}) {
  const sent = token;
  const headers = { Accept: accept };
  if (sent) headers.Authorization = `Bearer ${sent}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const response = await fetch(path, {
    method,
    headers,
    body,
    signal,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  });
  if (response.ok) return response;
  if (response.status === 401 && sent === token) askForToken(sent !== '');
  throw new Problem(response.status, await problemDocument(response), response.headers.get('Retry-After'));
}

async function problemDocument(response) {
  try {
    const document = await response.json();
    if (document !== null && typeof document === 'object') return document;
  } catch {
    // not JSON: the status must do
  }
  return { title: response.statusText || `status ${response.status}` };
}

export async function getJson(path) {
  return (await request('GET', path)).json();
}

// Opens the stream, calls onOpen, then onEvent for each event; returns when the server ends it.
export async function watchEvents({ onOpen, onEvent, signal }) {
  const response = await request('GET', '/events', { accept: 'text/event-stream', signal });
  onOpen();
  await readEvents(response.body, onEvent);
}

// `argumentsText` is JSON, sent as it is written: numbers keep all their digits.
export async function callTool(name, argumentsText, callId, onEvent) {
  const body = `{"arguments":${argumentsText},"call_id":${JSON.stringify(callId)}}`;
  const path = `/v1/tools/${encodeURIComponent(name)}/call`;
  const response = await request('POST', path, { body, accept: 'text/event-stream' });
  if (!(response.headers.get('Content-Type') ?? '').startsWith('text/event-stream')) {
    onEvent('result', await response.json());
    return;
  }
  await readEvents(response.body, onEvent);
}

// Two callers may use the same id: `caller` says whose call is meant; empty: one's own.
export const cancelCall = (callId, caller) =>
  request(
    'DELETE',
    `/v1/calls/${encodeURIComponent(callId)}${caller ? `?caller=${encodeURIComponent(caller)}` : ''}`,
  );

// crypto.randomUUID needs a secure context; a console over plain HTTP in a local network has none.
export function newCallId() {
  const random = crypto.getRandomValues(new Uint8Array(8));
  return `console-${Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

// What one call reached, or tried to reach, through brig's proxy.
import { el } from './dom.js';
import { bytes, count, milliseconds, oneLine } from './text.js';

const MOST = 50;
const KINDS = { allowed: 'ok', denied: 'denied', failed: 'fail' };
const COLUMNS = ['Host', 'Verdict', 'Sent', 'Received', 'Time'];

// `list` is of the server, and the tool chose what is in it. Null if there was no connection.
export function connectionsTable(list, total) {
  if (!Array.isArray(list) || list.length === 0) return null;
  const more = (Number.isFinite(total) ? Math.max(total, list.length) : list.length) - Math.min(list.length, MOST);
  return el(
    'details',
    { class: 'connections', open: true },
    el('summary', {}, `Connections: ${count(Number.isFinite(total) ? total : list.length)}`),
    el(
      'table',
      {},
      el('thead', {}, el('tr', {}, ...COLUMNS.map((name) => el('th', { scope: 'col' }, name)))),
      el('tbody', {}, ...list.slice(0, MOST).map((each) => row(each ?? {}))),
    ),
    more > 0 ? el('p', { class: 'part' }, `and ${count(more)} more`) : null,
  );
}

function row({ host, port, verdict, rule, reason, address, sent_bytes, received_bytes, duration_ms }) {
  const place = `${oneLine(host ?? '', 300)}${port > 0 ? `:${Number(port)}` : ''}`;
  const why = reason || (rule ? `by ${rule}` : '');
  return el(
    'tr',
    { 'data-kind': KINDS[verdict] ?? 'fail' },
    el('td', {}, place, address ? el('span', { class: 'part' }, oneLine(address, 60)) : null),
    el('td', {}, oneLine(verdict ?? '', 20), why ? el('span', { class: 'part' }, oneLine(why, 300)) : null),
    el('td', {}, bytes(sent_bytes)),
    el('td', {}, bytes(received_bytes)),
    el('td', {}, milliseconds(duration_ms)),
  );
}

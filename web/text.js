// What tools wrote, made harmless to read; and numbers, made easy to read.

// Control characters, and those that are invisible or turn the direction of what follows (a file
// named "exe.txt" that isn't). Newline and tab stay; so do the joiners that Persian and emoji need.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

function picture(character) {
  const code = character.codePointAt(0);
  if (code < 0x20 || code === 0x7f) return `^${String.fromCodePoint(code ^ 0x40)}`; // ^[ for escape, as cat -v has it
  return `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`;
}

// Every hidden character in sight.
export function visible(text) {
  return String(text).replaceAll('\r\n', '\n').replace(HIDDEN, picture);
}

// The same in one line, cut after `most` characters.
export function oneLine(text, most = 200) {
  const cut = String(text).slice(0, most + 1);
  const line = visible(cut).replace(/\s+/g, ' ').trim();
  return cut.length > most ? `${line.slice(0, most)}…` : line;
}

const whole = new Intl.NumberFormat('en');
export const count = (number) => (Number.isFinite(number) ? whole.format(number) : '–');

const digits = (value) =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

export function milliseconds(value) {
  if (!Number.isFinite(value)) return '–';
  if (value < 0.001) return '0 ms';
  if (value < 1) return `${(value * 1000).toFixed(0)} µs`;
  if (value < 1000) return `${digits(value)} ms`;
  if (value < 60000) return `${digits(value / 1000)} s`;
  return age(value);
}

// Of what is still running: tenths, that it does not flicker.
export const seconds = (ms) => (ms < 60000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : age(ms));

// How long something has been: whole units, as it will be another in a moment.
export function age(value) {
  const seconds = Math.max(0, Math.floor(value / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${String(seconds % 60).padStart(2, '0')} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, '0')} m`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function bytes(value) {
  if (!Number.isFinite(value)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return unit === 0 ? `${value} B` : `${digits(value)} ${units[unit]}`;
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
export const timeOfDay = (epochMs) => clock.format(epochMs);
const calendar = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
// With the day, unless it is today.
export function timeOf(epochMs) {
  const day = calendar.format(epochMs);
  return day === calendar.format(Date.now()) ? timeOfDay(epochMs) : `${day}, ${timeOfDay(epochMs)}`;
}

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

// Bytes that are not UTF-8, as text: what can't be read becomes U+FFFD.
export function fromBase64(text) {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
  } catch {
    return '\ufffd';
  }
}

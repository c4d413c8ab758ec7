// Server-sent events from a response's body. EventSource can't send a token, so this does its
// parsing.

const LONGEST_LINE = 64 * 1024 * 1024; // a result with its output; more is a server gone wrong

// Calls onEvent(kind, data) for every event whose data is JSON; returns when the body ends.
export async function readEvents(body, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pieces = []; // of a line that has not ended: joined once, however many chunks it takes
  let length = 0;
  let kind = 'message';
  let data = [];

  const line = (text) => {
    if (text === '') {
      if (data.length > 0) deliver(kind, data.join('\n'), onEvent);
      kind = 'message';
      data = [];
    } else if (text.startsWith('data:')) {
      data.push(text.slice(text[5] === ' ' ? 6 : 5));
    } else if (text.startsWith('event:')) {
      kind = text.slice(6).trim();
    } // id, retry and comments mean nothing here
  };

  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    let start = 0;
    for (;;) {
      const end = value.indexOf('\n', start);
      if (end < 0) break;
      pieces.push(value.slice(start, end));
      const text = pieces.length === 1 ? pieces[0] : pieces.join('');
      pieces = [];
      length = 0;
      line(text.endsWith('\r') ? text.slice(0, -1) : text);
      start = end + 1;
    }
    if (start < value.length) {
      pieces.push(value.slice(start));
      length += value.length - start;
      if (length > LONGEST_LINE) {
        await reader.cancel();
        throw new Error('an event is longer than the console can read');
      }
    }
  }
}

function deliver(kind, text, onEvent) {
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    return; // not ours
  }
  if (data !== null && typeof data === 'object') onEvent(kind, data);
}

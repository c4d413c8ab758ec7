// What a tool answered: text as text, JSON as JSON, the four kinds of image that browsers decode
// safely as images.
import { el } from './dom.js';
import { bytes, visible } from './text.js';

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const MOST_IMAGE = 8 * 1024 * 1024; // characters of base64
const MOST_IMAGES = 8;
const MOST_DISPLAYS = 16;
const MOST_FILES = 32;
const MOST_TEXT = 128 * 1024;

function textBlock(text) {
  const rest = text.length - MOST_TEXT;
  const shown = rest > 0 ? text.slice(0, MOST_TEXT) : text;
  return [
    el('pre', { class: 'answer', tabindex: '0', 'aria-label': 'Answer' }, visible(shown)),
    rest > 0 ? el('p', { class: 'note' }, `and ${bytes(rest)} more`) : null,
  ];
}

function imageBlock(block) {
  const type = block.mimeType ?? block.mime_type;
  if (
    !IMAGES.has(type) ||
    typeof block.data !== 'string' ||
    block.data.length > MOST_IMAGE ||
    !/^[A-Za-z0-9+/]+={0,2}$/.test(block.data)
  ) {
    return [el('p', { class: 'note' }, `an image that can't be shown (${visible(type ?? 'no type')})`)];
  }
  const image = el('img', { class: 'picture', alt: 'An image that the tool made' });
  image.addEventListener('error', () =>
    image.replaceWith(el('p', { class: 'note' }, "an image that can't be decoded")),
  );
  image.src = `data:${type};base64,${block.data}`;
  return [image];
}

const isBlock = (value) => value !== null && typeof value === 'object' && typeof value.type === 'string';

function blocksOf(output) {
  const blocks = Array.isArray(output)
    ? output
    : Array.isArray(output?.content)
      ? output.content
      : isBlock(output)
        ? [output]
        : null;
  const known = (block) => isBlock(block) && ['text', 'image'].includes(block.type);
  return blocks && blocks.length > 0 && blocks.every(isBlock) && blocks.some(known) ? blocks : null;
}

function blockNodes(blocks) {
  let images = 0;
  return blocks.slice(0, 100).flatMap((block) => {
    if (block.type === 'image' && ++images <= MOST_IMAGES) return imageBlock(block);
    if (block.type === 'text' && typeof block.text === 'string') return textBlock(block.text);
    return textBlock(JSON.stringify(block, null, 2));
  });
}

// Of what was displayed: an image, or a text. Never HTML.
function displayNodes(display) {
  const data = display?.data ?? {};
  for (const type of IMAGES) if (type in data) return imageBlock({ mime_type: type, data: data[type] });
  for (const type of ['text/plain', 'text/markdown', 'text/latex', 'application/json'])
    if (type in data)
      return textBlock(typeof data[type] === 'string' ? data[type] : JSON.stringify(data[type], null, 2));
  return [el('p', { class: 'note' }, `displayed: ${visible(Object.keys(data).join(', '))}`)];
}

function fileNote(file) {
  const size = Number.isSafeInteger(file?.size) ? `, ${bytes(file.size)}` : '';
  const why = typeof file?.left_out === 'string' ? `: ${visible(file.left_out)}` : '';
  return el('p', { class: 'note' }, `${visible(String(file?.path ?? ''))}${size}${why}`);
}

const listOf = (value) => (Array.isArray(value) ? value : []);

// The answer of run_command and run_python: {stdout, stderr, value | exit_code, displays?, images?,
// files?, …}.
const isBuiltin = (output) =>
  output !== null &&
  typeof output === 'object' &&
  typeof output.stdout === 'string' &&
  typeof output.stderr === 'string';

function builtinNodes(output, printed) {
  // Code and signal are among the call's facts.
  const { images, displays, files, files_left_out: left, exit_code: code, signal, ...rest } = output;
  for (const stream of ['stdout', 'stderr'])
    if (isPrinted(rest[stream], printed, stream)) delete rest[stream];
  const keys = Object.keys(rest);
  const value = keys.length === 1 && keys[0] === 'value' ? rest.value : rest;
  const shown = listOf(displays).slice(0, MOST_DISPLAYS).flatMap(displayNodes);
  const pictures = listOf(images)
    .slice(0, MOST_IMAGES)
    .flatMap((image) => [...imageBlock(image ?? {}), el('p', { class: 'note' }, visible(image?.path ?? ''))]);
  const notes = [
    ...listOf(files).slice(0, MOST_FILES).map(fileNote),
    ...listOf(left)
      .slice(0, MOST_FILES)
      .map((each) => el('p', { class: 'note' }, visible(`${each?.count} more files: ${each?.why}`))),
  ];
  const answer = keys.length === 0 || value === null ? [] : resultNodes(value, printed);
  return [...shown, ...answer, ...pictures, ...notes];
}

// What the output shows already is not shown twice.
const isPrinted = (text, printed, stream) =>
  printed.dropped === 0 && printed.textOf(stream).trimEnd() === text.trimEnd();

// `printed`: the call's OutputBuffer. Nothing if all of it has been printed.
export function resultNodes(output, printed) {
  if (typeof output === 'string')
    return output !== '' && isPrinted(output, printed, 'stdout') ? [] : textBlock(output).filter(Boolean);
  if (isBuiltin(output)) return builtinNodes(output, printed).filter(Boolean);
  const blocks = blocksOf(output);
  return (blocks ? blockNodes(blocks) : textBlock(JSON.stringify(output, null, 2) ?? 'nothing')).filter(
    Boolean,
  );
}

// What a tool answered: text as text, JSON as JSON, the four kinds of image that browsers decode safely as images.
import { el } from './dom.js';
import { bytes, visible } from './text.js';

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const MOST_IMAGE = 8 * 1024 * 1024; // characters of base64
const MOST_IMAGES = 8;
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
    return [el('p', { class: 'note' }, `an image that can't be shown (${visible(type ?? 'of no type')})`)];
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

// The answer of run_command and run_python: {stdout, stderr, images?, value | exit_code}.
const isBuiltin = (output) =>
  output !== null &&
  typeof output === 'object' &&
  typeof output.stdout === 'string' &&
  typeof output.stderr === 'string';

function builtinNodes(output, printed) {
  const { images, exit_code: code, ...rest } = output; // the code is among the call's facts
  for (const stream of ['stdout', 'stderr'])
    if (isPrinted(rest[stream], printed, stream)) delete rest[stream];
  const keys = Object.keys(rest);
  const value = keys.length === 1 && keys[0] === 'value' ? rest.value : rest;
  const pictures = Array.isArray(images)
    ? images
        .slice(0, MOST_IMAGES)
        .flatMap((image) => [
          ...imageBlock(image ?? {}),
          el('p', { class: 'note' }, visible(image?.path ?? '')),
        ])
    : [];
  return [...(keys.length === 0 || value === null ? [] : resultNodes(value, printed)), ...pictures];
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

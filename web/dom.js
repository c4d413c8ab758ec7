// Elements from JavaScript. Text only ever becomes text: nothing here, or anywhere in the console,
// parses HTML.
import { oneLine } from './text.js';

// el('p', {class: 'note', id: 'x', onclick: f}, 'text', node). A property that is null, undefined
// or false is left out.
export function el(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class') element.className = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Writes only what differs: an unchanged text costs no layout.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setHidden(element, hidden) {
  if (element.hidden !== hidden) element.hidden = hidden;
}

export function setData(element, name, value) {
  if (element.dataset[name] !== value) element.dataset[name] = value;
}

export const byId = (id) => document.getElementById(id);

let announced = 0;
// Announces a text to screen readers. Use it for what a person waits for, never for what merely
// happens.
export function announce(text) {
  const region = byId('announce');
  region.textContent = oneLine(text);
  const mine = ++announced;
  setTimeout(() => {
    if (mine === announced) region.textContent = '';
  }, 8000);
}

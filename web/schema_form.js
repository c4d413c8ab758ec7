// The arguments of a call: as a form made from the tool's schema, or as JSON.
import { el, setHidden, setText } from './dom.js';
import { resolve } from './schema.js';
import { ObjectField } from './schema_field.js';
import { oneLine, plural } from './text.js';

const pretty = (text) => (/\d{16}/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2)); // long numbers keep their digits

export class SchemaForm {
  constructor(schema) {
    const resolved = resolve(schema ?? {}, schema ?? {}).schema;
    this.fields = new ObjectField({
      name: '',
      schema: resolved,
      root: schema,
      required: true,
      depth: 0,
      pointer: '',
      kind: 'object',
    });
    this.text = el('textarea', {
      class: 'code raw',
      rows: '8',
      spellcheck: 'false',
      autocomplete: 'off',
      'aria-label': 'Arguments as JSON',
    });
    this.isRaw = this.fields.fields.length === 0 && resolved.additionalProperties !== false;
    const none = this.fields.fields.length === 0 && !this.isRaw;
    this.modes = ['Form', 'JSON'].map((label, index) =>
      el(
        'button',
        { type: 'button', class: 'chip', 'aria-pressed': 'false', onclick: () => this.#switch(index === 1) },
        label,
      ),
    );
    this.summary = el('p', { class: 'fault summary', role: 'alert' });
    this.element = el(
      'div',
      { class: 'schema-form' },
      el(
        'div',
        { class: 'chips modes', role: 'group', 'aria-label': 'How to write the arguments' },
        ...this.modes,
      ),
      none ? el('p', { class: 'note' }, 'This tool takes no arguments.') : null,
      this.fields.element,
      this.text,
      this.summary,
    );
    this.text.value = '{}';
    this.text.addEventListener('input', () => setText(this.summary, ''));
    this.#show();
  }

  // JSON text, or null after showing what is wrong.
  read() {
    setText(this.summary, '');
    if (this.isRaw) return this.#readRaw();
    const faults = [];
    const text = this.fields.read(faults);
    if (faults.length === 0) return text;
    setText(this.summary, `${plural(faults.length, 'argument')} to correct.`);
    faults[0].focus();
    return null;
  }

  // What the server found: [[pointer, text]].
  showFaults(faults) {
    if (this.isRaw) return;
    const fields = faults.map(([pointer, text]) => {
      const field = this.fields.find(pointer);
      if (field && field !== this.fields) field.fault(text);
      return field;
    });
    fields.find(Boolean)?.focus();
  }

  #readRaw() {
    const text = this.text.value.trim() || '{}';
    try {
      const value = JSON.parse(text);
      if (value !== null && typeof value === 'object' && !Array.isArray(value)) return text;
      setText(this.summary, 'The arguments must be a JSON object.');
    } catch (error) {
      setText(this.summary, `Not JSON: ${error.message}`);
    }
    this.text.focus();
    return null;
  }

  #switch(toRaw) {
    if (toRaw === this.isRaw) return;
    setText(this.summary, '');
    if (toRaw) {
      this.text.value = pretty(this.fields.read([]));
    } else {
      const text = this.#readRaw();
      if (text === null) return;
      const value = JSON.parse(text);
      const names = new Set(this.fields.fields.map((field) => field.name));
      const unknown = Object.keys(value).find((name) => !names.has(name));
      if (unknown !== undefined) {
        setText(this.summary, `The form has no field for “${oneLine(unknown, 60)}”.`);
        return;
      }
      this.fields.fill(value);
    }
    this.isRaw = toRaw;
    this.#show();
  }

  #show() {
    this.modes[0].setAttribute('aria-pressed', String(!this.isRaw));
    this.modes[1].setAttribute('aria-pressed', String(this.isRaw));
    setHidden(this.fields.element, this.isRaw);
    setHidden(this.text, !this.isRaw);
  }
}

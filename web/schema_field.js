// Form fields made from a schema. Each has
//   element, pointer
//   read(faults): its value as JSON text, undefined if it is left out; what is wrong is shown and added to `faults`
//   fill(value):  shows a value;  focus()
import { el, setHidden, setText } from './dom.js';
import { escapePointer, hint, kindOf, numberFault, numberText, resolve, stringFault } from './schema.js';
import { count, oneLine, visible } from './text.js';

let ids = 0;

// `context`: {name, schema, root, required, isItem, depth, pointer}
export function makeField(context) {
  const { schema, nullable } = resolve(context.schema, context.root);
  const kind = kindOf(schema, context.depth);
  const made = { ...context, schema, nullable, kind };
  const field = new {
    choice: ChoiceField,
    string: TextField,
    integer: NumberField,
    number: NumberField,
    boolean: BooleanField,
    array: ArrayField,
    object: ObjectField,
    json: JsonField,
  }[kind](made);
  if ('default' in schema) field.fill(schema.default);
  return field;
}

class Field {
  constructor(context) {
    Object.assign(this, context);
    this.id = `field-${++ids}`;
    this.faultText = el('p', { class: 'fault', id: `${this.id}-fault`, hidden: true });
  }

  // Around a control: name, what is expected, description, fault.
  wrap(control) {
    this.control = control;
    control.id = this.id;
    control.setAttribute('aria-describedby', `${this.id}-hint ${this.id}-about ${this.id}-fault`);
    if (this.required) control.setAttribute('aria-required', 'true');
    control.addEventListener('input', () => this.fault(null));
    this.element = el(
      'div',
      { class: `field field-${this.kind}` },
      el(
        'div',
        { class: 'field-head' },
        this.label(el('label', { for: this.id })),
        el('span', { class: 'hint', id: `${this.id}-hint` }, this.hintText()),
      ),
      control,
      this.about(),
      this.faultText,
    );
  }

  label(element) {
    element.append(el('span', { class: 'name' }, oneLine(this.name, 80)));
    return element;
  }

  hintText() {
    return [this.required && !this.isItem ? 'required' : '', oneLine(hint(this.schema, this.kind), 120)]
      .filter(Boolean)
      .join(' · ');
  }

  about() {
    const text = typeof this.schema.description === 'string' ? this.schema.description : '';
    return el(
      'p',
      { class: 'about', id: `${this.id}-about`, hidden: text === '' },
      visible(text.slice(0, 2000)),
    );
  }

  example() {
    const example = Array.isArray(this.schema.examples) ? this.schema.examples[0] : undefined;
    if (example === undefined) return undefined;
    return oneLine(typeof example === 'string' ? example : JSON.stringify(example), 80);
  }

  fault(text, faults) {
    setText(this.faultText, text ?? '');
    setHidden(this.faultText, !text);
    if (this.control) {
      if (text) this.control.setAttribute('aria-invalid', 'true');
      else this.control.removeAttribute('aria-invalid');
    }
    if (text) faults?.push(this);
    return undefined;
  }

  // Left empty: what that means.
  empty(faults) {
    if (!this.required) return undefined;
    if (this.nullable) return 'null';
    return this.fault('this field is required', faults);
  }

  find(pointer) {
    return pointer === this.pointer ? this : null;
  }

  focus() {
    this.control.focus();
  }
}

class TextField extends Field {
  constructor(context) {
    super(context);
    const { schema } = this;
    const line = schema.maxLength <= 200 || schema.pattern !== undefined || schema.format !== undefined;
    this.wrap(
      line
        ? el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', placeholder: this.example() })
        : el('textarea', {
            rows: '2',
            autocomplete: 'off',
            spellcheck: 'false',
            placeholder: this.example(),
          }),
    );
  }
  read(faults) {
    this.fault(null);
    const text = this.control.value;
    if (text === '' && !(this.required && this.schema.minLength === 0)) return this.empty(faults);
    const fault = stringFault(text, this.schema);
    return fault ? this.fault(fault, faults) : JSON.stringify(text);
  }
  fill(value) {
    this.control.value = typeof value === 'string' ? value : '';
  }
}

class NumberField extends Field {
  constructor(context) {
    super(context);
    this.wrap(
      el('input', {
        type: 'text',
        inputmode: this.kind === 'integer' && !(this.schema.minimum < 0) ? 'numeric' : 'text',
        autocomplete: 'off',
        placeholder: this.example(),
      }),
    );
  }
  read(faults) {
    this.fault(null);
    const text = this.control.value.trim();
    if (text === '') return this.empty(faults);
    const fault = numberFault(text, this.schema, this.kind);
    return fault ? this.fault(fault, faults) : numberText(text, this.kind);
  }
  fill(value) {
    this.control.value = typeof value === 'number' ? String(value) : '';
  }
}

class ChoiceField extends Field {
  constructor(context) {
    super(context);
    this.values = ('const' in this.schema ? [this.schema.const] : this.schema.enum).map((value) =>
      JSON.stringify(value),
    );
    const options = this.values.map((text, index) => {
      const value = JSON.parse(text);
      return el(
        'option',
        { value: String(index) },
        oneLine(typeof value === 'string' && value !== '' ? value : text, 120),
      );
    });
    const blank = !(this.required && this.values.length === 1);
    this.wrap(
      el(
        'select',
        {},
        blank ? el('option', { value: '' }, this.required ? 'choose…' : '—') : null,
        ...options,
      ),
    );
  }
  read(faults) {
    this.fault(null);
    return this.control.value === '' ? this.empty(faults) : this.values[Number(this.control.value)];
  }
  fill(value) {
    const index = this.values.indexOf(JSON.stringify(value));
    this.control.value = index < 0 ? '' : String(index);
  }
}

class BooleanField extends Field {
  constructor(context) {
    super(context);
    const blank = !this.required && typeof this.schema.default !== 'boolean';
    this.wrap(
      el(
        'select',
        {},
        blank || this.required ? el('option', { value: '' }, this.required ? 'choose…' : '—') : null,
        el('option', { value: 'true' }, 'yes'),
        el('option', { value: 'false' }, 'no'),
      ),
    );
  }
  read(faults) {
    this.fault(null);
    return this.control.value === '' ? this.empty(faults) : this.control.value;
  }
  fill(value) {
    this.control.value = typeof value === 'boolean' ? String(value) : '';
  }
}

class JsonField extends Field {
  constructor(context) {
    super(context);
    this.wrap(
      el('textarea', {
        rows: '3',
        class: 'code',
        autocomplete: 'off',
        spellcheck: 'false',
        placeholder: this.example() ?? { array: '[]', object: '{}' }[this.schema.type],
      }),
    );
  }
  read(faults) {
    this.fault(null);
    const text = this.control.value.trim();
    if (text === '') return this.empty(faults);
    try {
      JSON.parse(text);
    } catch (error) {
      return this.fault(`not JSON: ${error.message}`, faults);
    }
    return text;
  }
  fill(value) {
    this.control.value = value === undefined ? '' : JSON.stringify(value, null, 2);
  }
}

// Fields in a frame: what arrays and objects share.
class GroupField extends Field {
  frame(...content) {
    this.element = el(
      'fieldset',
      { class: `group group-${this.kind}`, 'aria-describedby': `${this.id}-about ${this.id}-fault` },
      el('legend', {}, this.label(el('span', {})), el('span', { class: 'hint' }, this.hintText())),
      this.about(),
      ...content,
      this.faultText,
    );
  }
  find(pointer) {
    if (pointer === this.pointer) return this;
    if (!pointer.startsWith(`${this.pointer}/`)) return null;
    for (const field of this.fields) {
      const found = field.find(pointer);
      if (found) return found;
    }
    return this;
  }
}

class ArrayField extends GroupField {
  constructor(context) {
    super(context);
    this.fields = [];
    this.items = el('ol', { class: 'items' });
    this.more = el(
      'button',
      { type: 'button', class: 'quiet', onclick: () => this.#add().focus() },
      'Add an item',
    );
    this.control = null;
    this.frame(this.items, this.more);
    for (let i = 0; i < Math.min(this.schema.minItems ?? 0, 20); ++i) if (this.required) this.#add();
  }
  read(faults) {
    this.fault(null);
    if (this.fields.length === 0 && !this.required) return undefined;
    if (this.fields.length < (this.schema.minItems ?? 0))
      return this.fault(`at least ${this.schema.minItems} items`, faults);
    const texts = this.fields.map((field) => field.read(faults) ?? 'null');
    if (this.schema.uniqueItems && new Set(texts).size < texts.length)
      return this.fault('all items must be different', faults);
    return `[${texts.join(',')}]`;
  }
  fill(value) {
    this.fields = [];
    this.items.replaceChildren();
    if (Array.isArray(value)) for (const item of value.slice(0, 200)) this.#add().fill(item);
  }
  focus() {
    (this.fields[0] ?? { focus: () => this.more.focus() }).focus();
  }
  #add() {
    const field = makeField({
      name: '',
      schema: this.schema.items,
      root: this.root,
      required: true,
      isItem: true,
      depth: this.depth + 1,
      pointer: '',
    });
    const remove = el('button', { type: 'button', class: 'quiet remove' }, 'Remove');
    const item = el('li', {}, field.element, remove);
    remove.addEventListener('click', () => {
      this.fields.splice(this.fields.indexOf(field), 1);
      item.remove();
      this.#number();
      this.more.focus();
    });
    this.fields.push(field);
    this.items.append(item);
    this.#number();
    return field;
  }
  #number() {
    this.fields.forEach((field, index) => {
      field.pointer = `${this.pointer}/${index}`;
      const name = field.element.querySelector('.name');
      setText(name, `${oneLine(this.name, 60)} ${index + 1}`);
    });
    this.more.disabled = this.fields.length >= Math.min(this.schema.maxItems ?? 200, 200);
  }
}

export class ObjectField extends GroupField {
  constructor(context) {
    super(context);
    const required = new Set(Array.isArray(this.schema.required) ? this.schema.required : []);
    // Objects keep the order in which they were written, but what is required comes first.
    const names = Object.keys(this.schema.properties ?? {}).sort((a, b) => required.has(b) - required.has(a));
    this.fields = names.slice(0, 200).map((name) =>
      makeField({
        name,
        schema: this.schema.properties[name],
        root: this.root,
        required: required.has(name),
        depth: this.depth + 1,
        pointer: `${this.pointer}/${escapePointer(name)}`,
      }),
    );
    if (this.depth > 0) this.frame(...this.fields.map((field) => field.element));
    else
      this.element = el(
        'div',
        { class: 'fields' },
        ...this.fields.map((field) => field.element),
        this.faultText,
      );
  }
  hintText() {
    return [
      this.required && !this.isItem ? 'required' : '',
      `${count(Object.keys(this.schema.properties ?? {}).length)} fields`,
    ]
      .filter(Boolean)
      .join(' · ');
  }
  read(faults) {
    this.fault(null);
    const mine = [];
    const parts = this.fields
      .map((field) => [field.name, field.read(mine)])
      .filter(([, text]) => text !== undefined);
    // An optional object that was not touched is left out, whatever it would require.
    if (parts.length === 0 && !this.required && this.depth > 0) {
      for (const field of mine) field.fault(null);
      return undefined;
    }
    faults?.push(...mine);
    return `{${parts.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
  }
  fill(value) {
    for (const field of this.fields)
      field.fill(
        value !== null && typeof value === 'object' && Object.hasOwn(value, field.name)
          ? value[field.name]
          : undefined,
      );
  }
  focus() {
    this.fields[0]?.focus();
  }
}

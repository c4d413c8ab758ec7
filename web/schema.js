// What the forms need of JSON Schema. The server checks everything; this only saves a round trip
// for the usual mistakes.

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

function pointed(root, pointer) {
  let at = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isObject(at) && !Array.isArray(at)) return undefined;
    if (!Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

// Follows references, and sees "T or null" as a T that may be left out.
export function resolve(schema, root) {
  let nullable = false;
  for (let steps = 0; steps < 16 && isObject(schema); ++steps) {
    if (typeof schema.$ref === 'string' && schema.$ref.startsWith('#')) {
      const { $ref, ...beside } = schema;
      let target;
      try {
        target = pointed(root, $ref.slice(1));
      } catch {
        // a wrong escape: any JSON, then
      }
      schema = isObject(target) ? { ...target, ...beside } : {};
      continue;
    }
    const either = schema.anyOf ?? schema.oneOf;
    if (schema.type === undefined && Array.isArray(either)) {
      const others = either.filter((one) => one?.type !== 'null');
      if (others.length === 1 && others.length < either.length && isObject(others[0])) {
        const { anyOf, oneOf, ...beside } = schema;
        schema = { ...others[0], ...beside };
        nullable = true;
        continue;
      }
    }
    if (Array.isArray(schema.type)) {
      const types = schema.type.filter((type) => type !== 'null');
      nullable ||= types.length < schema.type.length;
      if (types.length === 1) schema = { ...schema, type: types[0] };
    }
    break;
  }
  return { schema: isObject(schema) ? schema : {}, nullable };
}

// Which field shows it. `json` for all that has no better one.
export function kindOf(schema, depth) {
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && schema.enum.length <= 200) return 'choice';
  if ('const' in schema) return 'choice';
  switch (schema.type) {
    case 'string':
    case 'integer':
    case 'number':
    case 'boolean':
      return schema.type;
    case 'array':
      return depth < 4 && isObject(schema.items) ? 'array' : 'json';
    case 'object':
      return depth < 4 && isObject(schema.properties) && Object.keys(schema.properties).length > 0
        ? 'object'
        : 'json';
    default:
      return 'json';
  }
}

// What to expect, in a few words.
export function hint(schema, kind) {
  const range = (low, high, unit) => {
    if (low !== undefined && high !== undefined) return `${low} to ${high}${unit}`;
    if (low !== undefined) return `at least ${low}${unit}`;
    return high !== undefined ? `at most ${high}${unit}` : '';
  };
  const join = (...parts) => parts.filter(Boolean).join(', ');
  switch (kind) {
    case 'string':
      return join(
        schema.format ?? 'text',
        range(
          schema.minLength,
          schema.maxLength,
          schema.maxLength === undefined && schema.minLength === 1 ? ' character' : ' characters',
        ),
      );
    case 'integer':
    case 'number':
      return join(
        kind,
        range(schema.minimum, schema.maximum, ''),
        schema.exclusiveMinimum !== undefined && `above ${schema.exclusiveMinimum}`,
        schema.exclusiveMaximum !== undefined && `below ${schema.exclusiveMaximum}`,
        schema.multipleOf !== undefined && `a multiple of ${schema.multipleOf}`,
      );
    case 'array':
      return join('list', range(schema.minItems, schema.maxItems, ' items'));
    case 'json':
      return join('JSON', typeof schema.type === 'string' && schema.type);
    case 'boolean':
      return 'yes or no';
    default:
      return '';
  }
}

function matches(pattern, text) {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true; // of another dialect: the server knows
  }
}

// What is wrong with a string; null if nothing is.
export function stringFault(text, schema) {
  const length = [...text].length;
  if (length < (schema.minLength ?? 0))
    return `at least ${schema.minLength} ${schema.minLength === 1 ? 'character' : 'characters'}`;
  if (length > (schema.maxLength ?? Infinity))
    return `at most ${schema.maxLength} characters; this has ${length}`;
  if (typeof schema.pattern === 'string' && !matches(schema.pattern, text))
    return `must match ${schema.pattern}`;
  return null;
}

export function numberFault(text, schema, kind) {
  if (!NUMBER.test(text)) return kind === 'integer' ? 'must be a whole number' : 'must be a number';
  const value = Number(text);
  if (!Number.isFinite(value)) return 'the number is too large';
  if (kind === 'integer' && !Number.isInteger(value)) return 'must be a whole number';
  if (value < schema.minimum) return `at least ${schema.minimum}`;
  if (value > schema.maximum) return `at most ${schema.maximum}`;
  if (value <= schema.exclusiveMinimum) return `above ${schema.exclusiveMinimum}`;
  if (value >= schema.exclusiveMaximum) return `below ${schema.exclusiveMaximum}`;
  if (schema.multipleOf > 0) {
    const times = value / schema.multipleOf;
    if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
      return `a multiple of ${schema.multipleOf}`;
  }
  return null;
}

// The digits as they were typed, in JSON's spelling: 2^53 + 1 stays what it is.
export const numberText = (text, kind) =>
  kind === 'integer' && /^[+-]?\d+$/.test(text)
    ? BigInt(text.replace(/^\+/, '')).toString()
    : String(Number(text));

export const escapePointer = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1');

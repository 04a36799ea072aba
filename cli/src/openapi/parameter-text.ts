import type { Place } from './contract-files.ts';
import type { SchemaCheck } from './schema-check.ts';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns what a text stands for, by the types that the schema allows. Returns the text if it stands for none of them. */
export const textValue = (schemas: SchemaCheck, schema: Place, text: string): unknown => {
  const types = schemas.types(schema);
  if ((types.has('number') || types.has('integer')) && NUMBER.test(text)) return Number(text);
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (types.has('null') && !types.has('string') && (text === '' || text === 'null')) return null;
  return text;
};

/** Returns what several texts stand for: an array if the schema allows one, and otherwise the only text's value. */
export const textsValue = (schemas: SchemaCheck, schema: Place, texts: readonly string[]): unknown => {
  if (!schemas.types(schema).has('array')) {
    const [first = ''] = texts;
    return texts.length > 1 ? texts : textValue(schemas, schema, first);
  }
  const items = schemas.items(schema);
  return texts.map((text) => (items === undefined ? text : textValue(schemas, items, text)));
};

/** Returns the names and values of a query or a form. @param text latin1, as received */
export const formPairs = (text: string): readonly (readonly [name: string, value: string])[] =>
  text
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      return at === -1
        ? [decodeText(pair, true), '']
        : [decodeText(pair.slice(0, at), true), decodeText(pair.slice(at + 1), true)];
    });

/** Decodes percent-encoding and UTF-8. @param text latin1, as received. It stays as it is if it is neither */
export const decodeText = (text: string, hasPlus = false): string => {
  const escaped = (hasPlus ? text.replaceAll('+', ' ') : text).replace(
    /[\x80-\xff]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16)}`,
  );
  try {
    return decodeURIComponent(escaped);
  } catch {
    return text;
  }
};

import { isIP } from 'node:net';
import { REDACTED, redactShapes } from './credential-shapes.ts';
import { HiddenValues, type TextEncoding } from './hidden-values.ts';
import { parseJsonTree, type JsonNode } from './json-tree.ts';
import { redactText } from './redact-text.ts';
import { ADDRESS_HEADERS, formatJsonPath, type FieldMatcher, type JsonCursor } from './redaction-rules.ts';

/** A field whose value was removed. The kind `shape` is a credential that was recognized by its format. */
export interface HiddenField {
  readonly kind: 'header' | 'field' | 'json' | 'shape';
  /** For example `authorization`, `token`, `$.card.number` or `JWT`. */
  readonly name: string;
}

/** The maximum nesting depth, such as JSON in base64 in JSON in a form field. Deeper nesting is not decoded. */
const NESTING_MAX = 4;
const FIELDS_MAX = 200;
/** The part of a credential that stays, such as `Bearer …`, so that its kind is visible. */
const SCHEME = /^(basic|bearer|digest|negotiate|apikey|token|aws4-hmac-sha256)\s/i;
const BASE64 = /^[A-Za-z0-9+/_-]{16,}={0,2}$/;

/** Takes a string such as `192.0.2.1:4711` or `[2001:db8::1]:4711`, with or without a port. */
const addressWithoutPort = (text: string): string => {
  if (isIP(text) !== 0) return text;
  const host = text.replace(/:\d+$/, '');
  return host.startsWith('[') ? host.slice(1, -1) : host;
};

const LOOPBACK = /^(?:127\.|::1$)/;

/** Matches `%3D`, `%253D` and so on. */
const ESCAPED_EQUALS = /%(?:25)*3d/i;
/** Matches the text between the separators of a URL and of the text around it. */
const URL_WORD = /[^\s"'`<>()[\]{}\\&=?#;,]+/g;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Replaces the values of fields in the parts of one captured request, and remembers these values. */
export class Redactor {
  readonly values = new HiddenValues();
  readonly #matcher: FieldMatcher;
  readonly #fields = new Map<string, HiddenField>();

  constructor(matcher: FieldMatcher) {
    this.#matcher = matcher;
  }

  get fields(): readonly HiddenField[] {
    return [...this.#fields.values()];
  }

  /** For `queryValue`, see `FieldMatcher`. */
  hidesField(name: string, queryValue?: string): boolean {
    return this.#matcher.field(name, queryValue) || this.#matcher.header(name);
  }

  /** Records a removed value and returns its replacement. */
  hide(kind: HiddenField['kind'], name: string, value: string, encoding: TextEncoding): string {
    this.#note(kind, name);
    const scheme = SCHEME.exec(value)?.[0] ?? '';
    const secret = value.slice(scheme.length);
    this.values.add(secret, encoding);
    for (const part of secret.split(/[\s,;:=&"']+/)) this.values.addPart(part, encoding);
    if (/^basic\s/i.test(scheme) || BASE64.test(secret)) this.#addDecoded(secret);
    return `${scheme}${REDACTED}`;
  }

  #addDecoded(base64: string): void {
    const decoded = Buffer.from(base64, 'base64').toString('latin1');
    this.values.addPart(decoded, 'latin1');
    for (const part of decoded.split(':')) this.values.addPart(part, 'latin1');
  }

  header(name: string, value: string): string {
    if (!this.#matcher.header(name)) return this.value(value, 'latin1');
    const lower = name.toLowerCase();
    return ADDRESS_HEADERS.includes(lower)
      ? this.#hideAddresses(lower, value)
      : this.hide('header', lower, value, 'latin1');
  }

  /**
   * Records a caller's address, so that `values.sweep` removes it wherever it appears. Loopback addresses reveal nothing about a
   * caller.
   */
  address(address: string): void {
    if (isIP(address) !== 0 && !LOOPBACK.test(address)) this.values.add(address, 'latin1');
  }

  /** Works like `hide`, except that the words and host names next to the addresses (`unknown`, `host=`) may appear elsewhere. */
  #hideAddresses(name: string, value: string): string {
    this.#note('header', name);
    for (const part of value.split(/[\s,;="]+/)) this.address(addressWithoutPort(part));
    return REDACTED;
  }

  #note(kind: HiddenField['kind'], name: string): void {
    if (this.#fields.size < FIELDS_MAX) this.#fields.set(`${kind} ${name}`, { kind, name });
  }

  /** Redacts `name=value&…`, escaped as in URLs and forms. */
  pairs(text: string, encoding: TextEncoding): string {
    return text
      .split('&')
      .map((pair) => {
        const equals = pair.indexOf('=');
        if (equals === -1) return this.text(pair, encoding);
        const name = decodeForm(pair.slice(0, equals));
        const value = pair.slice(equals + 1);
        if (value !== '' && this.#hides(name, value)) {
          this.hide('field', name, decodeForm(value), 'utf8');
          return `${pair.slice(0, equals + 1)}${this.hide('field', name, value, encoding)}`;
        }
        const decoded = decodeForm(value);
        const nested = this.value(decoded, 'utf8');
        return nested === decoded ? pair : `${pair.slice(0, equals + 1)}${encodeForm(nested)}`;
      })
      .join('&');
  }

  /**
   * Returns whether the rules hide a parameter with this name. The last name in brackets also counts, such as `token` in
   * `user[token]`.
   */
  #hides(name: string, queryValue: string): boolean {
    const inner = name.endsWith(']') ? name.slice(name.lastIndexOf('[') + 1, -1) : '';
    return this.hidesField(name, queryValue) || (inner !== '' && this.hidesField(inner, queryValue));
  }

  /** Redacts a value of unknown type, which may be JSON, base64 of JSON, or text. */
  value(text: string, encoding: TextEncoding, nesting = 0): string {
    if (nesting < NESTING_MAX) {
      const document = this.#jsonIfAny(text, nesting);
      if (document !== undefined) return document;
      if (BASE64.test(text)) {
        const decoded = Buffer.from(text, 'base64').toString('utf8');
        const nested = this.#jsonIfAny(decoded, nesting);
        const form = /[-_]/.test(text) ? 'base64url' : 'base64';
        if (nested !== undefined && nested !== decoded) return Buffer.from(nested, 'utf8').toString(form);
      }
    }
    return this.text(text, encoding, nesting);
  }

  #jsonIfAny(text: string, nesting: number): string | undefined {
    return /^[\s\uFEFF]*[[{"]/.test(text) ? this.json(text, false, nesting + 1) : undefined;
  }

  /** Redacts only credentials that are recognized by their format. */
  shapes(text: string, encoding: TextEncoding = 'latin1'): string {
    return redactShapes(text, (name, match) => void this.hide('shape', name, match, encoding));
  }

  text(text: string, encoding: TextEncoding, nesting = 0): string {
    const shaped = this.#escapedPairs(this.shapes(text, encoding), nesting);
    return redactText(shaped, {
      hides: (name, queryValue) => this.hidesField(name, queryValue),
      hide: (name, value) => this.hide('field', name, value, encoding),
    });
  }

  /** Redacts `next=%2Fcb%3Ftoken%3Dx`, even if it is escaped repeatedly, as in a query string within a URL within another URL. */
  #escapedPairs(text: string, nesting: number): string {
    if (nesting >= NESTING_MAX || !ESCAPED_EQUALS.test(text)) return text;
    return text.replaceAll(URL_WORD, (word) => {
      if (!ESCAPED_EQUALS.test(word)) return word;
      const decoded = decodeForm(word);
      const shown = this.text(decoded, 'utf8', nesting + 1);
      return shown === decoded ? word : encodeForm(shown);
    });
  }

  /** Redacts JSON. Returns `undefined` if the text is not JSON. Text that is not removed keeps its bytes. */
  json(text: string, isPrefix: boolean, nesting = 0): string | undefined {
    const documents = parseJsonTree(text, isPrefix);
    if (documents === undefined) return undefined;
    const edits: Edit[] = [];
    const at: Visit = { text, edits, nesting, keys: [], cursor: this.#matcher.document };
    for (const node of documents) {
      if (at.cursor.isHidden) this.#hideNode(node, [], at);
      else this.#visit(node, at);
    }
    return applyEdits(text, edits);
  }

  #visit(node: JsonNode, at: Visit): void {
    switch (node.kind) {
      case 'object':
        this.#visitObject(node, at);
        break;
      case 'array':
        this.#visitArray(node, at);
        break;
      case 'string': {
        const nested = this.value(node.text, 'utf8', at.nesting);
        if (nested !== node.text) at.edits.push({ start: node.start, end: node.end, text: JSON.stringify(nested) });
        break;
      }
      case 'cut':
        at.edits.push({ start: node.start, end: node.end, text: '' });
        break;
      case 'scalar': {
        const source = at.text.slice(node.start, node.end);
        const shaped = this.shapes(source, 'utf8');
        if (shaped !== source) at.edits.push({ start: node.start, end: node.end, text: JSON.stringify(shaped) });
      }
    }
  }

  /** Treats `["password", "…"]` as a field with that name, as in `Object.entries` and lists of headers. */
  #visitArray({ items }: Extract<JsonNode, { kind: 'array' }>, at: Visit): void {
    const [named, value] = items;
    const isNamedSecret = items.length === 2 && named?.kind === 'string' && this.#isNamedSecret(named.text, at);
    for (const [index, item] of items.entries()) {
      if (isNamedSecret && item === value && item.kind !== 'cut') this.#hideNode(item, [...at.keys, named.text], at);
      else this.#visitChild(item, index, at);
    }
  }

  #isNamedSecret(name: string, at: Visit): boolean {
    return this.hidesField(name) || at.cursor.enter(name).isHidden;
  }

  /** Treats `{"name": "Authorization", "value": "…"}` as a field with that name, as in HAR and many other formats. */
  #visitObject({ members }: Extract<JsonNode, { kind: 'object' }>, at: Visit): void {
    const named = members.find(({ key, value }) => NAME_KEYS.has(key.toLowerCase()) && value.kind === 'string')?.value;
    const isNamedSecret = named?.kind === 'string' && this.#isNamedSecret(named.text, at);
    for (const { key, keyStart, keyEnd, value } of members) {
      const shaped = this.shapes(key, 'utf8');
      if (shaped !== key) at.edits.push({ start: keyStart, end: keyEnd, text: JSON.stringify(shaped) });
      if (isNamedSecret && VALUE_KEYS.has(key.toLowerCase())) this.#hideNode(value, [...at.keys, key], at);
      else this.#visitChild(value, key, at);
    }
  }

  #visitChild(node: JsonNode, key: string | number, at: Visit): void {
    const cursor = at.cursor.enter(key);
    const keys = [...at.keys, key];
    if (cursor.isHidden) this.#hideNode(node, keys, at);
    else this.#visit(node, { ...at, keys, cursor });
  }

  #hideNode(node: JsonNode, keys: readonly (string | number)[], { text, edits }: Visit): void {
    // Hiding an empty value would have no effect.
    const source = text.slice(node.start, node.end);
    if (source === 'null' || source === '""') return;
    const shown = this.hide('json', formatJsonPath(keys), node.kind === 'string' ? node.text : source, 'utf8');
    for (const leaf of jsonStrings(node)) this.values.addPart(leaf, 'utf8');
    edits.push({ start: node.start, end: node.end, text: JSON.stringify(shown) });
  }
}

interface Visit {
  readonly text: string;
  readonly edits: Edit[];
  readonly nesting: number;
  readonly keys: readonly (string | number)[];
  readonly cursor: JsonCursor;
}

const NAME_KEYS: ReadonlySet<string> = new Set(['name', 'key', 'header', 'field', 'id']);
const VALUE_KEYS: ReadonlySet<string> = new Set(['value', 'values', 'content', 'val']);

const jsonStrings = (node: JsonNode): readonly string[] => {
  if (node.kind === 'string') return [node.text];
  if (node.kind === 'array') return node.items.flatMap(jsonStrings);
  return node.kind === 'object' ? node.members.flatMap(({ value }) => jsonStrings(value)) : [];
};

const applyEdits = (text: string, edits: readonly Edit[]): string => {
  let result = '';
  let done = 0;
  for (const { start, end, text: replacement } of [...edits].sort((a, b) => a.start - b.start)) {
    result += text.slice(done, start) + replacement;
    done = end;
  }
  return result + text.slice(done);
};

/** Works like `encodeURIComponent`, except that a lone surrogate does not throw. */
const encodeForm = (text: string): string => encodeURIComponent(text.toWellFormed());

/** Decodes text from a URL or form. If the bytes are not UTF-8, each of them becomes one character (latin1). */
export const decodeForm = (text: string): string => {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
};

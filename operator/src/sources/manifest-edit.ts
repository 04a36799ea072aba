import {
  DEFAULT_NAMESPACE,
  GROUP_VERSION,
  objectRef,
  SourceError,
  type DesiredObject,
  type ObjectRef,
} from '@standin/contract';
import { writeYaml, yamlDocuments } from '@standin/crds';
import { Document, isMap, isScalar, isSeq, Pair, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import type { EditedText } from './locating-source.ts';

/**
 * The options of `parseManifest`, without `customTags`. With version 1.1, text like `on` is quoted when it is written. Without
 * `customTags`, so is text like `2026-01-01`, which other parsers read as a date.
 */
const PARSE_OPTIONS = { version: '1.1', prettyErrors: false, logLevel: 'error' } as const;

/**
 * Returns the parts of the author's style that can be inferred from the text. Other parts of the style are preserved node by node.
 */
const writeOptions = (text: string) => ({
  indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(text),
  indent: /^[^\s#-][^\n]*:[ \t]*\r?\n( {4})\S/m.test(text) ? 4 : 2,
  flowCollectionPadding: /\{ /.test(text),
});

interface Found {
  /** Index of the object's document in `documents`. */
  readonly index: number;
  readonly documents: readonly Document.Parsed[];
  /** The object's mapping, which is the whole document or an item of a List. */
  readonly node: YAMLMap;
  readonly list: { readonly items: unknown[] } | undefined;
}

const isObject = (node: unknown, ref: ObjectRef): node is YAMLMap =>
  isMap(node) &&
  node.get('apiVersion') === GROUP_VERSION &&
  node.get('kind') === ref.kind &&
  node.getIn(['metadata', 'name']) === ref.name &&
  (node.getIn(['metadata', 'namespace']) ?? DEFAULT_NAMESPACE) === ref.namespace;

const find = (text: string, ref: ObjectRef): Found | undefined => {
  const stream = yamlDocuments(text, PARSE_OPTIONS);
  if (stream.tooDeep !== undefined)
    throw new SourceError('Invalid', 'the file is nested too deeply to be changed here: edit it in a text editor');
  const documents = stream.documents.map(({ document }) => document);
  for (const [index, { document, fault }] of stream.documents.entries()) {
    if (fault !== undefined) continue;
    const root: unknown = document.contents;
    if (isObject(root, ref)) return { index, documents, node: root, list: undefined };
    const items: unknown = isMap(root) && root.get('kind') === 'List' ? root.get('items', true) : undefined;
    if (!isSeq(items)) continue;
    const node = items.items.find((item) => isObject(item, ref));
    if (node !== undefined) return { index, documents, node, list: items };
  }
  return undefined;
};

/** Returns the source text of each document. Together, they form the whole text. */
const slices = (text: string, documents: readonly Document.Parsed[]): string[] => {
  const starts = documents.map((document, index) => (index === 0 ? 0 : document.range[0]));
  return starts.map((start, index) => text.slice(start, starts[index + 1]));
};

/** Sets `node` to `value` and changes only the parts that differ, so that other comments and styles stay. */
const updateNode = (document: Document, node: unknown, value: unknown): Node => {
  if (isMap(node) && isPlainObject(value)) {
    // Looks up pairs by name in a map, because the mapping's own methods search all of its keys each time.
    const pairs = new Map(node.items.map((pair) => [keyName(pair.key), pair]));
    node.items = [...pairs].flatMap(([name, pair]) => (Object.hasOwn(value, name) ? [pair] : []));
    for (const [name, item] of Object.entries(value)) {
      const pair = pairs.get(name);
      if (pair === undefined) node.items.push(new Pair(name, updateNode(document, undefined, item)));
      else pair.value = updateNode(document, pair.value, item);
    }
    return node;
  }
  if (isSeq(node) && Array.isArray(value)) {
    const before = itemsFor(node, value);
    node.items = value.map((item: unknown, index) => updateNode(document, before[index], item));
    return node;
  }
  if (isScalar(node) && !isPlainObject(value) && !Array.isArray(value)) {
    if (node.value !== value) {
      // Without this deletion, the old source would be written again.
      delete node.source;
      if (typeof node.value !== typeof value) delete node.type;
      node.value = value;
    }
    return node;
  }
  return document.createNode(value);
};

/**
 * Returns the item of a list that each value changes. If all items have different names, an item keeps its comments and style when
 * it is moved. A value with another name changes the item at its index, unless a value has the name of that item.
 */
const itemsFor = (node: YAMLSeq, values: readonly unknown[]): readonly unknown[] => {
  const old = new Map(node.items.map((item) => [isMap(item) ? item.get('name') : undefined, item]));
  const names = new Set(values.map((value) => (isPlainObject(value) ? value['name'] : undefined)));
  const areNamed = [old, names].every((named) => !named.has(undefined));
  if (!areNamed || old.size < node.items.length || names.size < values.length) return node.items;
  return values.map((value, index) => {
    const atIndex = node.items[index];
    const isRenamed = isMap(atIndex) && !names.has(atIndex.get('name'));
    return old.get((value as Record<string, unknown>)['name']) ?? (isRenamed ? atIndex : undefined);
  });
};

const keyName = (key: unknown): string => String(isScalar(key) ? key.value : key);

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const setField = (document: Document, map: YAMLMap, field: string, value: unknown): void => {
  if (value === undefined) map.delete(field);
  else map.set(field, updateNode(document, map.get(field, true), value));
};

/** Returns undefined for an empty mapping, so that it is omitted. */
const unlessEmpty = <T extends object>(map: T | undefined): T | undefined =>
  map === undefined || Object.keys(map).length === 0 ? undefined : map;

const isJson = (text: string): boolean => /^\s*[{[]/.test(text);

/**
 * Returns the text of a new file for an object. It contains a namespace only if necessary, so that a repository's tools can set
 * the namespace.
 */
export const newManifest = ({ apiVersion, kind, metadata, spec }: DesiredObject, json: boolean): string => {
  const { name, namespace, labels = {}, annotations = {} } = metadata;
  const whole = {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === DEFAULT_NAMESPACE ? {} : { namespace }),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec,
  };
  if (json) return `${JSON.stringify(whole, null, 2)}\n`;
  return writeYaml(new Document(whole, PARSE_OPTIONS));
};

/**
 * Returns the file's text with the desired spec, labels and annotations, or undefined if the file does not contain the object.
 */
export const editManifest = (text: string, desired: DesiredObject): string | undefined => {
  const { metadata, spec } = desired;
  const found = find(text, objectRef(desired));
  const document = found?.documents[found.index];
  if (found === undefined || document === undefined) return undefined;
  setField(document, found.node, 'spec', spec);
  const meta = found.node.get('metadata', true);
  if (isMap(meta)) {
    setField(document, meta, 'labels', unlessEmpty(metadata.labels));
    setField(document, meta, 'annotations', unlessEmpty(metadata.annotations));
  }
  return replaceDocument(text, found, document);
};

/** The parts of a file around the text of an object that is a YAML document of its own. */
interface Surroundings {
  readonly before: string;
  readonly text: string;
  readonly after: string;
}

const CRLF = /\r\n/g;

/** Gives the text, which has LF, the line breaks of the text that it replaces. */
const withSameLineBreaks = (before: string, text: string): string =>
  before.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text;

const documentSurroundings = (file: string, ref: ObjectRef): Surroundings | undefined => {
  const found = isJson(file) ? undefined : find(file, ref);
  if (found === undefined || found.list !== undefined) return undefined;
  const parts = slices(file, found.documents);
  const part = parts[found.index] ?? '';
  const start = /^---[ \t]*\r?\n/.exec(part)?.[0] ?? '';
  const [before, after] = [parts.slice(0, found.index), parts.slice(found.index + 1)].map((others) => others.join(''));
  return { before: `${before}${start}`, text: part.slice(start.length), after: after ?? '' };
};

/**
 * Returns the text of one object in a file, with its comments, or undefined if the object has no text of its own: the file is JSON
 * or does not contain the object, or the object is an item of a List.
 */
export const manifestText = (file: string, ref: ObjectRef): string | undefined =>
  documentSurroundings(file, ref)?.text.replace(CRLF, '\n');

/** Returns the file's text with another text of the object, or undefined if the object's text is not `text.before`. */
export const replaceManifestText = (file: string, ref: ObjectRef, text: EditedText): string | undefined => {
  const found = documentSurroundings(file, ref);
  if (found === undefined || found.text.replace(CRLF, '\n') !== text.before) return undefined;
  const after = found.after === '' || text.after.endsWith('\n') ? text.after : `${text.after}\n`;
  return `${found.before}${withSameLineBreaks(found.text, after)}${found.after}`;
};

/**
 * Returns the file's text without the object. The text is empty if the file contains nothing else, and undefined if the file does
 * not contain the object.
 */
export const removeFromManifest = (text: string, ref: ObjectRef): string | undefined => {
  const found = find(text, ref);
  const document = found?.documents[found.index];
  if (found === undefined || document === undefined) return undefined;
  if (found.list !== undefined && found.list.items.length > 1) {
    found.list.items.splice(found.list.items.indexOf(found.node), 1);
    return replaceDocument(text, found, document);
  }
  const others = slices(text, found.documents).filter((_, index) => index !== found.index);
  const isEmpty = found.documents.every(({ contents }, index) => index === found.index || contents === null);
  if (isEmpty) return '';
  // The `---` of the next document no longer separates anything.
  return found.index === 0 ? others.join('').replace(/^---[ \t]*\r?\n/, '') : others.join('');
};

const replaceDocument = (text: string, found: Found, document: Document.Parsed): string => {
  if (isJson(text) && found.documents.length === 1)
    return withSameLineBreaks(text, `${JSON.stringify(document.toJS(), null, 2)}\n`);
  const parts = slices(text, found.documents);
  parts[found.index] = withSameLineBreaks(parts[found.index] ?? '', writeYaml(document, writeOptions(text)));
  return parts.join('');
};

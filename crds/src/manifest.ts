import { errorMessage } from '@standin/contract';
import { isMap, isScalar, isSeq, type Document, type Node, type Tags, type YAMLMap } from 'yaml';
import { yamlDocuments, type YamlFault } from './yaml-documents.ts';

export interface ManifestDocument {
  /** Plain data that has not been validated. */
  readonly value: unknown;
  /** The line of the document's first key. Starts at 1. */
  readonly line: number;
  /** Returns the line of a field's value, or of its nearest existing parent. */
  readonly fieldLine: (path: readonly (string | number)[]) => number;
}

export interface ManifestProblem {
  readonly line: number;
  readonly message: string;
}

export interface Manifest {
  readonly documents: readonly ManifestDocument[];
  /** The problems with YAML that cannot be used. The affected documents are left out, and the others are kept. */
  readonly problems: readonly ManifestProblem[];
}

/**
 * The types of YAML 1.1 that kubectl does not support. kubectl otherwise reads YAML 1.1 (`on` is a boolean, `017` is 15), but
 * without base-60 numbers. test/integration/crds.test.ts compares this parser with kubectl.
 */
const UNKNOWN_TO_KUBECTL = new Set(['timestamp', 'binary', 'set', 'omap', 'pairs']);
const customTags = (tags: Tags): Tags =>
  tags.filter(
    (tag) =>
      typeof tag === 'string' || (!UNKNOWN_TO_KUBECTL.has(tag.tag.split(':').at(-1) ?? '') && tag.format !== 'TIME'),
  );

const YAML_OPTIONS = { version: '1.1', customTags, prettyErrors: false, logLevel: 'error' } as const;

/** The error for a file that is not text. */
export class ManifestEncodingError extends Error {
  override readonly name = 'ManifestEncodingError';
  /** The line of the first byte that cannot be read. Starts at 1. */
  readonly line: number;

  constructor(line: number) {
    super('is not UTF-8: save the file in this encoding');
    this.line = line;
  }
}

/** Returns the text of a file. Throws `ManifestEncodingError`, because text with replacement characters would be served. */
export const decodeManifest = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const readable = new TextEncoder().encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
    const first = bytes.findIndex((byte, index) => byte !== readable[index]);
    throw new ManifestEncodingError(bytes.subarray(0, first).filter((byte) => byte === LINE_FEED).length + 1);
  }
};
const LINE_FEED = 0x0a;

/**
 * Reads the documents in a YAML stream as kubectl does. Leaves out empty documents and returns each item in a `List` as a
 * separate document. Never throws.
 */
export const parseManifest = (text: string): Manifest => {
  const stream = yamlDocuments(text, YAML_OPTIONS);
  const { lineAt } = stream;
  const documents: ManifestDocument[] = [];
  const faults: YamlFault[] = [];
  for (const { document, fault } of stream.documents) {
    if (fault !== undefined) {
      faults.push(fault);
      continue;
    }
    try {
      for (const read of readDocument(document, lineAt)) documents.push(read);
    } catch (error) {
      // This error is due to an alias without an anchor.
      const offset = (document as Document).contents?.range?.[0] ?? 0;
      faults.push({ offset, message: errorMessage(error) });
    }
  }
  if (stream.tooDeep !== undefined) faults.push(stream.tooDeep);
  return { documents, problems: faults.map(({ offset, message }) => ({ line: lineAt(offset), message })) };
};

/** Splits `spec.json.headers[0].name` into `['spec', 'json', 'headers', 0, 'name']`. */
export const pathSteps = (path: string): (string | number)[] =>
  [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, field, index]) => field ?? Number(index));

const readDocument = (document: Document.Parsed, lineAt: (offset: number) => number): ManifestDocument[] => {
  // `yamlDocuments` has already counted the aliases.
  const value: unknown = document.toJS({ maxAliasCount: -1 });
  if (value === null || value === undefined) return [];
  const fieldLine = (path: readonly (string | number)[]): number => {
    let node: Node | null | undefined = document.contents;
    let line = lineAt(node?.range?.[0] ?? 0);
    for (const step of path) {
      node = childNode(node, step);
      if (node?.range) line = lineAt(node.range[0]);
    }
    return line;
  };
  const items = listItems(value);
  if (items === undefined) return [{ value, line: fieldLine([]), fieldLine }];
  return items.map((item, index) => ({
    value: item,
    line: fieldLine(['items', index]),
    fieldLine: (path) => fieldLine(['items', index, ...path]),
  }));
};

/**
 * The values of each mapping by key, built on the first lookup of a line in that mapping. Each problem in a document needs a
 * lookup.
 */
const members = new WeakMap<YAMLMap, ReadonlyMap<unknown, unknown>>();

const childNode = (node: Node | null | undefined, step: string | number): Node | undefined => {
  if (isSeq(node)) return node.get(step, true);
  if (!isMap(node)) return undefined;
  const known =
    members.get(node) ?? new Map(node.items.map(({ key, value }) => [isScalar(key) ? key.value : key, value]));
  members.set(node, known);
  return known.get(step) as Node | undefined;
};

/** Returns the items of the `List` that `kubectl get -o yaml` prints for several objects. */
const listItems = (value: unknown): readonly unknown[] | undefined => {
  const { apiVersion, kind, items } = value as { apiVersion?: unknown; kind?: unknown; items?: unknown };
  return apiVersion === 'v1' && kind === 'List' && Array.isArray(items) ? (items as unknown[]) : undefined;
};

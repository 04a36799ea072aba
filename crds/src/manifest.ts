import { isMap, isScalar, isSeq, type Document, type Node, type Tags, type YAMLMap } from 'yaml';
import { yamlDocuments, type YamlFault } from './yaml-documents.ts';

export interface ManifestDocument {
  /** Plain data; nothing about it has been checked. */
  readonly value: unknown;
  /** Line of the document's first key, from 1. */
  readonly line: number;
  /** Line of a field: of its value, or of the nearest parent that exists. */
  readonly lineOf: (path: readonly (string | number)[]) => number;
}

export interface ManifestProblem {
  readonly line: number;
  readonly message: string;
}

export interface Manifest {
  readonly documents: readonly ManifestDocument[];
  /** What is not YAML. Its document is left out, the others stand. */
  readonly problems: readonly ManifestProblem[];
}

/**
 * kubectl reads YAML 1.1 (`on` is a boolean, `017` is 15), but neither its dates nor its numbers to the base of 60. The
 * integration test compares the two.
 */
const UNKNOWN_TO_KUBECTL = new Set(['timestamp', 'binary', 'set', 'omap', 'pairs']);
const customTags = (tags: Tags): Tags =>
  tags.filter(
    (tag) =>
      typeof tag === 'string' || (!UNKNOWN_TO_KUBECTL.has(tag.tag.split(':').at(-1) ?? '') && tag.format !== 'TIME'),
  );

const YAML_OPTIONS = { version: '1.1', customTags, prettyErrors: false, logLevel: 'error' } as const;

/** Documents of a YAML stream, as kubectl reads it; empty ones are left out and the items of a `List` stand alone. Never throws. */
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
      // An alias that has no anchor.
      const offset = (document as Document).contents?.range?.[0] ?? 0;
      faults.push({ offset, message: error instanceof Error ? error.message : String(error) });
    }
  }
  if (stream.tooDeep !== undefined) faults.push(stream.tooDeep);
  return { documents, problems: faults.map(({ offset, message }) => ({ line: lineAt(offset), message })) };
};

const readDocument = (document: Document.Parsed, lineAt: (offset: number) => number): ManifestDocument[] => {
  // Its aliases are counted already.
  const value: unknown = document.toJS({ maxAliasCount: -1 });
  if (value === null || value === undefined) return [];
  const lineOf = (path: readonly (string | number)[]): number => {
    let node: Node | null | undefined = document.contents;
    let line = lineAt(node?.range?.[0] ?? 0);
    for (const step of path) {
      node = childOf(node, step);
      if (node?.range) line = lineAt(node.range[0]);
    }
    return line;
  };
  const items = itemsOf(value);
  if (items === undefined) return [{ value, line: lineOf([]), lineOf }];
  return items.map((item, index) => ({
    value: item,
    line: lineOf(['items', index]),
    lineOf: (path) => lineOf(['items', index, ...path]),
  }));
};

/** Values of a mapping by key, made when a line in it is first asked for: each problem of a document asks. */
const members = new WeakMap<YAMLMap, ReadonlyMap<unknown, unknown>>();

const childOf = (node: Node | null | undefined, step: string | number): Node | undefined => {
  if (isSeq(node)) return node.get(step, true);
  if (!isMap(node)) return undefined;
  const known =
    members.get(node) ?? new Map(node.items.map(({ key, value }) => [isScalar(key) ? key.value : key, value]));
  members.set(node, known);
  return known.get(step) as Node | undefined;
};

/** Items of what `kubectl get -o yaml` prints for several objects. */
const itemsOf = (value: unknown): readonly unknown[] | undefined => {
  const { apiVersion, kind, items } = value as { apiVersion?: unknown; kind?: unknown; items?: unknown };
  return apiVersion === 'v1' && kind === 'List' && Array.isArray(items) ? (items as unknown[]) : undefined;
};

import { isMap, isSeq, LineCounter, parseAllDocuments, type Document, type Node, type Tags } from 'yaml';

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

/** An alias bomb is refused at this many. */
const ALIASES_MAX = 100;

/** Documents of a YAML stream, as kubectl reads it; empty ones are left out and the items of a `List` stand alone. Never throws. */
export const parseManifest = (text: string): Manifest => {
  const lines = new LineCounter();
  const problems: ManifestProblem[] = [];
  const documents: ManifestDocument[] = [];
  for (const document of parseAllDocuments(text, { ...YAML_OPTIONS, lineCounter: lines })) {
    const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
    const fault = (document as Document).errors[0] ?? (document as Document).warnings[0];
    if (fault !== undefined) {
      problems.push({ line: lineAt(fault.pos[0]), message: fault.message });
      continue;
    }
    try {
      documents.push(...readDocument(document, lineAt));
    } catch (error) {
      // Too many aliases, or one that has no anchor.
      const start = (document as Document).contents?.range?.[0] ?? 0;
      problems.push({ line: lineAt(start), message: error instanceof Error ? error.message : String(error) });
    }
  }
  return { documents, problems };
};

const readDocument = (document: Document.Parsed, lineAt: (offset: number) => number): ManifestDocument[] => {
  const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
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

const childOf = (node: Node | null | undefined, step: string | number): Node | undefined => {
  if (!isMap(node) && !isSeq(node)) return undefined;
  return node.get(step, true);
};

/** Items of what `kubectl get -o yaml` prints for several objects. */
const itemsOf = (value: unknown): readonly unknown[] | undefined => {
  const { apiVersion, kind, items } = value as { apiVersion?: unknown; kind?: unknown; items?: unknown };
  return apiVersion === 'v1' && kind === 'List' && Array.isArray(items) ? (items as unknown[]) : undefined;
};

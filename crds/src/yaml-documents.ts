import {
  Composer,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  Lexer,
  LineCounter,
  Parser,
  type CST,
  type Document,
  type ParsedNode,
  type ParseOptions,
  type DocumentOptions,
  type ScalarTag,
  type SchemaOptions,
  type Tags,
} from 'yaml';

/** More levels than any Standin or Kubernetes kind has. Within this limit, code that reads a document may be recursive. */
const DEPTH_MAX = 100;
/** The parser's stack holds the open collections, with a document below and a scalar above them. */
const STACK_MAX = DEPTH_MAX + 2;
/** Maximum number of references to anchors in one document. */
const ALIASES_MAX = 1_000;
/** Maximum number of values in one document, including those that its aliases stand for. */
const EXPANDED_VALUES_MAX = 250_000;

export interface YamlFault {
  readonly offset: number;
  readonly message: string;
}

interface YamlDocument {
  readonly document: Document.Parsed;
  /** The reason why the document cannot be used. */
  readonly fault: YamlFault | undefined;
}

export interface YamlStream {
  readonly documents: readonly YamlDocument[];
  /**
   * The place where the stream is nested too deeply. `documents` leaves out the document that contains this place, and everything
   * after it.
   */
  readonly tooDeep: YamlFault | undefined;
  /** Starts at 1. */
  readonly lineAt: (offset: number) => number;
}

interface YamlOptions extends Omit<
  ParseOptions & DocumentOptions & SchemaOptions,
  'uniqueKeys' | 'lineCounter' | 'customTags'
> {
  readonly customTags?: (tags: Tags) => Tags;
}

/** Makes the types of YAML 1.1 need a digit in numbers, as other parsers do. Otherwise, `yaml` reads `.` and `E0` as NaN. */
const withDigit = (tag: Tags[number]): Tags[number] => {
  if (typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:float') return tag;
  const { test } = tag as ScalarTag;
  if (test?.test('.') !== true && test?.test('E0') !== true) return tag;
  return { ...tag, test: new RegExp(`^(?=[-+]?\\.?[0-9])${test.source.slice(1)}`) } as ScalarTag;
};

/**
 * Reads the documents in a YAML stream in linear time, even if the stream is hostile. On its own, `yaml` compares each key of a
 * mapping with all others, reads nested collections until the call stack overflows, and searches the document for each alias.
 */
export const yamlDocuments = (text: string, options: YamlOptions): YamlStream => {
  const lines = new LineCounter();
  const tokens = new ShallowTokens(text, lines.addNewLine);
  const customTags = (tags: Tags): Tags => (options.customTags?.(tags) ?? tags).map(withDigit);
  const composed = new Composer({ ...options, customTags, uniqueKeys: false }).compose(
    tokens,
  ) as Iterable<Document.Parsed>;
  const documents = Array.from(composed, (document) => ({ document, fault: documentFault(document) }));
  return { documents, tooDeep: tokens.tooDeep, lineAt: (offset) => Math.max(1, lines.linePos(offset).line) };
};

/** Yields a stream's tokens for the composer, up to the point where the nesting is too deep. */
class ShallowTokens implements Iterable<CST.Token> {
  tooDeep: YamlFault | undefined;
  readonly #text: string;
  readonly #onNewLine: (offset: number) => void;

  constructor(text: string, onNewLine: (offset: number) => void) {
    this.#text = text;
    this.#onNewLine = onNewLine;
  }

  *[Symbol.iterator](): Generator<CST.Token> {
    const parser = new Parser(this.#onNewLine);
    this.#onNewLine(0);
    for (const lexeme of new Lexer().lex(this.#text)) {
      yield* parser.next(lexeme);
      if (parser.stack.length <= STACK_MAX) continue;
      const message = `is nested more than ${DEPTH_MAX} levels deep; the rest of the file is not read`;
      this.tooDeep = { offset: parser.offset, message };
      return;
    }
    yield* parser.end();
  }
}

const documentFault = (document: Document.Parsed): YamlFault | undefined => {
  const [known] = [...document.errors, ...document.warnings];
  if (known !== undefined) return { offset: known.pos[0], message: known.message };
  const offset = document.contents?.range[0] ?? 0;
  const reading = new Reading();
  reading.count(document.contents);
  if (reading.repeated !== undefined) return { offset: reading.repeated, message: 'Map keys must be unique' };
  if (reading.aliases > ALIASES_MAX) return { offset, message: `has more than ${ALIASES_MAX} aliases` };
  const isBomb = reading.aliases > 0 && reading.values > EXPANDED_VALUES_MAX;
  return isBomb ? { offset, message: `its aliases expand to more than ${EXPANDED_VALUES_MAX} values` } : undefined;
};

/** Counts the values and aliases of a document, and finds repeated keys. Visits each node once, in order. */
class Reading {
  aliases = 0;
  /** The number of values, including those that aliases stand for. */
  values = 0;
  /** Offset of the first key that repeats an earlier key in the same mapping. */
  repeated: number | undefined;
  /** How many values the last anchor of each name stands for. */
  readonly #anchors = new Map<string, number>();

  count(node: unknown): void {
    const before = this.values;
    if (isPair(node)) {
      this.count(node.key);
      this.count(node.value);
      return;
    }
    this.values += 1;
    if (isAlias(node)) {
      this.aliases += 1;
      this.values += this.#anchors.get(node.source) ?? 0;
    } else if (isCollection(node)) {
      if (isMap(node)) this.#checkKeys(node.items.map(({ key }) => key));
      for (const item of node.items) this.count(item);
    }
    if ((isCollection(node) || isScalar(node)) && node.anchor !== undefined)
      this.#anchors.set(node.anchor, this.values - before);
  }

  #checkKeys(keys: readonly unknown[]): void {
    const seen = new Set<unknown>();
    for (const key of keys) {
      if (!isScalar(key)) continue;
      if (seen.has(key.value)) this.repeated ??= (key as ParsedNode).range[0];
      seen.add(key.value);
    }
  }
}

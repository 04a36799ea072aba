import type { HeaderPair } from '@standin/contract';
import { bodyAsBuffer, type LogEntry } from '@standin/exchange';
import { contentCodings, decodeContent } from '@standin/exchange/decode';
import { COMPARED_BYTES_MAX } from '@standin/exchange/diff';
import { decodeUtf8 } from '@standin/exchange/formats';
import { compareResponse, different, skipped, whyIncomplete, type Comparison } from './compare-response.ts';
import type { Ignored } from './ignored.ts';
import type { ManifestResponse } from './manifest-mocks.ts';
import { caseKey, reportedRequest, type ReportBuilder, type ReportedRequest } from './report.ts';
import { addToShape, compareShapes, emptyShape, type Shape } from './shape.ts';

type Mock = Extract<ManifestResponse, { readonly kind: 'Mock' }>;

/** Compares the types of the values in captured responses with those in mocks, for all requests to a response together. */
export class ShapeComparison {
  readonly #ignored: Ignored;
  readonly #cases = new Map<string, Case>();

  constructor(ignored: Ignored) {
    this.#ignored = ignored;
  }

  /** Adds a captured response, or what it is if it cannot be compared by its form. */
  add(entry: LogEntry, now: ManifestResponse, report: ReportBuilder): void {
    const incomplete = whyIncomplete(entry);
    if (now.kind !== 'Mock' || incomplete !== undefined) report.add(entry, compareResponse(entry, now, this.#ignored));
    else this.#case(entry).add(entry, now);
  }

  #case(entry: LogEntry): Case {
    const key = Object.values(caseKey(entry)).join('\0');
    const known = this.#cases.get(key) ?? new Case();
    this.#cases.set(key, known);
    return known;
  }

  /** Adds the results to the report. */
  finish(report: ReportBuilder): void {
    for (const one of this.#cases.values()) one.finish(report, this.#ignored);
  }
}

interface SameStatus {
  readonly captured: Content;
  readonly mock: Content;
  readonly first: ReportedRequest;
  newest: ShownResponse | undefined;
  count: number;
}

/** A response whose body is short enough to be shown. Entries are not kept, because their bodies can be large. */
type ShownResponse = Pick<LogEntry['response'], 'status' | 'headers' | 'body' | 'bodyEncoding'>;

/** The responses to the requests to one response of an endpoint. */
class Case {
  readonly #byStatus = new Map<number, SameStatus>();
  /** The requests for which the mock has another status. */
  readonly #others = new Map<
    string,
    { readonly first: ReportedRequest; readonly shown: ShownResponse | undefined; count: number }
  >();

  add(entry: LogEntry, { status, headers, body }: Mock): void {
    const { response } = entry;
    if (status !== response.status) {
      const change = `status ${response.status} → ${status}`;
      const other = this.#others.get(change) ?? {
        first: reportedRequest(entry),
        shown: shownResponse(response),
        count: 0,
      };
      other.count += 1;
      this.#others.set(change, other);
      return;
    }
    const known = this.#byStatus.get(status) ?? {
      captured: new Content(),
      mock: new Content(),
      first: reportedRequest(entry),
      newest: undefined,
      count: 0,
    };
    this.#byStatus.set(status, known);
    known.newest = shownResponse(response);
    known.count += 1;
    known.captured.add(response.headers, bodyAsBuffer(response));
    known.mock.add(headers, body);
  }

  /** A mock that never has a captured status is different. If it has some of them, the others are skipped. */
  finish(report: ReportBuilder, ignored: Ignored): void {
    for (const [change, { first, shown, count }] of this.#others)
      report.add(first, this.#byStatus.size === 0 ? different([change], mended(shown)) : skipped('status'), { count });
    for (const { captured, mock, first, newest, count } of this.#byStatus.values()) {
      const changes = captured.changesTo(mock, ignored);
      const result: Comparison = changes.length === 0 ? { kind: 'same' } : different(changes, mended(newest));
      report.add(first, result, { count });
    }
  }
}

/** What was seen in bodies and their types. */
class Content {
  readonly #json: Shape = emptyShape();
  readonly #kinds = new Set<'JSON' | 'other content' | 'no content'>();
  readonly #mediaTypes = new Set<string>();

  add(headers: readonly HeaderPair[], body: Buffer): void {
    const [, type = ''] = headers.find(([name]) => name.toLowerCase() === 'content-type') ?? [];
    const [mediaType = ''] = type.split(';', 1);
    if (body.length > 0) this.#mediaTypes.add(mediaType.trim().toLowerCase());
    const value = parseJson(headers, body);
    this.#kinds.add(body.length === 0 ? 'no content' : value === undefined ? 'other content' : 'JSON');
    if (value !== undefined) addToShape(this.#json, value.json);
  }

  /** Returns what the mock has, but none of the captured responses, and what it lacks. */
  changesTo(mock: Content, ignored: Ignored): readonly string[] {
    if (!isSubset(mock.#kinds, this.#kinds)) return [`body: ${textList(this.#kinds)} → ${textList(mock.#kinds)}`];
    const shapes = compareShapes(this.#json, mock.#json).filter(
      (change) => !ignored.path(change.split(': ', 1)[0] ?? ''),
    );
    const isSameType = ignored.header('content-type') || isSubset(mock.#mediaTypes, this.#mediaTypes);
    return isSameType
      ? shapes
      : [`header content-type: ${textList(this.#mediaTypes)} → ${textList(mock.#mediaTypes)}`, ...shapes];
  }
}

const isSubset = (some: ReadonlySet<string>, all: ReadonlySet<string>): boolean =>
  [...some].every((one) => all.has(one));

const textList = (values: ReadonlySet<string>): string => [...values].sort().join(' or ') || 'absent';

const parseJson = (headers: readonly HeaderPair[], body: Buffer): { readonly json: unknown } | undefined => {
  const content = decodeContent(contentCodings(headers), body, COMPARED_BYTES_MAX);
  const text = content.kind === 'decoded' ? decodeUtf8(content.bytes) : undefined;
  try {
    return text === undefined ? undefined : { json: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
};

const MENDED_CHARS_MAX = 4_000;

/** With the whitespace of a readable document. */
const SHOWN_BODY_CHARS_MAX = 4 * MENDED_CHARS_MAX;

const shownResponse = ({ status, headers, body, bodyEncoding }: LogEntry['response']): ShownResponse | undefined =>
  body.length > SHOWN_BODY_CHARS_MAX ? undefined : { status, headers, body, bodyEncoding };

/** Returns the fields of `spec.json` for a captured response, as YAML. Undefined if its body is long or not JSON. */
const mended = (response: ShownResponse | undefined): readonly string[] | undefined => {
  const parsed = response && parseJson(response.headers, bodyAsBuffer(response));
  const text = parsed === undefined ? '' : JSON.stringify(parsed.json);
  if (response === undefined || text === '' || text.length > MENDED_CHARS_MAX) return undefined;
  return [`status: ${response.status}`, `body: ${JSON.stringify(text)}`];
};

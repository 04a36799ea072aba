import type { LogEntry } from '@standin/exchange';
import type { Comparison, SkipReason } from './compare-response.ts';

/** A captured request that gets another response. */
export interface Difference {
  readonly id: string;
  /** Such as `POST /v1/orders?a=1`, in latin1. */
  readonly request: string;
  readonly receivedAt: string;
  readonly changes: readonly string[];
}

/** The names of what is tested: one response of an endpoint, or an operation of a contract. */
export type CaseKey =
  | {
      readonly namespace: string;
      readonly project: string;
      readonly endpoint: string;
      /** The name of the response, `spec.json` or `spec.forward`. */
      readonly response: string;
    }
  | {
      /** The name of the file. */
      readonly contract: string;
      /** Such as `GET /orders/{id}`. */
      readonly operation: string;
    };

/** A part of responses in which differences did not count. */
export interface IgnoredPart {
  /** Such as `$.items[*].id` or `header etag`. */
  readonly part: string;
  /** Such as `UUIDs`. */
  readonly reason: string;
}

/** The requests to what is tested. */
export type TestCase = CaseKey & CaseResults;

interface CaseResults {
  readonly same: number;
  readonly different: number;
  readonly skipped: ReadonlyMap<SkipReason, number>;
  /** The first ones. */
  readonly differences: readonly Difference[];
  /** What differed in each response of an upstream. Absent if nothing did. */
  readonly ignored?: readonly IgnoredPart[];
  /** The fields of `spec.json` that would match, a line each. Absent if only values were compared, or if nothing is different. */
  readonly mended?: readonly string[];
}

export interface Report {
  readonly requests: number;
  readonly same: number;
  readonly different: number;
  readonly skipped: number;
  /** How many operations of the contract have no captured request. Absent without a contract. */
  readonly unseen?: number;
  readonly cases: readonly TestCase[];
}

const DIFFERENCES_MAX = 20;
const CHANGES_MAX = 20;
/** Of a change. It can contain the name of a member, which can be as long as a body. */
const CHANGE_CHARS_MAX = 500;

interface Counted {
  same: number;
  different: number;
  readonly skipped: Map<SkipReason, number>;
  readonly differences: Difference[];
  ignored?: readonly IgnoredPart[];
  mended?: readonly string[];
}

/** What a report needs of a captured request. */
export type ReportedRequest = Pick<
  LogEntry,
  'id' | 'receivedAt' | 'namespace' | 'project' | 'endpoint' | 'responseName' | 'action' | 'method' | 'path' | 'query'
>;

/** Returns a request without its bodies, to be kept. */
export const reportedRequest = (entry: LogEntry): ReportedRequest => {
  const { id, receivedAt, namespace, project, endpoint, responseName, action, method, path, query } = entry;
  return { id, receivedAt, namespace, project, endpoint, responseName, action, method, path, query };
};

/** Counts comparisons by endpoint and response. */
export class ReportBuilder {
  readonly #cases = new Map<string, { readonly named: CaseKey; readonly counted: Counted }>();

  /**
   * @param count the number of requests with this result, of which `entry` is one
   * @param key what responded to the request, if it is not tested by its endpoint
   */
  add(entry: ReportedRequest, comparison: Comparison, { count = 1, key = caseKey(entry) } = {}): void {
    const { counted } = this.#case(key);
    switch (comparison.kind) {
      case 'same':
        counted.same += count;
        break;
      case 'skipped':
        counted.skipped.set(comparison.reason, (counted.skipped.get(comparison.reason) ?? 0) + count);
        break;
      case 'different':
        counted.different += count;
        if (comparison.mended !== undefined) counted.mended = comparison.mended;
        if (counted.differences.length < DIFFERENCES_MAX)
          counted.differences.push(toDifference(entry, comparison.changes));
    }
  }

  /** Adds parts that were ignored. */
  ignore(entry: ReportedRequest, parts: readonly IgnoredPart[]): void {
    if (parts.length === 0) return;
    const { counted } = this.#case(caseKey(entry));
    const known = new Map([...(counted.ignored ?? []), ...parts].map((one) => [one.part, one]));
    counted.ignored = [...known.values()].sort((a, b) => (a.part < b.part ? -1 : 1));
  }

  /** Adds a case that may have no requests. */
  expect(key: CaseKey): void {
    this.#case(key);
  }

  /** Returns the report, which does not depend on the order of requests to different endpoints. */
  report(): Report {
    const cases = [...this.#cases]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { named, counted }]) => ({ ...named, ...counted }));
    const sum = (count: (one: TestCase) => number): number => cases.reduce((total, one) => total + count(one), 0);
    const totals = {
      same: sum(({ same }) => same),
      different: sum(({ different }) => different),
      skipped: sum(skippedCount),
    };
    const operations = cases.filter((one) => 'contract' in one);
    return {
      requests: totals.same + totals.different + totals.skipped,
      ...totals,
      ...(operations.length > 0 && { unseen: operations.filter(isUnseen).length }),
      cases,
    };
  }

  #case(named: CaseKey) {
    const key = Object.values(named).join('\0');
    const known = this.#cases.get(key);
    if (known !== undefined) return known;
    const counted: Counted = { same: 0, different: 0, skipped: new Map(), differences: [] };
    const added = { named, counted };
    this.#cases.set(key, added);
    return added;
  }
}

export const isUnseen = (one: TestCase): boolean => one.same + one.different + skippedCount(one) === 0;

/** Returns the names of what responded to a request. */
export const caseKey = ({ namespace, project, endpoint, responseName, action }: ReportedRequest): CaseKey => {
  const response = responseName === '' ? `spec.${action === 'JSON' ? 'json' : 'forward'}` : responseName;
  return { namespace, project, endpoint, response };
};

const toDifference = (
  { id, method, path, query, receivedAt }: ReportedRequest,
  changes: readonly string[],
): Difference => ({
  id,
  request: `${method} ${path}${query === '' ? '' : `?${query}`}`,
  receivedAt,
  changes:
    changes.length <= CHANGES_MAX
      ? changes.map(detached)
      : [...changes.slice(0, CHANGES_MAX).map(detached), `${changes.length - CHANGES_MAX} more changes`],
});

/** Returns a copy of the first characters. A part of a string keeps the whole string in memory, which can be a body. */
export const detached = (text: string): string => {
  const copy = Buffer.from(text.slice(0, CHANGE_CHARS_MAX)).toString();
  return text.length <= CHANGE_CHARS_MAX ? copy : `${copy}…`;
};

export const skippedCount = ({ skipped }: Pick<TestCase, 'skipped'>): number =>
  [...skipped.values()].reduce((total, count) => total + count, 0);

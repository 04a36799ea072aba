import { different, type Comparison, type ValueChange } from './compare-response.ts';
import { caseKey, detached, type IgnoredPart, type ReportBuilder, type ReportedRequest } from './report.ts';
import { VOLATILE_KINDS, type VolatileKind } from './volatile-kinds.ts';

/** The first responses of each endpoint and response, from which is learned what differs in each. */
const LEARNED_MAX = 50;
/** With fewer, nothing is learned. */
const LEARNED_MIN = 5;
/** So many values must be different from each other. */
const DISTINCT_SHARE = 0.9;
/** For each part of a response. An array has several values of it. */
const VALUES_MAX = 100;
/** Of all parts. Others are not learned. */
const ALL_VALUES_MAX = 500_000;
/** For each endpoint and response. Nothing is ignored in others. */
const GROUPS_MAX = 50;
/** How many requests of each group are kept until all are known, to be shown. */
const SAMPLES_MAX = 20;
const ALL_SAMPLES_MAX = 10_000;
const CHANGES_MAX = 20;

/**
 * Decides which values in responses of upstreams differ from those of a mock because they differ in each response. A mock is an example of
 * them. Only another value of the same type can be ignored, not another type or an absent member.
 *
 * Responses of mocks need none of this: with the id and the time of the captured request, they have the same values as then.
 */
export class VolatileFields {
  readonly #cases = new Map<string, Case>();
  readonly #room = { values: ALL_VALUES_MAX, samples: ALL_SAMPLES_MAX };

  /** Adds the comparison of an upstream's response with a mock. */
  add(request: ReportedRequest, comparison: Comparison, report: ReportBuilder): void {
    const { changes, values } = comparison.kind === 'different' ? comparison : { changes: [], values: [] };
    if (comparison.kind === 'skipped' || values === undefined) {
      report.add(request, comparison);
      return;
    }
    const key = Object.values(caseKey(request)).join('\0');
    const known = this.#cases.get(key) ?? new Case(this.#room);
    this.#cases.set(key, known);
    known.learn(values);
    if (values.length === 0) report.add(request, comparison);
    else known.add(request, changes, values);
  }

  /** Adds the results to the report. */
  finish(report: ReportBuilder): void {
    for (const one of this.#cases.values()) one.finish(report);
  }
}

/** The values of a part of responses that differed from the mock's. */
interface Seen {
  count: number;
  /** Hashes of the different ones. */
  readonly values: Set<number>;
}

interface Sample {
  readonly request: ReportedRequest;
  readonly changes: readonly string[];
  readonly values: readonly { readonly part: string; readonly text: string }[];
}

/** Requests whose differences are in the same parts. */
interface Group {
  /** By part. */
  readonly kinds: ReadonlyMap<string, VolatileKind | undefined>;
  readonly isOtherwiseSame: boolean;
  readonly samples: Sample[];
  count: number;
}

class Case {
  readonly #room: { values: number; samples: number };
  #responses = 0;
  readonly #seen = new Map<string, Seen>();
  readonly #groups = new Map<string, Group>();

  constructor(room: { values: number; samples: number }) {
    this.#room = room;
  }

  learn(values: readonly ValueChange[]): void {
    if (this.#responses === LEARNED_MAX) return;
    this.#responses += 1;
    for (const { at, before } of values) {
      const part = toPart(at);
      const seen = this.#seen.get(part) ?? { count: 0, values: new Set() };
      if (seen.values.size === VALUES_MAX || this.#room.values === 0) continue;
      this.#room.values -= 1;
      this.#seen.set(part, seen);
      seen.count += 1;
      seen.values.add(hash(before));
    }
  }

  add(request: ReportedRequest, changes: readonly string[], values: readonly ValueChange[]): void {
    const kinds = new Map<string, VolatileKind | undefined>();
    for (const { at, kind } of values) {
      const part = toPart(at);
      kinds.set(part, kinds.has(part) && kinds.get(part) !== kind ? undefined : kind);
    }
    const isOtherwiseSame = changes.length === 0;
    const key = [String(isOtherwiseSame), ...[...kinds].map(([part, kind]) => `${part}\0${kind}`).sort()].join('\0');
    const group = this.#groups.get(key) ?? this.#newGroup(key, { kinds, isOtherwiseSame, samples: [], count: 0 });
    group.count += 1;
    if (group.samples.length > 0 && (group.samples.length >= SAMPLES_MAX || this.#room.samples <= 0)) return;
    this.#room.samples -= 1;
    // One of each part first, because it is not known yet which parts are ignored.
    const firsts = [...Map.groupBy(values, ({ at }) => toPart(at)).values()].flatMap(([first]) => first ?? []);
    const kept = [...new Set([...firsts, ...values])].slice(0, CHANGES_MAX);
    const texts = kept.map(({ at, before, after }) => ({
      part: toPart(at),
      text: detached(`${at}: ${shown(before)} → ${shown(after)}`),
    }));
    group.samples.push({ request, changes: changes.slice(0, CHANGES_MAX).map(detached), values: texts });
  }

  /** Returns the group, or that of all for which there is no room. */
  #newGroup(key: string, group: Group): Group {
    const isFull = this.#groups.size >= GROUPS_MAX;
    const others = { kinds: new Map(), isOtherwiseSame: false, samples: [], count: 0 };
    const added = isFull ? (this.#groups.get('') ?? others) : group;
    this.#groups.set(isFull ? '' : key, added);
    return added;
  }

  finish(report: ReportBuilder): void {
    for (const { kinds, isOtherwiseSame, samples, count } of this.#groups.values()) {
      const ignored = [...kinds].flatMap(([part, kind]) => this.#ignored(part, kind));
      const parts = new Set(ignored.map(({ part }) => part));
      const isSame = isOtherwiseSame && parts.size === kinds.size;
      const counting = [...kinds.keys()].filter((part) => !parts.has(part));
      for (const [index, { request, changes, values }] of samples.entries()) {
        const others = values.filter(({ part }) => !parts.has(part)).map(({ text }) => text);
        const unlisted = counting.filter((part) => !values.some((value) => value.part === part));
        const all = [...changes, ...others, ...unlisted.map((part) => `${detached(part)}: another value`)];
        const result: Comparison = isSame ? { kind: 'same' } : different(all);
        const isLast = index === samples.length - 1;
        report.add(request, result, { count: isLast ? count - index : 1 });
        if (isLast) report.ignore(request, ignored);
      }
    }
  }

  /** Returns nothing if the part must not be ignored. */
  #ignored(part: string, kind: VolatileKind | undefined): readonly IgnoredPart[] {
    if (kind !== undefined) return [{ part, reason: VOLATILE_KINDS[kind] }];
    const { count, values } = this.#seen.get(part) ?? { count: 0, values: new Set() };
    const isLearned =
      this.#responses >= LEARNED_MIN && values.size >= DISTINCT_SHARE * Math.max(count, this.#responses);
    return isLearned ? [{ part, reason: `${values.size} values in ${this.#responses} responses` }] : [];
  }
}

/** Returns a path without the indexes of elements. */
const toPart = (at: string): string => at.replaceAll(/\[\d+\](?=[.[ ]|$)/g, '[*]');

const SHOWN_CHARS_MAX = 120;
const shown = (text: string): string =>
  text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX).toWellFormed()}…`;

const HASHED_CHARS_MAX = 1_000;

/** FNV-1a. Equal hashes of different values only make fewer of them different. */
const hash = (text: string): number => {
  let result = 0x811c9dc5;
  for (let at = 0; at < Math.min(text.length, HASHED_CHARS_MAX); at++)
    result = Math.imul(result ^ text.charCodeAt(at), 0x01000193);
  return result;
};

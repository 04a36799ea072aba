import {
  LIMITS,
  REJECTIONS,
  SharedPool,
  type RefusalCount,
  type Refusals,
  type RejectionCode,
} from '@standin/contract';

/** A request that was refused, without anything that a caller without a valid credential wrote. */
export interface RefusedRequest {
  readonly code: RejectionCode;
  /** The uid of the project. Empty if the target contains no project URI that exists. */
  readonly project: string;
  /** The namespace of the project. Empty if there is no project. */
  readonly namespace: string;
  /** Whether the caller's credential was valid for the project. */
  readonly isCallerKnown: boolean;
  /** The method of a known caller, otherwise the `Sender`. */
  readonly who: string;
  /** The path of a known caller, otherwise the slug that it matched. May be empty. */
  readonly where: string;
}

interface Count {
  readonly code: RejectionCode;
  readonly project: string;
  readonly namespace: string;
  readonly isCallerKnown: boolean;
  readonly who: string;
  /** The key in the map. It ends with `where`. */
  readonly key: string;
  readonly whereLength: number;
  /** The index of the row in the tables. */
  readonly slot: number;
}

export interface RefusalCountsOptions {
  /** Returns milliseconds that never decrease. */
  readonly uptimeMs?: () => number;
}

const MINUTE_MS = 60_000;
const MINUTES = LIMITS.refusalWindowMs / MINUTE_MS;
const COUNTS_MAX = LIMITS.refusalsKeptMax;
/** The rest is for requests whose details cannot be counted: one count for each code. */
const DETAILED_MAX = COUNTS_MAX - Object.keys(REJECTIONS).length;

/**
 * Counts refused requests for one hour, in memory, in buckets of one minute. When a project has `LIMITS.refusalsPerProjectMax`
 * counts, its other requests are counted by code only. When the share of a namespace is used up, its other requests are counted by code
 * without their project.
 */
export class RefusalCounts {
  readonly #uptimeMs: () => number;
  readonly #counts = new Map<string, Count>();
  readonly #perProject = new Map<string, number>();
  readonly #shares = new SharedPool(DETAILED_MAX);
  readonly #free: number[] = [];
  /** One row of minutes for each count. A minute has the column `minute % MINUTES`. */
  readonly #buckets = new Uint32Array(COUNTS_MAX * MINUTES);
  /** The time of the last request of each count. Buckets of later minutes are from the hour before. */
  readonly #lastMs = new Float64Array(COUNTS_MAX);
  /** The count of the last request, which the next request usually repeats. */
  #last: Count | undefined;
  #used = 0;
  #sweptMinute = 0;
  #sweeping: NodeJS.Timeout | undefined;

  constructor({ uptimeMs = () => performance.now() }: RefusalCountsOptions = {}) {
    this.#uptimeMs = uptimeMs;
  }

  /** Forgets old counts at intervals. */
  start(): void {
    this.#sweeping = setInterval(() => this.sweep(), MINUTE_MS).unref();
  }

  stop(): void {
    clearInterval(this.#sweeping);
  }

  get size(): number {
    return this.#counts.size;
  }

  add(refused: RefusedRequest): void {
    const nowMs = this.#uptimeMs();
    const count =
      this.#last !== undefined && hasSameKey(this.#last, refused) ? this.#last : this.#findOrAddCount(refused, nowMs);
    this.#last = count;
    const { slot } = count;
    const minute = uptimeMinute(nowMs);
    const lastMinute = uptimeMinute(this.#lastMs[slot] ?? 0);
    for (let passed = Math.max(lastMinute, minute - MINUTES) + 1; passed <= minute; passed++)
      this.#buckets[slot * MINUTES + (passed % MINUTES)] = 0;
    const at = slot * MINUTES + (minute % MINUTES);
    this.#buckets[at] = (this.#buckets[at] ?? 0) + 1;
    this.#lastMs[slot] = nowMs;
  }

  /** Returns the refused requests of a project within the last hour. */
  report(project: string): Refusals {
    const nowMs = this.#uptimeMs();
    this.#sweep(nowMs);
    const epochMs = Date.now() - nowMs;
    const found: RefusalCount[] = [];
    let unknownProject = 0;
    for (const count of this.#counts.values()) {
      const requests = this.#requests(count, nowMs);
      if (count.project === '') unknownProject += requests;
      else if (count.project === project)
        found.push({ ...shown(count), count: requests, lastAt: Math.round(epochMs + (this.#lastMs[count.slot] ?? 0)) });
    }
    const counts = found.sort((a, b) => b.lastAt - a.lastAt);
    const omitted = counts.splice(LIMITS.refusalsReportedMax).reduce((total, one) => total + one.count, 0);
    return { counts, omitted, unknownProject };
  }

  /** Forgets the counts without a request within the last hour. */
  sweep(): void {
    this.#sweep(this.#uptimeMs());
  }

  #sweep(nowMs: number): void {
    const minute = uptimeMinute(nowMs);
    if (minute === this.#sweptMinute) return;
    this.#sweptMinute = minute;
    for (const { key, slot, project, namespace, who } of this.#counts.values()) {
      if (uptimeMinute(this.#lastMs[slot] ?? 0) > minute - MINUTES) continue;
      this.#counts.delete(key);
      if (this.#last?.slot === slot) this.#last = undefined;
      this.#free.push(slot);
      if (isDetailed({ project, who })) this.#shares.free(namespace);
      const left = (this.#perProject.get(project) ?? 1) - 1;
      if (left === 0) this.#perProject.delete(project);
      else this.#perProject.set(project, left);
    }
  }

  #requests({ slot }: Count, nowMs: number): number {
    const lastMinute = uptimeMinute(this.#lastMs[slot] ?? 0);
    let requests = 0;
    for (let minute = Math.max(0, uptimeMinute(nowMs) - MINUTES + 1); minute <= lastMinute; minute++)
      requests += this.#buckets[slot * MINUTES + (minute % MINUTES)] ?? 0;
    return requests;
  }

  #findOrAddCount(refused: RefusedRequest, nowMs: number): Count {
    const key = countKey(refused);
    const known = this.#counts.get(key);
    if (known !== undefined) return known;
    const { code, project, namespace, who } = refused;
    if ((this.#perProject.get(project) ?? 0) >= LIMITS.refusalsPerProjectMax && who !== '')
      return this.#findOrAddCount({ ...codeOnly(code), project, namespace }, nowMs);
    if (isDetailed(refused) && !this.#take(namespace, nowMs)) return this.#findOrAddCount(codeOnly(code), nowMs);
    return this.#create(refused, key);
  }

  #take(namespace: string, nowMs: number): boolean {
    if (this.#shares.take(namespace)) return true;
    this.#sweep(nowMs);
    return this.#shares.take(namespace);
  }

  #create({ code, project, namespace, isCallerKnown, who, where }: RefusedRequest, text: string): Count {
    const key = copyText(text);
    const slot = this.#free.pop() ?? this.#used++;
    this.#buckets.fill(0, slot * MINUTES, (slot + 1) * MINUTES);
    this.#lastMs[slot] = this.#uptimeMs();
    const count = { code, project, namespace, isCallerKnown, who, key, whereLength: cut(where).length, slot };
    this.#counts.set(key, count);
    this.#perProject.set(project, (this.#perProject.get(project) ?? 0) + 1);
    return count;
  }
}

const uptimeMinute = (uptimeMs: number): number => Math.floor(uptimeMs / MINUTE_MS);

const cut = (where: string): string => where.slice(0, LIMITS.refusalPathLengthMax);

const countKey = ({ code, project, who, where }: RefusedRequest): string => `${project} ${code} ${who} ${cut(where)}`;

/** Compares without building the key, which takes most of the time of counting. */
const hasSameKey = (count: Count, { code, project, who, where }: RefusedRequest): boolean => {
  const text = cut(where);
  return (
    count.code === code &&
    count.project === project &&
    count.who === who &&
    count.whereLength === text.length &&
    count.key.endsWith(text)
  );
};

/** Copies a string. Without a copy, a part of a target would keep the whole target in memory. */
const copyText = (text: string): string => Buffer.from(text).toString();

const codeOnly = (code: RejectionCode): RefusedRequest => ({
  code,
  project: '',
  namespace: '',
  isCallerKnown: false,
  who: '',
  where: '',
});

/** Whether a count is of more than a code, of which there are few. */
const isDetailed = ({ project, who }: Pick<RefusedRequest, 'project' | 'who'>): boolean => project + who !== '';

const shown = ({ code, isCallerKnown, who, key, whereLength }: Count): Omit<RefusalCount, 'count' | 'lastAt'> => {
  const where = key.slice(key.length - whereLength);
  if (isCallerKnown) return { code, method: who, path: where };
  return { code, ...(who !== '' && { sender: who }), ...(where !== '' && { slug: where }) };
};

import { FairMap, RESOURCES, SourceError, type Kind } from '@standin/contract';
import { allowedNames, reviewRules, shareAnswer, type AccessReviews, type Asked } from './access-reviews.ts';
import type { ClusterUser } from './cluster-user.ts';
import type { IndexedNamespace, ResourceIndex } from './resource-index.ts';

/** What a user may read in a namespace: all objects of a kind, or objects with these names, which can only be read one by one. */
export type Readable = 'all' | readonly string[];

/** What is known about one user and kind. */
interface Known {
  /** Contains only namespaces in which the user may read something. */
  readonly readable: Map<string, Readable>;
  /** All namespaces up to this number have been asked about. */
  asked: number;
  /** The number of the last namespace that was asked about again. */
  askedAgain: number;
  askedAgainAt: number;
  asking: Asked<void> | undefined;
}

type Entry = readonly [namespace: string, indexed: IndexedNamespace];

/** Maximum number of calls at the same time for one list. */
const CALLS_MAX = 8;
/** Maximum number of namespaces to ask about again within `AGAIN_MS`, which bounds the calls for a user in a large cluster. */
const AGAIN_MAX = 500;
/** In up to `AGAIN_MAX` namespaces, a granted permission takes effect within this time. */
const AGAIN_MS = 15_000;
/** How long one call may ask about namespaces for the first time. */
const FIRST_MS_MAX = 10_000;
/** Number of namespaces after which a call checks how long it has taken. */
const BATCH_MAX = 100;
/** Maximum number of users and kinds to remember. What was forgotten is asked again. */
const KNOWN_MAX = 2_000;

export interface ReadableNamespacesParts {
  readonly reviews: AccessReviews;
  readonly index: ResourceIndex;
  /** Returns the milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * Finds the namespaces in which users may read objects, because most users may not list all namespaces. Asks about each namespace once
 * for each user and kind, and then about some of them again from time to time. No number of other namespaces can therefore hide
 * those that a user may read. What is remembered never gives access: objects are read with the user's token.
 */
export class ReadableNamespaces {
  readonly #parts: ReadableNamespacesParts;
  readonly #now: () => number;
  /** By user and kind. The holders are those of users, who can have any number of tokens. */
  readonly #known = new FairMap<Known>(KNOWN_MAX);

  constructor(parts: ReadableNamespacesParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  /**
   * Returns the namespaces in which the user may read objects of the kind. Rejects with `SourceError` (`Unavailable`) if asking about all
   * namespaces takes too long. The next call then continues.
   */
  async find(user: ClusterUser, kind: Kind): Promise<ReadonlyMap<string, Readable>> {
    const known = this.#knownAbout({ id: user.id, holder: await user.findHolder() }, kind);
    // Concurrent calls share the questions.
    const ask = () =>
      (known.asking ??= {
        answer: this.#ask(user, kind, known).finally(() => (known.asking = undefined)),
        signal: user.signal,
      });
    await shareAnswer(user.signal, ask);
    const namespaces = this.#namespaces(kind);
    const found = new Map<string, Readable>();
    for (const [namespace, readable] of known.readable) {
      const projects = namespaces.get(namespace)?.projects;
      if (projects === undefined) known.readable.delete(namespace);
      else found.set(namespace, readable === 'all' ? 'all' : readable.filter((name) => projects.has(name)));
    }
    return found;
  }

  #knownAbout({ id, holder }: { readonly id: string; readonly holder: string }, kind: Kind): Known {
    const key = `${id} ${kind}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const added = { readable: new Map(), asked: 0, askedAgain: 0, askedAgainAt: this.#now(), asking: undefined };
    this.#known.set(key, added, holder);
    return added;
  }

  #namespaces(kind: Kind): ReadonlyMap<string, IndexedNamespace> {
    const namespaces = this.#parts.index.namespaces();
    if (namespaces !== undefined) return namespaces;
    throw new SourceError(
      'Unavailable',
      `you do not have permission to list ${RESOURCES[kind].plural} in all namespaces, and the dashboard has not loaded the namespaces yet: try again in a few seconds`,
    );
  }

  async #ask(user: ClusterUser, kind: Kind, known: Known): Promise<void> {
    const after = (number: number): Entry[] =>
      [...this.#namespaces(kind)].filter(([, indexed]) => indexed.number > number);
    const review = (entries: readonly Entry[]) =>
      mapSome(entries, async (entry) => {
        const [namespace] = entry;
        const readable = await this.#review(user, kind, entry);
        if (readable === undefined) known.readable.delete(namespace);
        else known.readable.set(namespace, readable);
      });

    const until = this.#now() + FIRST_MS_MAX;
    const first = after(known.asked);
    for (let done = 0; done < first.length; done += BATCH_MAX) {
      if (this.#now() >= until) {
        const { size } = this.#namespaces(kind);
        throw new SourceError(
          'Unavailable',
          `the dashboard has checked only ${size - first.length + done} of ${size} namespaces for ${RESOURCES[kind].plural} that you may see: try again in a few seconds`,
        );
      }
      const batch = first.slice(done, done + BATCH_MAX);
      await review(batch);
      known.asked = batch.at(-1)?.[1].number ?? known.asked;
    }

    if (this.#now() - known.askedAgainAt < AGAIN_MS) return;
    const all = [...this.#namespaces(kind)];
    const again = [...after(known.askedAgain), ...all].slice(0, Math.min(AGAIN_MAX, all.length));
    await review(again);
    known.askedAgain = again.at(-1)?.[1].number ?? 0;
    known.askedAgainAt = this.#now();
  }

  /** Returns what the user may read in a namespace, or undefined if that is nothing. */
  async #review(user: ClusterUser, kind: Kind, [namespace, { projects }]: Entry): Promise<Readable | undefined> {
    const resource = RESOURCES[kind].plural;
    const rules = await reviewRules(user, namespace);
    if (allowedNames(rules, { verb: 'list', resource }) === 'all') return 'all';
    if (rules.isIncomplete && (await this.#parts.reviews.may(user, { verb: 'list', resource, namespace })))
      return 'all';
    if (kind !== 'Project') return undefined;
    // A role with resource names allows users to get projects but not to list them.
    const allowed = allowedNames(rules, { verb: 'get', resource });
    const named = new Set(allowed);
    const names = [...projects].filter((name) => allowed === 'all' || named.has(name));
    return names.length === 0 ? undefined : names;
  }
}

/** Processes up to `CALLS_MAX` items at a time. Returns the results in the order of the items. */
export const mapSome = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of entries) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: CALLS_MAX }, worker));
  return results;
};

import { byAge, Claims, isRecordedFor, type Holders } from './claims.ts';
import { Groups } from './groups.ts';
import type { Entry } from './types.ts';

/** Returns the URI that a Project pins. Derived URIs contain no hyphen, and every prefix does. */
const pinnedUri = ({ parsed }: Entry): string | undefined => (parsed?.kind === 'Project' ? parsed.spec.uri : undefined);

const URI = 'uri ';
export const uriClaim = (uri: string): string => `${URI}${uri}`;
const PREFIX = 'prefix ';
export const prefixClaim = (prefix: string): string => `${PREFIX}${prefix}`;
export const isUriClaim = (claim: string): boolean => claim.startsWith(URI);
export const isPrefixClaim = (claim: string): boolean => claim.startsWith(PREFIX);

/** Returns the prefix that a valid Account reserves. */
export const reservedPrefix = ({ parsed, fault }: Entry): string | undefined =>
  parsed?.kind === 'Account' && fault === undefined ? parsed.spec.uriPrefix : undefined;

/** Yields every prefix of a URI that an Account may reserve, which is every one that ends with a hyphen. */
function* uriPrefixes(uri: string): Generator<string> {
  for (let end = uri.indexOf('-') + 1; end > 0; end = uri.indexOf('-', end) + 1) yield uri.slice(0, end);
}

/** Returns the claim to the URI that a Project pins, or to the prefix that an Account reserves. */
const reservingClaim = (entry: Entry): string | undefined => {
  const [uri, prefix] = [pinnedUri(entry), reservedPrefix(entry)];
  if (uri !== undefined) return uriClaim(uri);
  return prefix === undefined ? undefined : prefixClaim(prefix);
};

/** Returns the beginning of a URI or prefix that all its prefixes have in common. Undefined if it has no prefixes. */
const firstPart = (text: string): string | undefined => {
  const end = text.indexOf('-') + 1;
  return end === 0 ? undefined : text.slice(0, end);
};

/** Returns the URI that a Project pins, or the prefix that an Account reserves. */
const reservedText = (entry: Entry): string | undefined => pinnedUri(entry) ?? reservedPrefix(entry);

/**
 * The work of an evaluation, in objects that are only compared with the changed prefixes. An affected object costs as
 * much as 16 comparisons.
 */
const COMPARED_PER_DEPENDENT = 256;
const AFFECTED_PER_DEPENDENT = 16;

/** The objects that the changes of prefixes affect. */
export interface Affected {
  readonly entries: readonly Entry[];
  /** The work for finding them, as a number of evaluations, by the namespace that changed prefixes. */
  readonly work: ReadonlyMap<string, number>;
}

const isOwn = ({ ref: { namespace }, parsed }: Entry, account: Entry): boolean =>
  parsed?.kind === 'Project' && parsed.spec.accountRef.name === account.ref.name && namespace === account.ref.namespace;

/**
 * Tracks the prefixes of URIs that Accounts reserve. If several of them fit a URI, the longest recorded one prevails, because it was
 * recorded before the shorter ones. If none is recorded, the oldest Account's prevails.
 */
export class Reservations {
  readonly #recorded: Holders;
  readonly #claims: Claims<Entry>;
  /** The objects with a URI or prefix, by its first part. */
  readonly #byFirstPart = new Groups<Entry>();
  /** The prefixes that changed since the last call of `takeAffected`, with the namespace that changed them, by their first part. */
  readonly #changed = new Map<string, Map<string, string | undefined>>();

  constructor(recorded: Holders) {
    this.#recorded = recorded;
    this.#claims = new Claims(recorded);
  }

  add(entry: Entry): void {
    const part = firstPart(reservedText(entry) ?? '');
    if (part === undefined) return;
    this.#byFirstPart.add(part, entry);
    const prefix = reservedPrefix(entry);
    if (prefix === undefined) return;
    this.#claims.add(prefixClaim(prefix), entry);
    this.#change(prefix, entry.ref.namespace);
  }

  remove(entry: Entry): void {
    const part = firstPart(reservedText(entry) ?? '');
    if (part === undefined) return;
    this.#byFirstPart.delete(part, entry);
    const prefix = reservedPrefix(entry);
    if (prefix === undefined) return;
    this.#claims.remove(prefixClaim(prefix), entry);
    this.#change(prefix, entry.ref.namespace);
  }

  /** Called when it may have changed for which Account a prefix is recorded. */
  recorded(claim: string): void {
    this.#change(claim.slice(PREFIX.length), undefined);
  }

  /** Yields the claims whose records decide about an object's `isTaken`. */
  *consulted(entry: Entry): Generator<string> {
    const claim = reservingClaim(entry);
    if (claim === undefined) return;
    yield claim;
    if (this.#isRecordedFor(entry, claim)) return;
    for (const prefix of uriPrefixes(reservedText(entry) ?? '')) yield prefixClaim(prefix);
  }

  /** Returns the Account that has a prefix, or gets it when the claim is recorded. */
  holder(claim: string): Entry | undefined {
    const holder = this.#claims.holder(claim);
    return holder === undefined || this.isTaken(holder) ? undefined : holder;
  }

  /**
   * Returns whether another Account reserves the URI that a Project pins, or part of the prefix that an Account reserves. A URI or a
   * prefix that was recorded for the object or its namespace before the reservation is not taken, nor is one of an older object, if
   * the reservation is not recorded yet. A recorded prefix without an Account is reserved for the namespace of the record.
   */
  isTaken(entry: Entry): boolean {
    const text = reservedText(entry);
    const claim = reservingClaim(entry);
    const { namespace } = entry.ref;
    if (text === undefined || claim === undefined || this.#isRecordedFor(entry, claim)) return false;
    let oldest: Entry | undefined;
    for (const prefix of [...uriPrefixes(text)].reverse()) {
      const holder = this.#claims.holder(prefixClaim(prefix));
      const recorded = this.#recorded(prefixClaim(prefix));
      if (recorded !== undefined)
        return holder === undefined ? recorded.namespace !== namespace : holder !== entry && !isOwn(entry, holder);
      if (holder !== undefined && (oldest === undefined || byAge(holder, oldest) < 0)) oldest = holder;
    }
    if (oldest === undefined || oldest === entry || isOwn(entry, oldest)) return false;
    return oldest.createdAtMs <= entry.createdAtMs;
  }

  /** Returns the objects whose `isTaken` may have changed since the last call. */
  takeAffected(): Affected {
    const entries: Entry[] = [];
    const work = new Map<string, number>();
    for (const [part, changed] of this.#changed) {
      const compared = this.#byFirstPart.get(part);
      const before = entries.length;
      for (const entry of compared)
        for (const prefix of uriPrefixes(reservedText(entry) ?? '')) {
          if (!changed.has(prefix)) continue;
          entries.push(entry);
          break;
        }
      const done = compared.size / COMPARED_PER_DEPENDENT + (entries.length - before) / AFFECTED_PER_DEPENDENT;
      for (const namespace of new Set(changed.values()))
        if (namespace !== undefined) work.set(namespace, (work.get(namespace) ?? 0) + done);
    }
    this.#changed.clear();
    return { entries, work };
  }

  #change(prefix: string, namespace: string | undefined): void {
    const part = firstPart(prefix);
    if (part === undefined) return;
    const changed = this.#changed.get(part) ?? new Map<string, string | undefined>();
    this.#changed.set(part, changed);
    changed.set(prefix, namespace ?? changed.get(prefix));
  }

  /** Returns whether a claim is recorded for the object or its namespace, so that no other prefix takes it. */
  #isRecordedFor(entry: Entry, claim: string): boolean {
    const own = this.#recorded(claim);
    return own !== undefined && (isRecordedFor(own, entry) || own.namespace === entry.ref.namespace);
  }
}

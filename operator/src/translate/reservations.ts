import { byAge, Claims, isRecordedFor, type Holders } from './claims.ts';
import type { Entry } from './types.ts';

/** Returns the URI that a Project pins. Derived URIs contain no hyphen, and every prefix does. */
const pinnedUri = ({ parsed }: Entry): string | undefined => (parsed?.kind === 'Project' ? parsed.spec.uri : undefined);

export const uriClaim = (uri: string): string => `uri ${uri}`;
const PREFIX = 'prefix ';
export const prefixClaim = (prefix: string): string => `${PREFIX}${prefix}`;
export const isPrefixClaim = (claim: string): boolean => claim.startsWith(PREFIX);

/** Returns the prefix that a valid Account reserves. */
export const reservedPrefix = ({ parsed, fault }: Entry): string | undefined =>
  parsed?.kind === 'Account' && fault === undefined ? parsed.spec.uriPrefix : undefined;

/** Yields every prefix of a URI that an Account may reserve, which is every one that ends with a hyphen. */
function* prefixesOf(uri: string): Generator<string> {
  for (let end = uri.indexOf('-') + 1; end > 0; end = uri.indexOf('-', end) + 1) yield uri.slice(0, end);
}

/** Returns the claim to the URI that a Project pins, or to the prefix that an Account reserves. */
const reservingClaim = (entry: Entry): string | undefined => {
  const [uri, prefix] = [pinnedUri(entry), reservedPrefix(entry)];
  if (uri !== undefined) return uriClaim(uri);
  return prefix === undefined ? undefined : prefixClaim(prefix);
};

const isOwn = ({ ref: { namespace }, parsed }: Entry, account: Entry): boolean =>
  parsed?.kind === 'Project' && parsed.spec.accountRef.name === account.ref.name && namespace === account.ref.namespace;

/**
 * Tracks the prefixes of URIs that Accounts reserve. If several of them fit a URI, the longest recorded one prevails, because it was
 * recorded before the shorter ones. If none is recorded, the oldest Account's prevails.
 */
export class Reservations {
  readonly #recorded: Holders;
  readonly #claims: Claims<Entry>;
  /** The prefixes that changed since the last call of `takeAffected`. */
  readonly #changed = new Set<string>();

  constructor(recorded: Holders) {
    this.#recorded = recorded;
    this.#claims = new Claims(recorded);
  }

  add(entry: Entry): void {
    const prefix = reservedPrefix(entry);
    if (prefix === undefined) return;
    this.#claims.add(prefixClaim(prefix), entry);
    this.#changed.add(prefix);
  }

  remove(entry: Entry): void {
    const prefix = reservedPrefix(entry);
    if (prefix === undefined) return;
    this.#claims.remove(prefixClaim(prefix), entry);
    this.#changed.add(prefix);
  }

  /** Called when it may have changed for which Account a prefix is recorded. */
  recorded(claim: string): void {
    this.#changed.add(claim.slice(PREFIX.length));
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
    const text = pinnedUri(entry) ?? reservedPrefix(entry);
    const claim = reservingClaim(entry);
    const { namespace } = entry.ref;
    if (text === undefined || claim === undefined) return false;
    const own = this.#recorded(claim);
    if (own !== undefined && (isRecordedFor(own, entry) || own.namespace === namespace)) return false;
    let oldest: Entry | undefined;
    for (const prefix of [...prefixesOf(text)].reverse()) {
      const holder = this.#claims.holder(prefixClaim(prefix));
      const recorded = this.#recorded(prefixClaim(prefix));
      if (recorded !== undefined)
        return holder === undefined ? recorded.namespace !== namespace : holder !== entry && !isOwn(entry, holder);
      if (holder !== undefined && (oldest === undefined || byAge(holder, oldest) < 0)) oldest = holder;
    }
    if (oldest === undefined || oldest === entry || isOwn(entry, oldest)) return false;
    return oldest.createdAtMs <= entry.createdAtMs;
  }

  /** Returns those of the entries whose `isTaken` may have changed since the last call. */
  takeAffected(entries: Iterable<Entry>): readonly Entry[] {
    if (this.#changed.size === 0) return [];
    const affected: Entry[] = [];
    for (const entry of entries) {
      const text = pinnedUri(entry) ?? reservedPrefix(entry);
      if (text === undefined) continue;
      for (const prefix of prefixesOf(text)) {
        if (!this.#changed.has(prefix)) continue;
        affected.push(entry);
        break;
      }
    }
    this.#changed.clear();
    return affected;
  }
}

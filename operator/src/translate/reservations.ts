import { byAge, Claims } from './claims.ts';
import type { Entry } from './types.ts';

/** Returns the URI that a Project pins. Derived URIs contain no hyphen, and every prefix does. */
const pinnedUri = ({ parsed }: Entry): string | undefined => (parsed?.kind === 'Project' ? parsed.spec.uri : undefined);

/** Returns the prefix that a valid Account reserves. */
const reservedPrefix = ({ parsed, fault }: Entry): string | undefined =>
  parsed?.kind === 'Account' && fault === undefined ? parsed.spec.uriPrefix : undefined;

/** Yields every prefix of a URI that an Account may reserve, which is every one that ends with a hyphen. */
function* prefixesOf(uri: string): Generator<string> {
  for (let end = uri.indexOf('-') + 1; end > 0; end = uri.indexOf('-', end) + 1) yield uri.slice(0, end);
}

const isOwn = ({ ref: { namespace }, parsed }: Entry, account: Entry): boolean =>
  parsed?.kind === 'Project' && parsed.spec.accountRef.name === account.ref.name && namespace === account.ref.namespace;

/** Tracks the prefixes of URIs that Accounts reserve. If several of them fit a URI, the oldest Account's prevails. */
export class Reservations {
  readonly #claims = new Claims<Entry>();
  /** The prefixes that changed since the last call of `takeAffected`. */
  readonly #changed = new Set<string>();

  add(entry: Entry): void {
    const prefix = reservedPrefix(entry);
    if (prefix === undefined) return;
    this.#claims.add(prefix, entry);
    this.#changed.add(prefix);
  }

  remove(entry: Entry): void {
    const prefix = reservedPrefix(entry);
    if (prefix === undefined) return;
    this.#claims.remove(prefix, entry);
    this.#changed.add(prefix);
  }

  /**
   * Returns whether another Account reserves the URI that a Project pins, or part of the prefix that an Account reserves. A Project
   * that is older than the Account keeps its URI.
   */
  isTaken(entry: Entry): boolean {
    const text = pinnedUri(entry) ?? reservedPrefix(entry);
    const holder = text === undefined ? undefined : this.#holder(text);
    if (holder === undefined || holder === entry || isOwn(entry, holder)) return false;
    return holder.createdAtMs <= entry.createdAtMs;
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

  /** Returns the oldest Account that reserves a prefix of the text. */
  #holder(text: string): Entry | undefined {
    let oldest: Entry | undefined;
    for (const prefix of prefixesOf(text)) {
      const holder = this.#claims.holder(prefix);
      if (holder !== undefined && (oldest === undefined || byAge(holder, oldest) < 0)) oldest = holder;
    }
    return oldest;
  }
}

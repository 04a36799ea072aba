import type { LogEntry } from '../log-entry.ts';
import { redactFields } from './redact.ts';
import {
  ALWAYS_HIDDEN,
  pathAtAnyDepth,
  type FieldMatcher,
  type JsonCursor,
  type RedactionRules,
} from './redaction-rules.ts';
import { Redactor } from './redactor.ts';
import { isCredentialCode, isSensitiveName, isSensitiveQueryName } from './sensitive-names.ts';

/**
 * The maximum number of names in each list of the default rules. With more names, the list hides everything.
 * `LIMITS.redactedNamesMax` is higher, so users can add rules.
 */
const NAMES_MAX = 48;
const NAME_LENGTH_MAX = 128;

/** Collects names that look like names of secrets. */
class NameCollector implements FieldMatcher {
  readonly headers = new Set<string>();
  readonly query = new Set<string>();
  readonly keys = new Set<string>();
  readonly document: JsonCursor = this.#cursor(false);

  header(name: string): boolean {
    return this.#collect(this.headers, name.toLowerCase(), isSensitiveName(name));
  }

  field(name: string, queryValue = ''): boolean {
    const isSensitive = isSensitiveQueryName(name) || isCredentialCode(name, queryValue);
    return this.#collect(this.query, name.toLowerCase(), isSensitive);
  }

  #collect(names: Set<string>, name: string, isSensitive: boolean): boolean {
    if (isSensitive) names.add(name);
    return isSensitive;
  }

  #cursor(isHidden: boolean): JsonCursor {
    return {
      isHidden,
      enter: (key) =>
        this.#cursor(typeof key === 'string' && this.#collect(this.keys, key.toLowerCase(), isSensitiveName(key))),
    };
  }
}

const without = (names: Iterable<string>, those: readonly string[]): string[] =>
  [...names].filter((name) => !those.includes(name));

/** Returns globs that match at least these names. A name that contains `*` is a glob that matches itself. */
const globsFor = (names: readonly string[]): readonly string[] => {
  const globs = names.map((name) => (name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX - 1)}*` : name));
  return globs.length > NAMES_MAX ? ['*'] : [...new Set(globs)].sort();
};

/** Returns rules that hide every field in the captured request whose name is typical of secrets. */
export const defaultRedaction = (entry: LogEntry): RedactionRules => {
  const names = new NameCollector();
  redactFields(new Redactor(names), entry);
  return {
    headers: globsFor(without(names.headers, ALWAYS_HIDDEN)),
    query: globsFor([...names.query]),
    jsonPaths: globsFor(without(names.keys, ALWAYS_HIDDEN)).map(pathAtAnyDepth),
  };
};

import type { LogEntry } from '../log-entry.ts';
import { redactFields } from './redact.ts';
import {
  ALWAYS_HIDDEN,
  formatJsonName,
  type FieldMatcher,
  type JsonCursor,
  type RedactionRules,
} from './redaction-rules.ts';
import { Redactor } from './redactor.ts';
import { isCredentialCode, isSensitiveName, isSensitiveQueryName } from './sensitive-names.ts';

/** A Share's limit per list of rules. Above this, the default names patterns instead of fields. */
const NAMES_MAX = 48;
const NAME_LENGTH_MAX = 128;
const PATTERNS = ['*auth*', '*cookie*', '*token*', '*secret*', '*sig*', '*pass*', '*pwd*', '*key*', '*session*'];

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

/** Returns the names. If there are too many, or if rules cannot express them, returns patterns that hide at least as much. */
const orPatterns = (names: readonly string[]): readonly string[] =>
  names.length > NAMES_MAX || names.some((name) => name.length > NAME_LENGTH_MAX || name.includes('*'))
    ? PATTERNS
    : [...names].sort();

/** Returns a path such as `$..token` or `$..["odd key"]`. */
const anywhere = (name: string): string => `$${formatJsonName(name).replace(/^\.?/, '..')}`;

/** Returns rules that hide every field in the exchange whose name is typical of secrets. */
export const defaultRedaction = (entry: LogEntry): RedactionRules => {
  const names = new NameCollector();
  redactFields(new Redactor(names), entry);
  return {
    headers: orPatterns(without(names.headers, ALWAYS_HIDDEN)),
    query: orPatterns([...names.query]),
    jsonPaths: orPatterns([...names.keys]).map(anywhere),
  };
};

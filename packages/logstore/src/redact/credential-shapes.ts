/** What stands where something was taken out. */
export const REDACTED = '[redacted]';

interface Shape {
  readonly name: string;
  readonly pattern: RegExp;
  /** What stays of a match; undefined: it is no credential after all. */
  readonly keep: (match: string, ...groups: readonly string[]) => string | undefined;
}

const all = (): string => REDACTED;
const isBasic = (base64: string): boolean => Buffer.from(base64, 'base64').includes(':');

/** Credentials that are known by their form, wherever they are. Always hidden: no rule has to name them, and none brings them back. */
const SHAPES: readonly Shape[] = [
  {
    name: 'private key',
    pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
    keep: all,
  },
  { name: 'JWT', pattern: /\beyJ[\w-]{8,}(?:\.[\w-]*){1,4}/g, keep: all },
  {
    name: 'bearer token',
    pattern: /\b(bearer(?:\s|%20|\+)+)([\w.~+/=%-]{16,})/gi,
    keep: (_, scheme = '', value = '') => (/\d/.test(value) ? `${scheme}${REDACTED}` : undefined),
  },
  {
    name: 'basic credentials',
    pattern: /\b(basic(?:\s|%20|\+)+)([\w+/=%-]{8,})/gi,
    keep: (_, scheme = '', value = '') => (isBasic(value) ? `${scheme}${REDACTED}` : undefined),
  },
  {
    name: 'URL with a password',
    pattern: /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#@"'<>\\]{1,512}@/gi,
    keep: (_, scheme = '') => `${scheme}${REDACTED}@`,
  },
  {
    name: 'API key',
    pattern:
      /\b(?:standin_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abeprs]-[\w-]{10,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[\w+/=-]{16,}|sk-[\w-]{20,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{35}|ya29\.[\w-]{20,}|npm_[A-Za-z0-9]{30,}|SG\.[\w-]{16,}\.[\w-]{16,})/g,
    keep: all,
  },
];

/** Takes credentials out that are known by their form. `onFound` gets each of them. */
export const redactShapes = (text: string, onFound: (name: string, match: string) => void): string => {
  let result = text;
  for (const { name, pattern, keep } of SHAPES) {
    result = result.replace(pattern, (match: string, ...groups: string[]) => {
      const kept = keep(match, ...groups.filter((group) => typeof group === 'string'));
      if (kept === undefined || kept === match) return match;
      onFound(name, match);
      return kept;
    });
  }
  return result;
};

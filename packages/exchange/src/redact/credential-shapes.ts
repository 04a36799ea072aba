/** The text that replaces a removed value. */
export const REDACTED = '[redacted]';

interface Shape {
  readonly name: string;
  readonly pattern: RegExp;
  /** Returns the text that replaces a match, or undefined if the match is not a credential. */
  readonly keep: (match: string, ...groups: readonly string[]) => string | undefined;
}

const all = (): string => REDACTED;
const isBasic = (base64: string): boolean => Buffer.from(base64, 'base64').includes(':');

/** Returns whether the last digit is the check digit of the other digits (ISO/IEC 7812-1, Luhn), as in card numbers. */
const isCardNumber = (text: string): boolean => {
  const digits = Array.from(text.replaceAll(/\D/g, ''), Number).reverse();
  const sum = digits.reduce((total, digit, index) => {
    const weighted = index % 2 === 0 ? digit : 2 * digit;
    return total + (weighted > 9 ? weighted - 9 : weighted);
  }, 0);
  return sum % 10 === 0;
};

/**
 * Credentials that are recognized by their format, wherever they are. They are always hidden, so no rule needs to name them, and no
 * rule can show them.
 */
const SHAPES: readonly Shape[] = [
  {
    name: 'private key',
    pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
    keep: all,
  },
  {
    name: 'JWT',
    // Matches whole words with dots, so that no word is read twice. The token may begin inside a word.
    pattern: /(?<![\w-])[\w-]+(?:\.[\w-]*)+/g,
    keep: (match) => {
      const start = match.search(/\beyJ[\w-]{8,}\./);
      return start === -1 ? undefined : `${match.slice(0, start)}${REDACTED}`;
    },
  },
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
  {
    name: 'curl credentials',
    // Matches the command, including lines that a backslash continues.
    pattern: /\bcurl\s(?:\\\r?\n|[^\r\n])*/g,
    keep: (command) => redactCommand(command),
  },
  {
    name: 'card number',
    // Matches numbers that begin like those of Visa, Mastercard, American Express, Discover, JCB and Diners Club, grouped or not.
    pattern:
      /(?<![\w.+-])(?:4\d|5[1-5]|2[2-7]|6[05]|3[04-8])\d{2}(?:[ -]?\d{4,6}){2}(?:[ -]?\d{2,4}){0,2}(?![\w-]|\.\d)/g,
    keep: (match) => (isCardNumber(match) ? REDACTED : undefined),
  },
];

const COMMAND_CREDENTIALS =
  /(\s(?:-u|--user|-U|--proxy-user|--oauth2-bearer)(?:=|\s{0,16}))("[^"]*"|'[^']*'|[^\s"']+)/g;
const BEARER_OPTION = '--oauth2-bearer';

/** Redacts `curl -u user:password` and `--oauth2-bearer token`. Keeps a user without a password. */
const redactCommand = (command: string): string =>
  command.replaceAll(COMMAND_CREDENTIALS, (match, option: string, value: string) =>
    value.includes(':') || option.includes(BEARER_OPTION) ? `${option}${REDACTED}` : match,
  );

/** Removes credentials that are recognized by their format. Calls `onFound` for each of them. */
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

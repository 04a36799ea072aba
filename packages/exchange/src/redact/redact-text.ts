/**
 * `WORD` matches a name. `SEPARATOR` matches what follows it: its closing quote, `=`, `:` or `=>`, and the opening quote of its
 * value. Examples are `password: x`, `"token" => "x"` and `sig=x`.
 */
const WORD = /[\p{L}_$][\p{L}\p{N}_.$%[\]-]{0,127}/gu;
const SEPARATOR = /(?:\\*["'`])?[\t ]{0,16}(=>|=|:)\s{0,16}(\\*["'`])?/y;
const UNQUOTED = /[^\s&;,"'`<>()[\]{}\\]*/y;
/**
 * Matches the beginning of a value in a query string, which is enough to determine whether the value is a credential. A value that
 * is not hidden may contain parameters, each of which is also checked.
 */
const QUERY_VALUE = /[^\s&;,"'`<>()[\]{}\\]{0,64}/y;
const REST_OF_LINE = /[^\r\n<]*/y;
/** `BLOCK` matches the start of a block in YAML, as in `password: |`. `INDENTED_LINES` matches the lines below it. */
const BLOCK = /^[|>][+-]?\d?[\t ]*$/;
const INDENTED_LINES = /(?:\r?\n(?:[\t ]+[^\r\n]*)?)*/y;

/** What to hide in text. */
export interface TextRules {
  /**
   * Returns whether to hide the value of this name. `queryValue` is the beginning of the value if the name is in a query string,
   * and undefined otherwise.
   */
  readonly hides: (name: string, queryValue?: string) => boolean;
  /** Records a value and returns its replacement. */
  readonly hide: (name: string, value: string) => string;
}

const decodeName = (name: string): string =>
  name.replaceAll(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

const endOfValue = (text: string, at: number, separator: string, quote: string | undefined): number => {
  if (quote !== undefined) {
    for (let end = text.indexOf(quote, at); end !== -1; end = text.indexOf(quote, end + 1))
      if (text[end - 1] !== '\\' || quote.startsWith('\\')) return end;
    return text.length;
  }
  if (separator === '=') return at + (matchAt(UNQUOTED, text, at)?.[0].length ?? 0);
  const line = matchAt(REST_OF_LINE, text, at)?.[0] ?? '';
  const block = BLOCK.test(line) ? (matchAt(INDENTED_LINES, text, at + line.length)?.[0] ?? '') : '';
  return at + line.length + block.length;
};

/** Returns whether a URL parameter begins at `at`. HTML writes the ampersand as an entity. */
const isInQuery = (text: string, at: number): boolean =>
  /^[?&#]$/.test(text.charAt(at - 1)) || text.slice(Math.max(0, at - 5), at) === '&amp;';

/**
 * Redacts `name=value` and `name: value` anywhere, for example in headers with parameters, YAML, logs, scripts, broken JSON and
 * HTML attributes.
 */
const redactPairs = (text: string, { hides, hide }: TextRules): string => {
  let result = '';
  let done = 0;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (index < done) continue;
    const separator = matchAt(SEPARATOR, text, index + word.length);
    const name = decodeName(word);
    if (separator === null) continue;
    const start = index + word.length + separator[0].length;
    const queryValue =
      separator[0] === '=' && isInQuery(text, index) ? matchAt(QUERY_VALUE, text, start)?.[0] : undefined;
    if (!hides(name, queryValue)) continue;
    const end = endOfValue(text, start, separator[1] ?? '', separator[2]);
    if (end === start) continue;
    result += text.slice(done, start) + hide(name, text.slice(start, end));
    done = end;
  }
  return result + text.slice(done);
};

const TAG = /<((?:[A-Za-z_][\w.-]{0,127}:)?([A-Za-z_][\w.-]{0,127}))(\s[^<>]{0,4096})?>/g;
const NAME_ATTRIBUTE = /\s(?:name|key|id|property)\s{0,4}=\s{0,4}["']?([^"'\s>]{1,128})/i;
const VALUE_ATTRIBUTE = /(\s(?:value|content)\s{0,4}=\s{0,4})("[^"]*"|'[^']*'|[^\s"'>]+)/gi;

/** Redacts `<password>…</password>`, `<param name="token">…</param>` and `<input name="csrf" value="…">`. */
const redactElements = (text: string, { hides, hide }: TextRules): string => {
  const closings = closingTags(text);
  let result = '';
  let done = 0;
  for (const { 0: tag, 1: full = '', 2: local = '', 3: attributes = '', index } of text.matchAll(TAG)) {
    if (index < done) continue;
    const attribute = NAME_ATTRIBUTE.exec(attributes)?.[1];
    const name = [local, attribute].find((candidate) => candidate !== undefined && hides(candidate));
    if (name === undefined) continue;
    const opening = tag.replaceAll(
      VALUE_ATTRIBUTE,
      (_, before: string, value: string) => `${before}${quoted(value, (inner) => hide(name, inner))}`,
    );
    const start = index + tag.length;
    const closing = attributes.endsWith('/') ? start : closings(full, start);
    // An element without a closing tag is either void in HTML, or truncated.
    const end = closing ?? (VOID.has(local.toLowerCase()) ? start : text.length);
    const content = text.slice(start, end);
    result += text.slice(done, index) + opening + (content.trim() === '' ? content : hide(name, content));
    done = end;
  }
  return result + text.slice(done);
};

/** Returns a function that finds the next closing tag for a name. Reads the text once, so `from` must not decrease for a name. */
const closingTags = (text: string): ((name: string, from: number) => number | undefined) => {
  const places = new Map<string, number[]>();
  for (const { 1: name = '', index } of text.matchAll(/<\/([A-Za-z_][\w.:-]{0,255})/g)) {
    const known = places.get(name);
    if (known === undefined) places.set(name, [index]);
    else known.push(index);
  }
  for (const known of places.values()) known.reverse();
  return (name, from) => {
    const left = places.get(name);
    while (left !== undefined && (left.at(-1) ?? from) < from) left.pop();
    return left?.at(-1);
  };
};

const VOID: ReadonlySet<string> = new Set(['input', 'meta', 'link', 'img', 'br', 'hr']);

const quoted = (value: string, hide: (inner: string) => string): string => {
  const quote = /^["']/.exec(value)?.[0] ?? '';
  const inner = value.slice(quote.length, value.length - quote.length);
  return inner === '' ? value : `${quote}${hide(inner)}${quote}`;
};

/**
 * Removes the values of named fields from text without a strict format. If in doubt, hides more, up to the end of a line or of an
 * element.
 */
export const redactText = (text: string, rules: TextRules): string =>
  redactPairs(text.includes('<') ? redactElements(text, rules) : text, rules);

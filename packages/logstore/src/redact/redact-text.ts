/** A word, what closes it, `=`, `:` or `=>`, and what opens its value: `password: x`, `"token" => "x"`, `sig=x`. */
const WORD = /[\p{L}_$][\p{L}\p{N}_.$%[\]-]{0,127}/gu;
const SEPARATOR = /(?:\\*["'`])?[\t ]{0,16}(=>|=|:)\s{0,16}(\\*["'`])?/y;
const UNQUOTED = /[^\s&;,"'`<>()[\]{}\\]*/y;
const REST_OF_LINE = /[^\r\n<]*/y;
/** YAML: `password: |` and the lines that are indented below it. */
const BLOCK = /^[|>][+-]?\d?[\t ]*$/;
const INDENTED_LINES = /(?:\r?\n(?:[\t ]+[^\r\n]*)?)*/y;

type Hides = (name: string) => boolean;
/** Notes a value; returns what stands in its place. */
type Hide = (name: string, value: string) => string;

const decodeName = (name: string): string =>
  name.replaceAll(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

/** Where the value ends that begins at `at`. */
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

/** `name=value` and `name: value` wherever they stand: headers with parameters, YAML, logs, scripts, broken JSON, attributes of HTML. */
const redactPairs = (text: string, hides: Hides, hide: Hide): string => {
  let result = '';
  let done = 0;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (index < done) continue;
    const separator = matchAt(SEPARATOR, text, index + word.length);
    const name = decodeName(word);
    if (separator === null || !hides(name)) continue;
    const start = index + word.length + separator[0].length;
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

/** `<password>…</password>`, `<param name="token">…</param>`, `<input name="csrf" value="…">`. */
const redactElements = (text: string, hides: Hides, hide: Hide): string => {
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
    const closing = attributes.endsWith('/') ? start : text.indexOf(`</${full}`, start);
    // An element that is never closed: void in HTML, or cut off.
    const end = closing === -1 ? (VOID.has(local.toLowerCase()) ? start : text.length) : closing;
    const content = text.slice(start, end);
    result += text.slice(done, index) + opening + (content.trim() === '' ? content : hide(name, content));
    done = end;
  }
  return result + text.slice(done);
};
const VOID: ReadonlySet<string> = new Set(['input', 'meta', 'link', 'img', 'br', 'hr']);

const quoted = (value: string, hide: (inner: string) => string): string => {
  const quote = /^["']/.exec(value)?.[0] ?? '';
  const inner = value.slice(quote.length, value.length - quote.length);
  return inner === '' ? value : `${quote}${hide(inner)}${quote}`;
};

/** Takes the values of named fields out of text that has no strict form. Hides more rather than less: to the end of a line, of an element. */
export const redactText = (text: string, hides: Hides, hide: Hide): string =>
  redactPairs(text.includes('<') ? redactElements(text, hides, hide) : text, hides, hide);

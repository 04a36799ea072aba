import { LIMITS } from '@standin/contract';

/** An expression in a template. */
export interface Slot {
  /** Without `${` and `}`. */
  readonly source: string;
  /** The index of `source` in the template. */
  readonly index: number;
  /** Whether an odd number of double quotes precedes the slot, not counting escaped ones. In JSON, the slot is then inside a string. */
  readonly isInString: boolean;
}

/** A template: fixed text, and the expressions between it. */
export interface TemplateText {
  /** Always has one element more than `slots`. */
  readonly texts: readonly string[];
  readonly slots: readonly Slot[];
  /**
   * The template with a value of the same length in the place of each slot. If this is JSON, the template renders JSON for all values. A slot
   * after a part of a number or of an escape, or in the place of a key, makes it invalid.
   */
  readonly skeleton: string;
}

export type ParsedTemplateText =
  | { readonly ok: true; readonly template: TemplateText }
  /** What to change, as a phrase that begins in lower case and has no full stop. */
  | { readonly ok: false; readonly message: string };

/** `$${` is a literal `${`. */
const OPENING = /\$\$\{|\$\{/g;
/** String literals of CEL, which can contain braces, comments, and all other characters. */
const TOKEN =
  /(?:[rR][bB]?|[bB][rR])(?:"""[^]*?"""|'''[^]*?'''|"[^"\r\n]*"|'[^'\r\n]*')|"""(?:\\[^]|[^\\])*?"""|'''(?:\\[^]|[^\\])*?'''|"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*'|\/\/[^\r\n]*|[^]/y;
const QUOTE = /\\[^]|"/g;

/** Finds the expressions of a template: `${expression}`. */
export const parseTemplateText = (source: string): ParsedTemplateText => {
  const texts: string[] = [];
  const slots: Slot[] = [];
  let [text, skeleton, end, isInString] = ['', '', 0, false];
  const addText = (until: number): void => {
    const piece = source.slice(end, until);
    for (const [quote] of piece.matchAll(QUOTE)) if (quote === '"') isInString = !isInString;
    text += piece;
    skeleton += piece;
  };
  OPENING.lastIndex = 0;
  for (let opening = OPENING.exec(source); opening !== null; opening = OPENING.exec(source)) {
    addText(opening.index);
    end = OPENING.lastIndex;
    if (opening[0] === '$${') {
      text += '${';
      skeleton += '$${';
      continue;
    }
    if (slots.length === LIMITS.templateExpressionsMax)
      return { ok: false, message: `has more than ${LIMITS.templateExpressionsMax} expressions` };
    const closing = closingBrace(source, end);
    if (closing === undefined)
      return {
        ok: false,
        message: `has \${ at ${positionIn(source, opening.index)} without a closing brace in the next ${LIMITS.expressionLengthMax} characters; write $\${ for a literal \${`,
      };
    const slot = { source: source.slice(end, closing), index: end, isInString };
    if (slot.source.trim() === '')
      return { ok: false, message: `has an empty expression at ${positionIn(source, opening.index)}` };
    slots.push(slot);
    texts.push(text);
    text = '';
    end = closing + 1;
    skeleton += slotMask(source.slice(opening.index, end), isInString);
    OPENING.lastIndex = end;
  }
  addText(source.length);
  return { ok: true, template: { texts: [...texts, text], slots, skeleton } };
};

const closingBrace = (source: string, start: number): number | undefined => {
  const text = source.slice(start, start + LIMITS.expressionLengthMax + 1);
  let depth = 0;
  TOKEN.lastIndex = 0;
  for (let token = TOKEN.exec(text)?.[0]; token !== undefined; token = TOKEN.exec(text)?.[0]) {
    if (token === '{') depth += 1;
    if (token !== '}') continue;
    if (depth === 0) return start + TOKEN.lastIndex - 1;
    depth -= 1;
  }
  return undefined;
};

/** Line breaks stay: in a JSON string, they are an error. */
const slotMask = (slot: string, isInString: boolean): string =>
  isInString ? slot.replaceAll(/[^\n]/g, 'x') : `[]${slot.slice(2).replaceAll(/[^\n]/g, ' ')}`;

export const positionIn = (text: string, index: number): string => {
  const before = text.slice(0, index);
  return `line ${before.split('\n').length}, column ${index - before.lastIndexOf('\n')}`;
};

import { LIMITS } from '@standin/contract';
import {
  CHARSET_UNITS,
  contentCodings,
  decodeContent,
  DECODER_UNITS,
  decodeText,
  textEncoding,
} from '@standin/exchange/decode';
import { multipartBoundary, partHeaders, partNames, splitMultipart } from '@standin/exchange/formats';
import type { Budget } from './budget.ts';
import { ExpressionError } from './cel/expression-error.ts';
import { formValues, valuesByName, type RequestFacts, type ValuesByName } from './request-facts.ts';

const AMPERSAND = 0x26;
const PLUS = 0x2b;
// What decoding a form charges: for a value, for a byte that is not ASCII, for a space, and for any other byte.
const [FIELD_UNITS, HIGH_BYTE_UNITS, SPACE_UNITS, BYTE_UNITS] = [50, 15, 5, 1];

// What a multipart form charges: for a byte of the body, for a part, and for a byte of its head.
const [SEARCH_UNITS, PART_UNITS, HEAD_UNITS] = [1 / 8, 300, 5];
const PART_HEAD_BYTES_MAX = LIMITS.requestHeadBytesMax;

/** Reads the body of a request for expressions. Each form is decoded once, when an expression needs it, and charged to the budget. */
export class RequestBody {
  readonly #sent: Uint8Array;
  readonly #facts: RequestFacts;
  readonly #budget: Budget;
  #content: Uint8Array | string | undefined;
  #form: ValuesByName | ExpressionError | undefined;

  constructor(sent: Uint8Array, facts: RequestFacts, budget: Budget) {
    this.#sent = sent;
    this.#facts = facts;
    this.#budget = budget;
  }

  /** Returns the text without its content codings, in its charset, or why it is absent. Throws `BudgetExhausted`. */
  text(): string | ExpressionError {
    const content = this.#limitedContent();
    if (typeof content === 'string') return new ExpressionError(`request.body is absent: ${content}`);
    const encoding = this.#encoding(content, this.#contentType());
    const text = this.#textIn(encoding, content);
    return text ?? new ExpressionError(`request.body is absent: the body is not ${encoding.toUpperCase()}`);
  }

  #encoding(bytes: Uint8Array, type: string): string {
    return textEncoding(bytes, type, () => this.#budget.charge(DECODER_UNITS));
  }

  #textIn(encoding: string, bytes: Uint8Array): string | undefined {
    if (encoding === 'utf-8') this.#budget.chargeText(bytes.length);
    else this.#budget.charge(DECODER_UNITS + bytes.length * CHARSET_UNITS);
    return decodeText(bytes, encoding);
  }

  /** Returns the fields of a form, or why they are absent. Throws `BudgetExhausted`. */
  form(): ValuesByName | ExpressionError {
    this.#form ??= this.#readForm();
    return this.#form;
  }

  #readForm(): ValuesByName | ExpressionError {
    const type = this.#contentType();
    const values = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i.test(type)
      ? this.#urlEncoded()
      : /^multipart\/form-data[ \t]*(?:;|$)/i.test(type)
        ? this.#multipart(type)
        : 'the content-type is neither application/x-www-form-urlencoded nor multipart/form-data';
    return typeof values === 'string' ? new ExpressionError(`request.form is absent: ${values}`) : values;
  }

  #urlEncoded(): ValuesByName | string {
    const content = this.#limitedContent();
    if (typeof content === 'string') return content;
    this.#budget.charge(formUnits(content));
    return formValues(Buffer.from(content).toString('latin1'));
  }

  /** Leaves out parts with a file name, which are mostly not text, and a part whose end is missing. */
  #multipart(type: string): ValuesByName | string {
    const boundary = multipartBoundary(type);
    if (boundary === undefined) return 'the content-type has no boundary';
    const content = this.#decoded();
    if (typeof content === 'string') return content;
    this.#budget.charge(content.length * SEARCH_UNITS);
    const body = Buffer.from(content.buffer, content.byteOffset, content.length).toString('latin1');
    const split = splitMultipart(body, boundary);
    if (split === undefined) return 'the body has no part with the boundary of its content-type';
    const fields: [name: string, value: string][] = [];
    for (const { from, start, end, isWhole } of split.sections) {
      this.#budget.charge(PART_UNITS);
      if (start === undefined || !isWhole) continue;
      if (start - from > PART_HEAD_BYTES_MAX) return `a part has a head of more than ${PART_HEAD_BYTES_MAX} bytes`;
      this.#budget.charge((start - from) * HEAD_UNITS);
      const headers = partHeaders(body.slice(from, start));
      const [disposition, partType] = ['content-disposition', 'content-type'].map(
        (wanted) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '',
      );
      const { name } = partNames(headers);
      if (name === undefined || FILE_NAME.test(disposition ?? '')) continue;
      const value = Buffer.from(content.buffer, content.byteOffset + start, end - start);
      const text = this.#textIn(this.#encoding(value, partType ?? ''), value) ?? value.toString();
      fields.push([Buffer.from(name, 'latin1').toString(), text]);
    }
    return valuesByName(fields);
  }

  #contentType(): string {
    return this.#facts.header('content-type')[0] ?? '';
  }

  /** Returns the decoded bytes, or why they cannot be read as text. */
  #limitedContent(): Uint8Array | string {
    return this.#sent.length > LIMITS.expressionTextLengthMax ? TOO_LARGE : this.#decoded();
  }

  #decoded(): Uint8Array | string {
    this.#content ??= this.#decode();
    return this.#content;
  }

  /** A body with an unknown content coding is read as it was sent. */
  #decode(): Uint8Array | string {
    const max = LIMITS.expressionTextLengthMax;
    const values = this.#facts.header('content-encoding');
    if (values.length === 0) return this.#sent;
    const codings = contentCodings(values.map((value) => ['content-encoding', value]));
    if (codings.length > 0 && this.#sent.length > max) return TOO_LARGE;
    const content = decodeContent(codings, this.#sent, max, (units) => this.#budget.charge(units));
    switch (content.kind) {
      case 'decoded':
        return content.bytes;
      case 'unknown':
        return this.#sent;
      case 'tooLarge':
        return `the decoded body has more than ${max} bytes`;
      case 'invalid':
        return `the body is not ${content.coding}, which its content-encoding names`;
    }
  }
}

const TOO_LARGE = `the body has more than ${LIMITS.expressionTextLengthMax} bytes`;
const FILE_NAME = /[;\s]filename\*?\s*=/i;

const formUnits = (body: Uint8Array): number => {
  let units = FIELD_UNITS;
  for (const byte of body)
    units +=
      byte === AMPERSAND ? FIELD_UNITS : byte > 0x7f ? HIGH_BYTE_UNITS : byte === PLUS ? SPACE_UNITS : BYTE_UNITS;
  return units;
};

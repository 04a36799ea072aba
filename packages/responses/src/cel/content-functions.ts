import { celFunc, CelScalar, type CelFunc } from '@bufbuild/cel';
import { ExpressionError } from './expression-error.ts';
import { isNumber } from './program.ts';
import { readJson } from './read-json.ts';
import { currentRun } from './run.ts';

const { BYTES, DYN, STRING } = CelScalar;

const parseJson = (text: string) => {
  const run = currentRun();
  const value = readJson(text, run.budget, 'the text');
  if (value instanceof ExpressionError) throw new Error(value.message);
  // The text is nothing but a number.
  if (isNumber(value)) run.written = text.trim();
  return value;
};

const HTML_SPECIAL = /[&<>"']/g;
/** Also what an XML parser would change in an attribute or at the end of a line. */
const XML_SPECIAL = /[&<>"'\t\n\r]/g;
/** XML 1.0, section 2.2. */
// eslint-disable-next-line no-control-regex -- XML refuses most control characters.
const NOT_XML = /[\x00-\x08\v\f\x0e-\x1f\ufffe\uffff]/;

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
]);

const reference = (character: string): string => ENTITIES.get(character) ?? `&#${character.charCodeAt(0)};`;

const escapeXml = (text: string): string => {
  if (NOT_XML.test(text)) throw new Error('the text has a character that XML cannot contain');
  return text.replaceAll(XML_SPECIAL, reference);
};

/** Functions that are not part of CEL: to read and to write text in other formats. */
export const CONTENT_FUNCTIONS: CelFunc[] = [
  celFunc('parseJson', [STRING], DYN, parseJson),
  celFunc('escapeXml', [STRING], STRING, escapeXml),
  celFunc('escapeHtml', [STRING], STRING, (text) => text.replaceAll(HTML_SPECIAL, reference)),
  celFunc('base64', [STRING], STRING, (text) => Buffer.from(text).toString('base64')),
  celFunc('base64', [BYTES], STRING, (bytes) => Buffer.from(bytes).toString('base64')),
];

import { isRecord, LIMITS } from '@standin/contract';
import { without } from '../../src/api/without.ts';
import { numberOrText } from '../projects/project-values.ts';
import { lineFeeds, restoreLines, savedLines } from '../ui/text-lines.ts';
import {
  CONDITION_LISTS,
  CONDITION_ROWS_MAX,
  toConditionRows,
  EMPTY_CONDITION,
  rowIndex,
  scalarText,
  toWhen,
  type ConditionValues,
} from './condition-values.ts';
import { delayFields, toDelayValues, NO_DELAY, readDelay, toDelay, type DelayValues } from './delay-values.ts';
import { drawFields, NO_DRAW, readDraw, toDraw, toDrawValues, type DrawValues } from './draw-values.ts';
import {
  readRows,
  savedItems,
  savedPart,
  toItems,
  type FormReader,
  type RowValues,
  type Saved,
} from './form-reader.ts';

/** A response in the form. The fields with text are named after their paths in the object, as far as they are fields of it. */
export interface ResponseValues {
  /** The index of the saved response that this response replaces or copies. Its other fields are kept. Empty for a new response. */
  readonly from: string;
  /** The size in bytes of the saved `bodyBase64`, which the form does not edit. Empty if there is none. */
  readonly binaryBytes: string;
  /** The paths of the fields that are kept, but not shown, such as `when.state, fault`. Empty if there are none. */
  readonly kept: string;
  /** `true` if the form shows the fields. Otherwise, its card is closed. */
  readonly open: string;
  readonly name: string;
  readonly status: string;
  readonly body: string;
  readonly conditions: readonly ConditionValues[];
  readonly draw: DrawValues;
  /** The expression in `when.cel`. Empty if there is none. */
  readonly cel: string;
  /** `CEL` if expressions in the body and in headers are evaluated. Otherwise empty. */
  readonly template: string;
  readonly headers: readonly RowValues[];
  readonly delay: DelayValues;
}

export const RESPONSES = 'spec.responses';
export const EMPTY_HEADER: RowValues = { name: '', value: '' };
const EMPTY_RESPONSE: ResponseValues = {
  from: '',
  binaryBytes: '',
  kept: '',
  open: '',
  name: '',
  status: '',
  body: '',
  draw: NO_DRAW,
  cel: '',
  template: '',
  conditions: [],
  headers: [],
  delay: NO_DELAY,
};
const NAME_LENGTH_MAX = 63;

/** Returns the path of a response. */
export const responsePath = (index: number): string => `${RESPONSES}[${index}]`;

/** Returns a new response, or a copy of one. Its name is unique. */
export const newResponse = (others: readonly ResponseValues[], copied?: ResponseValues): ResponseValues => {
  const names = new Set(others.map(({ name }) => name));
  const base = copied === undefined ? 'response' : copied.name.slice(0, NAME_LENGTH_MAX - 8);
  const free = Array.from({ length: others.length + 1 }, (_, index) => `${base}-${index + 2}`);
  const name = [copied === undefined ? 'response-1' : `${base}-copy`, ...free].find((one) => !names.has(one)) ?? '';
  return copied === undefined
    ? { ...EMPTY_RESPONSE, name, body: '{}', open: 'true' }
    : { ...copied, name, open: 'true' };
};

export const readResponses = (reader: FormReader): ResponseValues[] =>
  Array.from({ length: reader.count(RESPONSES, LIMITS.responsesMax) }, (_, index) => {
    const path = responsePath(index);
    const text = (field: string): string => reader.text(`${path}.${field}`);
    return {
      from: text('from'),
      binaryBytes: text('binaryBytes'),
      kept: text('kept'),
      open: text('open'),
      name: text('name').trim(),
      status: text('status').trim(),
      // The body is not trimmed, because the response is sent byte for byte.
      body: lineFeeds(text('body')),
      draw: readDraw(reader, `${path}.draw`),
      cel: lineFeeds(text('cel')).trim(),
      template: text('template'),
      conditions: readRows(reader, `${path}.conditions`, EMPTY_CONDITION, CONDITION_ROWS_MAX).map(knownList),
      headers: readRows(reader, `${path}.headers`, EMPTY_HEADER, LIMITS.responseHeadersMax),
      delay: readDelay(reader, `${path}.delay`),
    };
  });

const knownList = (row: ConditionValues): ConditionValues => ({
  ...row,
  where: CONDITION_LISTS.find((list) => list === row.where) ?? EMPTY_CONDITION.where,
});

/** Returns the paths that errors can be assigned to. */
export const responseFields = (responses: readonly ResponseValues[]): string[] => [
  RESPONSES,
  ...responses.flatMap(({ conditions, headers }, index) => {
    const path = responsePath(index);
    return [
      path,
      ...['name', 'when', 'cel', 'status', 'headers', 'body', 'template'].map((field) => `${path}.${field}`),
      ...drawFields(`${path}.draw`),
      ...delayFields(`${path}.delay`),
      ...headers.flatMap((_, row) => ['name', 'value'].map((part) => `${path}.headers[${row}].${part}`)),
      ...conditions.flatMap((_, row) => ['name', 'type', 'value'].map((part) => `${path}.conditions[${row}].${part}`)),
    ];
  }),
];

/** Converts a path in the object to the path of the form's field, which differ for conditions and for binary bodies. */
export const responseFieldPath = (responses: readonly ResponseValues[], path: string): string =>
  path
    .replace(/^(spec\.responses\[\d+\])\.bodyBase64$/, '$1.body')
    .replace(/^(spec\.responses\[\d+\])\.when\.(draw|cel)\b/, '$1.$2')
    .replace(
      /^spec\.responses\[(\d+)\]\.when\.(\w+)\[(\d+)\]/,
      (whole, response: string, list: string, index: string) => {
        const row = rowIndex(responses[Number(response)]?.conditions ?? [], list, Number(index));
        return row === -1 ? whole : `${responsePath(Number(response))}.conditions[${row}]`;
      },
    );

/** The fields that the form edits. Others are kept. */
const EDITED = ['name', 'when', 'status', 'headers', 'body', 'bodyBase64', 'template', 'delay'] as const;
const EDITED_CONDITIONS = [...CONDITION_LISTS, 'draw', 'cel'] as const;

/** @param saved the saved response that `values.from` refers to */
const toResponse = (values: ResponseValues, saved: Saved): Record<string, unknown> => {
  const { name, status, headers, conditions, draw, cel, template } = values;
  const savedWhen = savedPart(saved['when']);
  const when = {
    ...toWhen(conditions, savedWhen),
    ...toDraw(draw, savedWhen['draw']),
    ...(cel !== '' && { cel: savedLines(cel, savedWhen['cel']) }),
    ...without(savedWhen, ...EDITED_CONDITIONS),
  };
  return {
    name,
    ...(Object.keys(when).length > 0 && { when }),
    ...(status !== '' && { status: numberOrText(status) }),
    ...(headers.length > 0 && { headers: toHeaders(headers, saved['headers']) }),
    ...toContent(values, saved),
    ...(template !== '' && { template }),
    ...toDelay(values.delay, saved['delay']),
    ...without(saved, ...EDITED),
  };
};

const toHeaderRow = ({ name, value }: Saved): RowValues => ({ name: scalarText(name), value: scalarText(value) });

/** Converts `headers`, as written, to rows. */
export const toHeaderRows = (headers: unknown): RowValues[] => savedItems(headers).map(toHeaderRow);

/** Converts rows to `headers`. `saved` is this field as written. */
export const toHeaders = (rows: readonly RowValues[], saved: unknown): readonly Saved[] =>
  toItems(rows, saved, {
    read: toHeaderRow,
    fields: Object.keys(EMPTY_HEADER),
    write: ({ name, value }) => ({ name, value }),
  });

/** Returns the text of a text area with what a text area cannot keep of the saved text. */
const savedText = (text: string, saved: unknown): string =>
  typeof saved === 'string' ? restoreLines(text, saved) : text;

/** Returns the field `body`. An empty text is the same as no body, so it is kept only if it was saved. */
export const toBody = (body: string, saved: Saved): Record<string, unknown> =>
  body === '' && saved['body'] !== '' ? {} : { body: savedText(body, saved['body']) };

/** Returns `body` or `bodyBase64`. */
const toContent = ({ body }: ResponseValues, saved: Saved): Record<string, unknown> =>
  body === '' && saved['bodyBase64'] !== undefined ? { bodyBase64: saved['bodyBase64'] } : toBody(body, saved);

/** Converts the form's responses to `spec.responses`. `saved` is this field as written. */
export const toResponses = (responses: readonly ResponseValues[], saved: unknown): Record<string, unknown>[] => {
  const known = savedItems(saved);
  return responses.map((values) =>
    toResponse(values, (values.from === '' ? undefined : known[Number(values.from)]) ?? {}),
  );
};

/** Converts `spec.responses`, as written, to the values of the form. Ignores what is not a response. */
export const toResponseValues = (saved: unknown): ResponseValues[] =>
  savedItems(saved).map((response, index) => {
    const { name, when, status, headers, body, bodyBase64, template, delay } = response;
    return {
      from: String(index),
      binaryBytes: typeof bodyBase64 === 'string' ? String(base64Bytes(bodyBase64)) : '',
      kept: [...keptConditions(when), ...Object.keys(without(response, ...EDITED))].join(', '),
      open: '',
      name: scalarText(name),
      status: scalarText(status),
      body: lineFeeds(scalarText(body)),
      conditions: toConditionRows(when),
      draw: toDrawValues(savedPart(when)['draw']),
      cel: isRecord(when) ? lineFeeds(scalarText(when['cel'])) : '',
      template: scalarText(template),
      headers: toHeaderRows(headers),
      delay: toDelayValues(delay),
    };
  });

const keptConditions = (when: unknown): string[] =>
  isRecord(when) ? Object.keys(without(when, ...EDITED_CONDITIONS)).map((name) => `when.${name}`) : [];

const base64Bytes = (text: string): number => {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
};

/** Returns whether the body must be JSON, because the content type is JSON or is missing. */
export const isJsonContent = (headers: readonly RowValues[]): boolean =>
  headers
    .filter(({ name }) => name.trim().toLowerCase() === 'content-type')
    .every(({ value }) => /^[^;]*[/+]json[ \t]*(;|$)/i.test(value));

import { LIMITS, METHODS, readTarget, type DesiredObject, type HeaderPair } from '@standin/contract';
import { replayObject, type ReplayIdentity } from '../../src/replays/replay-object.ts';
import { filledLines, lineFeeds, restoreLines, withoutPadding } from '../ui/text-lines.ts';

/** The captured request that fills the replay form. The target and the headers are latin1, as in `LogEntry`. */
export interface CapturedView {
  readonly id: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderPair[];
  readonly bodyBytes: number;
  /** Undefined if the body is too large to edit. Such a body is sent as captured. */
  readonly body: string | undefined;
  readonly bodyEncoding: 'utf8' | 'base64';
}

/**
 * The values of a replay form. Each is named after its path in the object, so that the path in a validation error identifies the
 * field.
 */
export interface ReplayValues {
  readonly 'spec.edit.method': string;
  readonly 'spec.edit.target': string;
  /** One header per line, as `name: value`. */
  readonly 'spec.edit.headers': string;
  readonly 'spec.edit.body': string;
  readonly 'spec.edit.bodyEncoding': string;
  readonly 'spec.target.kind': string;
  readonly 'spec.target.url': string;
}

const EMPTY: ReplayValues = {
  'spec.edit.method': METHODS[0],
  'spec.edit.target': '',
  'spec.edit.headers': '',
  'spec.edit.body': '',
  'spec.edit.bodyEncoding': 'utf8',
  'spec.target.kind': 'Endpoint',
  'spec.target.url': '',
};

export const REPLAY_FIELDS = [...Object.keys(EMPTY), 'spec.edit', 'spec.target'];

export const headerText = (headers: readonly HeaderPair[]): string =>
  headers.map(([name, value]) => `${name}: ${value}`).join('\n');

/**
 * The maximum number of parsed headers. A captured request has fewer, because each header takes at least four bytes. The schema of
 * a Replay also allows fewer.
 */
const HEADERS_READ_MAX = LIMITS.requestHeadBytesMax / 4 + 1;

/** Parses one header per line. A line without a colon gets an empty name, which the schema rejects. */
export const parseHeaderText = (text: string): HeaderPair[] =>
  filledLines(text)
    .slice(0, HEADERS_READ_MAX)
    .map(({ text: line }) => {
      const colon = line.indexOf(':');
      return colon === -1
        ? (['', line] as const)
        : ([withoutPadding(line.slice(0, colon)), withoutPadding(line.slice(colon + 1))] as const);
    });

/** Returns whether the text differs from these headers. Ignores whitespace around names and values. */
export const areHeadersEdited = (text: string, captured: readonly HeaderPair[]): boolean =>
  JSON.stringify(parseHeaderText(text)) !== JSON.stringify(parseHeaderText(headerText(captured)));

export const toReplayValues = (captured: CapturedView): ReplayValues => ({
  ...EMPTY,
  'spec.edit.method': captured.method,
  'spec.edit.target': readTarget(captured.target).originForm,
  'spec.edit.headers': headerText(captured.headers),
  'spec.edit.body': lineFeeds(captured.body ?? ''),
  'spec.edit.bodyEncoding': captured.bodyEncoding,
});

export const readReplayValues = (form: FormData): ReplayValues =>
  Object.fromEntries(
    (Object.entries(EMPTY) as [keyof ReplayValues, string][]).map(([name, unset]) => {
      const value = form.get(name);
      const text = typeof value === 'string' ? lineFeeds(value) : unset;
      // The body is not trimmed, because it is sent byte for byte. The headers are not trimmed either, because errors contain line
      // numbers.
      return [name, name === 'spec.edit.body' || name === 'spec.edit.headers' ? text : withoutPadding(text)];
    }),
  ) as unknown as ReplayValues;

/**
 * Returns `spec.edit` of the Replay, which contains only the changed parts. Returns undefined if the request is unchanged.
 *
 * @param shown the body that filled the form: the captured one, or that of an earlier replay
 */
export const toEdit = (
  values: ReplayValues,
  captured: CapturedView,
  shown = captured.body,
): Record<string, unknown> | undefined => {
  const encoding = values['spec.edit.bodyEncoding'];
  const text = values['spec.edit.body'];
  const body = encoding === 'base64' ? text.replaceAll(/\s/g, '') : restoreLines(text, shown ?? '');
  const isBodyEdited = captured.body !== undefined && (body !== captured.body || encoding !== captured.bodyEncoding);
  const edit = {
    ...(values['spec.edit.method'] !== captured.method && { method: values['spec.edit.method'] }),
    ...(values['spec.edit.target'] !== withoutPadding(readTarget(captured.target).originForm) && {
      target: values['spec.edit.target'],
    }),
    ...(areHeadersEdited(values['spec.edit.headers'], captured.headers) && {
      headers: parseHeaderText(values['spec.edit.headers']).map(([name, value]) => ({ name, value })),
    }),
    ...(isBodyEdited && { body, ...(encoding !== 'utf8' && { bodyEncoding: encoding }) }),
  };
  return Object.keys(edit).length === 0 ? undefined : edit;
};

const toTarget = (kind: string, url: string): Record<string, unknown> => ({ kind, ...(kind === 'URL' && { url }) });

/** Returns a Replay of one request. `shown` is the body that filled the form. */
export const toReplay = (
  values: ReplayValues,
  captured: CapturedView,
  identity: ReplayIdentity,
  shown = captured.body,
): DesiredObject => {
  const edit = toEdit(values, captured, shown);
  return replayObject(identity, {
    requestId: captured.id,
    ...(edit !== undefined && { edit }),
    target: toTarget(values['spec.target.kind'], values['spec.target.url']),
  });
};

/** The fields of a bulk replay, which sends all matches of a search in a time range. */
export interface BulkValues {
  readonly q: string;
  /** A time. `planReplay` requires RFC 3339 in UTC, and `fixedRange` converts other times. The same applies to `to`. */
  readonly from: string;
  readonly to: string;
  readonly target: string;
  readonly url: string;
  readonly rate: string;
  readonly order: string;
}

/** The names of the form fields, by their paths in a Replay. */
export const BULK_FIELDS: Readonly<Record<string, keyof BulkValues>> = {
  'spec.filter.search': 'q',
  'spec.filter.from': 'from',
  'spec.filter.to': 'to',
  'spec.target.kind': 'target',
  'spec.target.url': 'url',
  'spec.ratePerSecond': 'rate',
  'spec.order': 'order',
};

export const readBulkValues = (params: Pick<URLSearchParams, 'get'>): BulkValues => {
  const text = (name: keyof BulkValues, unset = ''): string => {
    const value = params.get(name)?.trim() ?? '';
    return value === '' ? unset : value;
  };
  return {
    q: text('q'),
    from: text('from'),
    to: text('to'),
    url: text('url'),
    target: text('target', 'Endpoint'),
    rate: text('rate', String(LIMITS.replayRatePerSecondDefault)),
    order: text('order', 'Any'),
  };
};

const numberOrText = (text: string): number | string => (/^\d{1,9}$/.test(text) ? Number(text) : text);

export const toBulkReplay = (values: BulkValues, identity: ReplayIdentity): DesiredObject => {
  const { q, from, to, target, url, rate, order } = values;
  return replayObject(identity, {
    filter: { ...(q !== '' && { search: q }), from, to },
    target: toTarget(target, url),
    ratePerSecond: numberOrText(rate),
    ...(order !== 'Any' && { order }),
  });
};

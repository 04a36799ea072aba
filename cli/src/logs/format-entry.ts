import { printable } from '@standin/contract';
import type { LogSummary } from '@standin/exchange';
import { styled, type Line, type Styled } from '../terminal.ts';

/** The fields that a line shows. Both summaries and full entries have them. */
export type LineEntry = Pick<
  LogSummary,
  | 'id'
  | 'receivedAt'
  | 'namespace'
  | 'endpoint'
  | 'method'
  | 'path'
  | 'query'
  | 'status'
  | 'durationMs'
  | 'outcome'
  | 'responseName'
  | 'credential'
>;

const STATUS_STYLES: readonly Styled['style'][] = ['dim', 'dim', 'green', 'cyan', 'yellow', 'red'];
const METHOD_WIDTH = 'DELETE'.length;
const PATH_WIDTH = 32;
const TARGET_LENGTH_MAX = 100;
const DURATION_WIDTH = '999.9 ms'.length;

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** Formats a time in the reader's time zone, such as `11-21 07:35:12.123`. */
const formatClock = (receivedAt: string): string => {
  const time = new Date(receivedAt);
  const date = `${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`;
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':');
  return `${date} ${clock}.${String(time.getMilliseconds()).padStart(3, '0')}`;
};

/** Formats a duration, such as `0.8 ms` or `12.3 s`. */
export const formatDuration = (ms: number): string =>
  ms < 999.95 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(1)} s`;

/** Returns the path and query in printable form, truncated to `TARGET_LENGTH_MAX` characters. */
const formatTarget = ({ path, query }: Pick<LineEntry, 'path' | 'query'>): string => {
  const target = printable(query === '' ? path : `${path}?${query}`);
  return target.length > TARGET_LENGTH_MAX ? `${target.slice(0, TARGET_LENGTH_MAX - 1)}…` : target;
};

/** Outcomes that need no note, because they are the usual ones. */
const USUAL: readonly LineEntry['outcome'][] = ['mocked', 'forwarded'];

/**
 * Formats one line with aligned columns: time, method, status (`---` if no response was recorded), path with query, duration (empty
 * while the request is in progress), endpoint, with the name of the response in parentheses, whether the request was accepted by its
 * signature, and the id, which other commands accept.
 * `11-21 07:35:12.123  POST    201  /v1/orders                          12.3 ms  default/create-order (gold)  019304…`
 */
export const formatSummaryLine = (entry: LineEntry): readonly (string | Styled)[] => {
  const status = entry.status === 0 ? '---' : String(entry.status);
  const duration = entry.outcome === 'in_progress' ? '' : formatDuration(entry.durationMs);
  const response = entry.responseName === '' ? '' : ` (${entry.responseName})`;
  return [
    styled('dim', formatClock(entry.receivedAt)),
    `  ${entry.method.padEnd(METHOD_WIDTH)}  `,
    styled(STATUS_STYLES[Math.floor(entry.status / 100)] ?? 'dim', status),
    `  ${formatTarget(entry).padEnd(PATH_WIDTH)}  ${duration.padStart(DURATION_WIDTH)}  `,
    styled('dim', `${entry.namespace}/${entry.endpoint}${response}`),
    ...(entry.credential === 'signature' ? [styled('dim', '  signed')] : []),
    ...(USUAL.includes(entry.outcome) ? [] : ['  ', styled('yellow', entry.outcome)]),
    styled('dim', `  ${entry.id}`),
  ];
};

/** A refused request, which the log does not contain. */
export interface RefusedLine extends Pick<LineEntry, 'receivedAt' | 'path' | 'status'> {
  /** Any text. The method and the path are empty for bytes that are not a request. */
  readonly method: string;
  /** The reason, which is a code from docs/reference/errors.md. */
  readonly code: string;
}

/**
 * Formats one line for a refused request, aligned with other requests:
 * `11-21 07:35:12.123  POST    401  /k3v9…/v1/orders                   rejected: api_key_invalid`
 */
export const formatRefusedLine = ({ receivedAt, method, status, path, code }: RefusedLine): Line => {
  const text = [
    formatClock(receivedAt),
    (method === '' ? '---' : method).padEnd(METHOD_WIDTH),
    String(status),
    (path === '' ? '---' : formatTarget({ path, query: '' })).padEnd(PATH_WIDTH),
    `rejected: ${code}`,
  ].join('  ');
  return [styled('dim', text)];
};

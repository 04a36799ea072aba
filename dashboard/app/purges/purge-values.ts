import { formatShortTime } from '@standin/contract';
import type { NewPurge } from '../../src/purges/purges.ts';
import { readTimeRange, resolveRange } from '../requests/time-range.ts';

/** The fields that select the requests of a purge. */
export interface PurgeValues {
  readonly q: string;
  /** A time in RFC 3339, or the text that the user typed if it is not a time. The same applies to `to`. */
  readonly from: string;
  readonly to: string;
  /** `All`, or empty for the requests that match the other fields. */
  readonly requests: string;
}

export const PURGE_FIELDS = ['q', 'from', 'to', 'requests'] as const satisfies readonly (keyof PurgeValues)[];

/**
 * Reads a URL or a form. Converts relative times, such as those of Traffic, to fixed times. Keeps invalid times, so that they are
 * reported. If all requests are selected, ignores the other fields, which the form then hides.
 */
export const readPurgeValues = (given: Pick<FormData, 'get'>, now: Date): PurgeValues => {
  const text = (name: keyof PurgeValues): string => {
    const value = given.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  const requests = text('requests');
  if (requests === 'All') return { q: '', from: '', to: '', requests };
  const { sinceUs, untilUs } = resolveRange(readTimeRange(text('from'), text('to')), now);
  return {
    q: text('q'),
    from: sinceUs === undefined ? text('from') : formatShortTime(sinceUs),
    to: untilUs === undefined ? text('to') : formatShortTime(untilUs),
    requests,
  };
};

/** Returns whether the fields select no requests. */
export const isEmpty = (values: PurgeValues): boolean => PURGE_FIELDS.every((name) => values[name] === '');

/** Returns a purge of the requests that the values select. If `to` is empty, only requests received before `now` are purged. */
export const toNewPurge = ({ q, from, to, requests }: PurgeValues, reason: string, now: Date): NewPurge => ({
  filter: {
    ...(requests === '' && { ...(q !== '' && { search: q }), ...(from !== '' && { from }) }),
    to: to === '' ? now.toISOString() : to,
  },
  ...(requests !== '' && { requests }),
  reason,
});

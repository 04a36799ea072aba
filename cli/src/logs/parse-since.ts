import { parseDuration } from '@standin/contract';
import { InvalidArgumentError } from 'commander';

/** A duration before now, such as `10m`, or an RFC 3339 time. */
export const parseSince = (text: string): Date => {
  const ageMs = parseDuration(text);
  if (ageMs !== undefined) return new Date(Date.now() - ageMs);
  const time = /^\d{4}-\d{2}-\d{2}T/.test(text) ? new Date(text) : new Date(NaN);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('must be like 10m, 2h, 1d or 2026-11-21T10:00:00Z.');
  return time;
};

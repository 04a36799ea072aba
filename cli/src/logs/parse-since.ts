import { InvalidArgumentError } from 'commander';

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration before now, such as `10m`, or an RFC 3339 time. */
export const parseSince = (text: string): Date => {
  const match = /^(\d+)([smhd])$/.exec(text);
  if (match !== null) return new Date(Date.now() - Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0));
  const time = /^\d{4}-\d{2}-\d{2}T/.test(text) ? new Date(text) : new Date(NaN);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('must be like 10m, 2h, 1d or 2026-11-21T10:00:00Z.');
  return time;
};

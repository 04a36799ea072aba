import { isRecord, parseInstant, type ResourceObject } from '@standin/contract';
import type { TimeRange } from './plan-expectation.ts';

/** Reads only a few fields, because a Project may have many thousands of Purges. */
const purgeFilter = ({ spec }: ResourceObject): Readonly<Record<string, unknown>> =>
  isRecord(spec) && isRecord(spec['filter']) ? spec['filter'] : {};

const instantUs = (text: unknown): number | undefined => (typeof text === 'string' ? parseInstant(text) : undefined);

/**
 * Returns a sentence about a Purge that may have deleted requests of the time range, or undefined if there is none. A Purge writes how
 * many requests it found before it deletes any. After that, it can wait again in any phase.
 */
export const deletedBy = (purges: Iterable<ResourceObject>, { fromUs, untilUs }: TimeRange): string | undefined => {
  for (const purge of purges) {
    if (!isRecord(purge.status) || purge.status['matched'] === undefined) continue;
    const { from, to } = purgeFilter(purge);
    if ((instantUs(from) ?? -Infinity) < untilUs && (instantUs(to) ?? Infinity) > fromUs)
      return `Purge ${purge.metadata.name} has deleted requests of the time range, which can no longer be counted.`;
  }
  return undefined;
};

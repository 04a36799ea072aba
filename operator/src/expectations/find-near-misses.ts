import { LIMITS, parseInstant } from '@standin/contract';
import type { EntryPreview } from '@standin/exchange';
import { nearMisses } from '@standin/exchange/near-misses';
import { LogStoreError, type LogStore } from '@standin/logstore';
import type { Outcome } from './expectation-report.ts';
import type { ReadyExpectation } from './plan-expectation.ts';

/** The last requests of a project that are compared with a search. */
const CANDIDATES_MAX = 5;
const BODY_BYTES_MAX = 64 * 1024;

/**
 * Returns the nearest requests for each of the Expectations, which are of one Project. Reads the last requests of the Project once
 * for all of them. They only help to read the result, so there are none if the log cannot be read.
 */
export const findNearMisses = async (
  store: Pick<LogStore, 'summaries' | 'preview'>,
  expectations: readonly ReadyExpectation[],
): Promise<readonly Outcome['nearMisses'][]> => {
  const previews = await lastRequests(store, expectations).catch((error: unknown) => {
    if (error instanceof LogStoreError) return [];
    throw error;
  });
  const found: Outcome['nearMisses'][] = [];
  for (const { search, range } of expectations) {
    const inRange = previews.filter(({ entry }) => {
      const receivedAtUs = parseInstant(entry.receivedAt) ?? NaN;
      return receivedAtUs >= range.fromUs && receivedAtUs < range.untilUs;
    });
    const misses = search === undefined ? [] : await nearMisses(search, inRange, CANDIDATES_MAX);
    // A request that meets every condition, as far as it was read, may match.
    const certain = misses.filter(({ unmet }) => unmet.length > 0).slice(0, LIMITS.expectationNearMissesMax);
    found.push(
      certain.map(({ request, unmet }) => ({
        requestId: request.entry.id,
        // Conditions of the search, never values of the request.
        failed: [...new Set(unmet.map(({ text }) => truncated(text)))].slice(0, LIMITS.expectationFailedTermsMax),
      })),
    );
  }
  return found;
};

const lastRequests = async (
  store: Pick<LogStore, 'summaries' | 'preview'>,
  expectations: readonly ReadyExpectation[],
): Promise<EntryPreview[]> => {
  const [first] = expectations;
  if (first === undefined || expectations.every(({ search }) => search === undefined)) return [];
  const { projectUid, namespace, project } = first.filter;
  const sinceUs = Math.min(...expectations.map(({ range }) => range.fromUs));
  const untilUs = Math.max(...expectations.map(({ range }) => range.untilUs));
  const found = await store.summaries({ projectUid, namespace, project, sinceUs, untilUs, limit: CANDIDATES_MAX });
  const previews = await Promise.all(found.map(({ id }) => store.preview(id, BODY_BYTES_MAX)));
  return previews.filter((preview) => preview !== undefined);
};

const truncated = (text: string): string => text.slice(0, LIMITS.expectationFailedTermLengthMax).toWellFormed();

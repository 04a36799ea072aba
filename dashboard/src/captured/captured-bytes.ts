import type { LogRow } from '@standin/contract';

/**
 * Returns the parts of a row that callers and upstreams sent. `Workers.run` uses their size to choose the thread. Includes headers,
 * because parsing them takes time too.
 */
export const capturedParts = (row: LogRow | undefined): readonly (Uint8Array | string)[] => {
  if (row === undefined) return [];
  const { target, requestHeaders, requestTrailers, responseHeaders, responseTrailers } = row;
  const pairs = [requestHeaders, requestTrailers, responseHeaders, responseTrailers].flat();
  return [row.requestBody, row.responseBody, target, ...pairs.flat()];
};

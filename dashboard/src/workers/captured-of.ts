import type { LogRow } from '@standin/contract';

/** What callers and upstreams wrote of a row: heads cost their readers time, too. */
export const capturedOf = (row: LogRow | undefined): readonly (Uint8Array | string)[] => {
  if (row === undefined) return [];
  const { target, requestHeaders, requestTrailers, responseHeaders, responseTrailers } = row;
  const pairs = [requestHeaders, requestTrailers, responseHeaders, responseTrailers].flat();
  return [row.requestBody, row.responseBody, target, ...pairs.flat()];
};

import type { ExplainedRequest } from '@standin/responses';

const COMPILE_FACTOR = 4;

/**
 * Returns what decides whether the expressions of an endpoint are evaluated in a worker (see `Workers.run`): the request, and the
 * endpoint's configuration several times, because compiling expressions takes longer than the other work that runs in this thread.
 */
export const evaluatedParts = (
  { headers, path, query, body }: ExplainedRequest,
  config: unknown,
): readonly (Uint8Array | string)[] => [
  body,
  JSON.stringify([headers, path, query]),
  ...Array.from({ length: COMPILE_FACTOR }, () => JSON.stringify(config)),
];

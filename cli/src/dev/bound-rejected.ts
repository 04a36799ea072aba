import type { DevOutput } from './dev-output.ts';

const SHOWN_PER_SECOND_MAX = 5;
const SECOND_MS = 1_000;

/**
 * Shows the first few rejected requests of each second, and the number of further ones. A load test with a wrong key does not flood
 * the output.
 */
export const boundRejected = (output: DevOutput): DevOutput => {
  let count = 0;
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (count > SHOWN_PER_SECOND_MAX) output.moreRejected(count - SHOWN_PER_SECOND_MAX);
    count = 0;
  };
  return {
    ...output,
    rejected: (rejected) => {
      timer ??= setTimeout(end, SECOND_MS).unref();
      count += 1;
      if (count <= SHOWN_PER_SECOND_MAX) output.rejected(rejected);
    },
    stopping: () => {
      end();
      output.stopping();
    },
  };
};

import { errorMessage } from '@standin/contract';
import { stderr } from '../terminal.ts';

/** An outage is reported once, and again at this interval while it lasts. */
const NOTICE_INTERVAL_MS = 30_000;

export const outageNotice = (): ((error: unknown) => void) => {
  let saidAt = -Infinity;
  return (error) => {
    if (performance.now() - saidAt < NOTICE_INTERVAL_MS) return;
    saidAt = performance.now();
    stderr.line(`standin: ${errorMessage(error)}; trying again`);
  };
};

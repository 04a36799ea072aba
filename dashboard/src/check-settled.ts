import { phraseListText, SourceError, type Settled } from '@standin/contract';

/** Throws a `SourceError` that says what to do if the log is not complete. */
export const checkSettled = (settled: Settled): void => {
  if (settled.settled) return;
  throw new SourceError(
    'Unavailable',
    `the log may not be complete, because of ${phraseListText(settled.reasons)}: try again later, or read what is in the log with settled=false`,
  );
};

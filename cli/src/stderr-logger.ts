import { printableJson } from '@standin/contract';
import { pino, type Logger } from 'pino';

const STDERR_FD = 2;

/** Writes log lines as JSON to standard error. */
export const stderrLogger = (): Logger =>
  pino(
    { level: 'info', base: null, hooks: { streamWrite: printableJson } },
    pino.destination({ dest: STDERR_FD, sync: true }),
  );

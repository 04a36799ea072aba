import { LOG_FORMAT } from '@standin/contract';
import { pino, type Logger } from 'pino';

const STDERR_FD = 2;

/** Writes log lines as JSON to standard error. */
export const stderrLogger = (): Logger =>
  pino({ ...LOG_FORMAT, level: 'info', base: null }, pino.destination({ dest: STDERR_FD, sync: true }));

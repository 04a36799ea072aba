import { pino, type Logger } from 'pino';
import { z } from 'zod';
import { stderrLogger } from '../stderr-logger.ts';
import type { DevOutput } from './dev-output.ts';

const recordSchema = z.looseObject({
  level: z.number(),
  msg: z.string(),
  process: z.string().optional(),
  reason: z.string().optional(),
  err: z.looseObject({ message: z.string() }).optional(),
});

const ERROR = 50;
const FATAL = 60;
/** The same line is not repeated within this time. */
const REPEAT_MS = 60_000;

export interface DevLoggerOptions {
  readonly output: DevOutput;
  /** Whether to write the full log to standard error. */
  readonly verbose: boolean;
  /** Processes whose warnings are shown. For other processes, only errors are shown. */
  readonly warningProcesses: readonly string[];
}

/**
 * Creates the logger for the operator, gateway and engine. Without `verbose`, it shows only problems, as one line of plain text
 * each.
 */
export const devLogger = ({ output, verbose, warningProcesses }: DevLoggerOptions): Logger => {
  if (verbose) return stderrLogger();
  const saidAt = new Map<string, number>();
  const write = (line: string): void => {
    const record = recordSchema.parse(JSON.parse(line));
    // Fatal errors are also thrown, and printed at the end.
    if (record.level >= FATAL || (record.level < ERROR && !warningProcesses.includes(record.process ?? ''))) return;
    const [reason] = (record.err?.message ?? record.reason)?.split('\n', 1) ?? [];
    const text = [record.process, record.msg, reason].filter((part) => part !== undefined).join(': ');
    const now = performance.now();
    if (now - (saidAt.get(text) ?? -Infinity) < REPEAT_MS) return;
    saidAt.set(text, now);
    output.warning(text);
  };
  return pino({ level: 'warn', base: null }, { write });
};

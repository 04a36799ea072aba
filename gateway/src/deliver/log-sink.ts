import type { LogStore } from '@standin/logstore';

/** The part of the log store that delivery needs. */
export type LogSink = Pick<LogStore, 'migrate' | 'insert' | 'close'>;

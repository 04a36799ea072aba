import type { LogStore } from '@standin/logstore';

/** What delivery needs of the log store. */
export type LogSink = Pick<LogStore, 'migrate' | 'insert' | 'close'>;

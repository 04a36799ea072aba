import type { LogEntry } from '@standin/logstore';
import { har, harEntry, type SnippetOptions } from '@standin/logstore/formats';
import { jsonStream } from '../../src/json-pieces.ts';

/** One exchange as an HTTP archive, in pieces of text. */
export const harStream = (entry: LogEntry, options: SnippetOptions): AsyncIterable<string> =>
  jsonStream(har([harEntry(entry, options)]), 2);

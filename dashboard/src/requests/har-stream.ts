import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogEntry } from '@standin/exchange';
import { har, harEntry, type SnippetOptions } from '@standin/exchange/formats';
import { jsonStream } from '../json-pieces.ts';

/** One exchange as an HTTP archive, in pieces of text. */
export async function* harStream(entry: LogEntry, options: SnippetOptions): AsyncGenerator<string> {
  // This turn of the event loop has decoded the bodies. Measuring them takes as long again.
  await nextTurn();
  yield* jsonStream(har([harEntry(entry, options)]), 2);
}

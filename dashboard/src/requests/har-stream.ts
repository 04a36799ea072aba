import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogEntry } from '@standin/exchange';
import { har, harEntry, type SnippetOptions } from '@standin/exchange/formats';
import { jsonStream } from '../json-pieces.ts';

/** Yields an exchange as an HTTP archive, in pieces of text. */
export async function* harStream(entry: LogEntry, options: SnippetOptions): AsyncGenerator<string> {
  // The bodies were decoded in this turn of the event loop. Measuring them takes just as long, so wait for the next turn.
  await nextTurn();
  yield* jsonStream(har([harEntry(entry, options)]), 2);
}

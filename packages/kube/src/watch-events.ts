// client-node's Watch skips lines that it cannot parse, does not limit their length, and drops the reason of a rejection.

import { LineSplitter } from '@standin/contract';
import type { ApiStatus } from './api-error.ts';
import type { KubeObject } from './kube-object.ts';

export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: T }
  | { readonly type: 'ERROR'; readonly object: ApiStatus };

/** Thrown when the bytes of a watch violate the protocol. The position is lost, so the client must list again. */
export class MalformedWatchError extends Error {
  override readonly name = 'MalformedWatchError';
}

/** etcd rejects objects above 1.5 MiB. JSON escapes and the envelope make them up to six times larger. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** How many characters of a malformed line an error quotes. */
const SHOWN_CHARS = 80;

const EVENT_TYPES: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

const parseEvent = <T extends KubeObject>(line: string): WatchEvent<T> => {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (error) {
    throw new MalformedWatchError(`the watch sent a line that is not JSON: ${line.slice(0, SHOWN_CHARS)}`, {
      cause: error,
    });
  }
  const { type, object } = (event ?? {}) as { type?: unknown; object?: { metadata?: { resourceVersion?: unknown } } };
  const isObject = type === 'ERROR' || typeof object?.metadata?.resourceVersion === 'string';
  if (!EVENT_TYPES.has(type) || !isObject) {
    throw new MalformedWatchError(`the watch sent a line that is not an event: ${line.slice(0, SHOWN_CHARS)}`);
  }
  return event as WatchEvent<T>;
};

/**
 * Splits the bytes of a watch into events. A line may span chunks, and a chunk may contain several lines. Throws
 * `MalformedWatchError`.
 */
export async function* watchEvents<T extends KubeObject>(
  bytes: AsyncIterable<Buffer>,
  onBytes: () => void,
): AsyncGenerator<WatchEvent<T>> {
  const splitter = new LineSplitter(LINE_BYTES_MAX);
  try {
    for await (const chunk of bytes) {
      onBytes();
      for (const line of splitter.push(chunk)) if (line !== '') yield parseEvent<T>(line);
    }
  } catch (error) {
    throw error instanceof RangeError
      ? new MalformedWatchError(`the watch sent a line that is longer than ${LINE_BYTES_MAX} bytes`, { cause: error })
      : error;
  }
}

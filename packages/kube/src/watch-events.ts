import type { ApiStatus } from './api-error.ts';
import type { KubeObject } from './kube-object.ts';

export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: T }
  | { readonly type: 'ERROR'; readonly object: ApiStatus };

/** The bytes of a watch violate the protocol. The position is lost, so list again. */
export class MalformedWatchError extends Error {
  override readonly name = 'MalformedWatchError';
}

/** etcd refuses objects above 1.5 MiB. JSON escapes and the envelope multiply that by at most six. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

const EVENT_TYPES: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

const parseEvent = <T extends KubeObject>(line: Buffer): WatchEvent<T> => {
  let event: unknown;
  try {
    event = JSON.parse(line.toString());
  } catch (error) {
    throw new MalformedWatchError(`a line of the watch is not JSON: ${line.toString('utf8', 0, 80)}`, { cause: error });
  }
  const { type, object } = (event ?? {}) as { type?: unknown; object?: { metadata?: { resourceVersion?: unknown } } };
  const isObject = type === 'ERROR' || typeof object?.metadata?.resourceVersion === 'string';
  if (!EVENT_TYPES.has(type) || !isObject) {
    throw new MalformedWatchError(`a line of the watch is not an event: ${line.toString('utf8', 0, 80)}`);
  }
  return event as WatchEvent<T>;
};

/** Splits the bytes of a watch into events. A line may span chunks, and a chunk may hold several lines. Throws `MalformedWatchError`. */
export async function* watchEvents<T extends KubeObject>(
  bytes: AsyncIterable<Buffer>,
  onBytes: () => void,
): AsyncGenerator<WatchEvent<T>> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    onBytes();
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      parts = [];
      length = 0;
      start = end + 1;
      if (line.length > 0) yield parseEvent<T>(line);
    }
    if (start === chunk.length) continue;
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > LINE_BYTES_MAX)
      throw new MalformedWatchError(`a line of the watch is longer than ${LINE_BYTES_MAX} bytes`);
  }
}

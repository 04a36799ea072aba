import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { formatRevision, LIMITS, type StreamMessage, type SupportedFeatures } from '@standin/contract';
import { textFor, type ConfigLog, type Transaction } from './config-log.ts';

/** If more characters than this are unsent, the gateway is disconnected. Then the gateway reconnects and gets a snapshot. */
const BACKLOG_CHARS_MAX = 64 * 1024 * 1024;
/** Lines are joined into chunks of about this size, so that thousands of endpoints never form a single string. */
const PIECE_CHARS = 256 * 1024;

/** The gateway that reads the stream. */
export interface ConfigReader {
  readonly response: ServerResponse;
  readonly features: SupportedFeatures;
  readonly onTooSlow: () => void;
}

/**
 * Sends the snapshot, then every later transaction and announcement, with heartbeats in between. Resolves when the connection has
 * ended. If the reader is too slow, calls `onTooSlow` and destroys the connection.
 */
export const sendConfig = async (log: ConfigLog, { response, features, onTooSlow }: ConfigReader): Promise<void> => {
  let backlog: string[] = [];
  let backlogChars = 0;
  let wake = (): void => undefined;
  const push = (lines: Transaction): void => {
    for (const line of lines) {
      const text = textFor(line, features);
      if (text === '') continue;
      backlog.push(text);
      backlogChars += text.length;
    }
    if (backlogChars > BACKLOG_CHARS_MAX && !response.destroyed) {
      backlog = [];
      onTooSlow();
      response.destroy();
    }
    wake();
  };
  // No change is lost between the snapshot and the first delta, because both calls run synchronously.
  const snapshot = log.snapshot().map((line) => textFor(line, features));
  const unfollow = log.follow(push);
  const heartbeat = setInterval(() => {
    const message: StreamMessage = { type: 'heartbeat', revision: formatRevision(log.revision) };
    push([{ text: `${JSON.stringify(message)}\n` }]);
  }, LIMITS.streamHeartbeatMs);
  response.on('close', () => wake());
  try {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    for (const piece of piecesOf(snapshot)) await write(response, piece);
    while (!response.destroyed) {
      if (backlog.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      const lines = backlog;
      backlog = [];
      for (const piece of piecesOf(lines)) {
        await write(response, piece);
        backlogChars -= piece.length;
      }
    }
  } finally {
    clearInterval(heartbeat);
    unfollow();
  }
};

/** Joins lines into larger chunks of text. */
export function* piecesOf(lines: readonly string[]): Generator<string> {
  let piece: string[] = [];
  let chars = 0;
  for (const line of lines) {
    piece.push(line);
    chars += line.length;
    if (chars < PIECE_CHARS) continue;
    yield piece.join('');
    piece = [];
    chars = 0;
  }
  if (piece.length > 0) yield piece.join('');
}

/** Writes a string. Resolves when the connection accepts more data, or has ended. */
const write = async (response: ServerResponse, text: string): Promise<void> => {
  if (response.destroyed || response.write(text)) return;
  const settled = new AbortController();
  await Promise.race([
    once(response, 'drain', { signal: settled.signal }),
    once(response, 'close', { signal: settled.signal }),
  ]).finally(() => settled.abort());
};

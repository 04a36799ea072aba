import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { LIMITS } from '@standin/contract';
import { BEGIN, COMMIT, HEARTBEAT, textFor, type ConfigLog, type Transaction } from './config-log.ts';

/** Lines are joined into chunks of about this size, so that thousands of endpoints never form a single string. */
const PIECE_CHARS = 256 * 1024;

/** The gateway that reads the stream. */
export interface ConfigReader {
  readonly response: ServerResponse;
  readonly features: readonly string[];
}

/**
 * Sends the snapshot, then every later transaction and announcement, with heartbeats in between. Resolves when the connection has
 * ended. What is published while the gateway reads slowly is sent as one transaction, which has only the last state of each object. So
 * no more waits than the configuration has, however often it changes.
 */
export const sendConfig = async (log: ConfigLog, { response, features }: ConfigReader): Promise<void> => {
  let waiting = new Map<string, string>();
  let wake = (): void => undefined;
  const push = (lines: Transaction): void => {
    for (const line of lines) waiting.set(line.about, textFor(line, features));
    wake();
  };
  // No change is lost between the snapshot and the first delta, because both calls run synchronously.
  const snapshot = log.snapshot().map((line) => textFor(line, features));
  const unfollow = log.follow(push);
  const heartbeats = setInterval(() => push([log.heartbeat()]), LIMITS.streamHeartbeatMs);
  response.on('close', () => wake());
  try {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    for (const piece of joinLines(snapshot)) await write(response, piece);
    while (!response.destroyed) {
      if (waiting.size === 0) await new Promise<void>((resolve) => (wake = resolve));
      const lines = inOrder(waiting);
      waiting = new Map();
      for (const piece of joinLines(lines)) await write(response, piece);
    }
  } finally {
    clearInterval(heartbeats);
    unfollow();
  }
};

/** Returns the lines of one transaction, and then the announcements, which are only about themselves, and the last heartbeat. */
const inOrder = (lines: Map<string, string>): readonly string[] => {
  const [begin, commit, heartbeat] = [BEGIN, COMMIT, HEARTBEAT].map((about) => lines.get(about));
  for (const about of [BEGIN, COMMIT, HEARTBEAT]) lines.delete(about);
  const changes: string[] = [];
  const announcements: string[] = [];
  for (const [about, text] of lines) (about === text ? announcements : changes).push(text);
  return [begin, ...changes, commit, ...announcements, heartbeat].filter((text) => text !== undefined);
};

/** Joins lines into larger chunks of text. */
export function* joinLines(lines: readonly string[]): Generator<string> {
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

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../harness/eventually.ts';
import { seededRandom } from '../harness/seeded-random.ts';
import { RawClient, type RawAnswer } from './raw-client.ts';
import { forward, json, type Stand } from './stand.ts';

export interface OracleOptions {
  readonly stand: Stand;
  readonly seed: number;
}

/** The expected row of a request, if it got a response. */
interface Sent {
  readonly marker: string;
  readonly bodySha256: string;
  readonly headersSha256: string;
}

interface Stored {
  readonly marker: string;
  readonly outcome: string;
  readonly status: number;
  readonly bodySha256: string;
  readonly headersSha256: string;
  readonly responseSha256: string;
}

/** What the log contained when it was compared with the responses. */
export interface Verified {
  readonly seed: number;
  readonly sent: number;
  readonly answered: number;
  readonly rejected: number;
  /** Requests without a response. The log may contain them. */
  readonly unanswered: number;
  /** Requests in the log. */
  readonly stored: number;
  /** Answered requests that are not in the log. */
  readonly lost: number;
  /** Requests that are in the log more than once. */
  readonly duplicated: number;
}

const MOCK_BODY = '{"id": 1, "total": 10.0}';
const BODY_BYTES_MAX = 4_096;
const HEADERS_MAX = 6;
const DRAINED_WITHIN_MS = 60_000;
/** Delays of a forwarded response. A fault can occur during the longer delays. */
const UPSTREAM_DELAYS_MS = [0, 0, 20, 300] as const;

const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256')
    .update(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    .digest('hex');

/**
 * Sends requests at a rate that does not depend on the responses, and knows what the log must contain. The oracle is never killed.
 * For each request that was answered and not rejected, it appends a line with the hashes of what it sent and received to a file.
 * The log must contain these requests. A rejected request must not be in the log. A request without a response may be in the log
 * once.
 */
export class Oracle implements AsyncDisposable {
  readonly #stand: Stand;
  readonly #random: () => number;
  readonly #seed: number;
  /** The prefix of all markers, which are the queries that identify requests. It differs in each run of a test. */
  readonly #prefix: string;
  readonly #upstream: Server;
  readonly #record: number;
  readonly #idle: RawClient[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #sent = new Map<string, Sent>();
  readonly #answered = new Map<string, { readonly status: number; readonly responseSha256: string }>();
  readonly #rejected = new Map<string, string>();
  #serial = 0;

  private constructor({ stand, seed }: OracleOptions, upstream: Server) {
    this.#stand = stand;
    this.#seed = seed;
    this.#prefix = `o=${seed}-${randomUUID().slice(0, 8)}-`;
    this.#random = seededRandom(seed);
    this.#upstream = upstream;
    this.#record = openSync(path.join(stand.directory, `oracle-${seed}.ndjson`), 'a');
  }

  /** Starts an oracle. Publishes the endpoints that it calls: a mock, and one that forwards to the oracle's own upstream. */
  static async start(options: OracleOptions): Promise<Oracle> {
    const upstream = createServer((request, response) => {
      const marker = new URL(request.url ?? '', 'http://a').searchParams.get('o') ?? '';
      const wait = UPSTREAM_DELAYS_MS[Number(marker.split('-').at(-1)) % UPSTREAM_DELAYS_MS.length] ?? 0;
      request.resume().once('end', () => setTimeout(() => response.end(upstreamBody(marker)), wait));
      request.once('error', () => undefined);
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const { port } = upstream.address() as { port: number };
    await options.stand.publish(
      { slug: '/mock', method: 'POST', action: json(MOCK_BODY) },
      { slug: '/forward', method: 'POST', action: forward(`http://127.0.0.1:${port}/`, { timeoutMs: 5_000 }) },
    );
    return new Oracle(options, upstream);
  }

  get counts() {
    const [sent, answered, rejected] = [this.#sent.size, this.#answered.size, this.#rejected.size];
    return { seed: this.#seed, sent, answered, rejected, unanswered: sent - answered - rejected };
  }

  /** Returns the codes of the rejections so far, with their counts. */
  rejections(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const code of this.#rejected.values()) counts.set(code, (counts.get(code) ?? 0) + 1);
    return counts;
  }

  /**
   * Sends `perSecond` requests per second until `until` is settled, regardless of the responses. Resolves when every request has
   * ended.
   */
  async load(perSecond: number, until: Promise<unknown>): Promise<void> {
    const state = { isOver: false };
    const over = until.finally(() => (state.isOver = true));
    // If `until` fails, the error is thrown at the end, by `await over`.
    over.catch(() => undefined);
    const startedAt = performance.now();
    for (let due = 0; !state.isOver; due++) {
      const waitMs = startedAt + (due * 1_000) / perSecond - performance.now();
      if (waitMs > 0) await delay(waitMs);
      const running: Promise<void> = this.#send().finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
    await Promise.all(this.#running);
    await over;
  }

  /** Removes a request from those that the log must contain, because the test has destroyed its record intentionally. */
  forget(marker: string): void {
    assert(this.#answered.delete(marker), `${marker} was answered`);
  }

  /** Sends one more request, which must get a response. */
  async ask(): Promise<void> {
    const { answered } = this.counts;
    await this.#send();
    assert.equal(this.counts.answered, answered + 1, 'a request without faults must get a response');
  }

  /**
   * Call this after the faults have ended. Checks that a new request gets a response, that every answered request is in the log
   * once, byte for byte, within a minute, and that the log contains no rejected or unsent request.
   */
  async verify(): Promise<Verified> {
    await this.ask();
    return this.verifyStored();
  }

  /** Works like `verify`, but without a new request, for a log whose gateway no longer exists. */
  async verifyStored(): Promise<Verified> {
    const stored = await eventually('the rows of all answered requests', () => this.#stored(), {
      accept: (rows) => [...this.#answered.keys()].every((marker) => rows.has(marker)),
      timeoutMs: DRAINED_WITHIN_MS,
      intervalMs: 500,
    }).catch((error: unknown) => {
      throw new Error(`${JSON.stringify(this.counts)}: answered requests are lost`, { cause: error });
    });
    const duplicated = [...stored.values()].filter((rows) => rows.length > 1);
    const unknown = [...stored.keys()].filter((marker) => !this.#sent.has(marker));
    const rejected = [...stored.keys()].filter((marker) => this.#rejected.has(marker));
    assert.deepEqual({ duplicated, unknown, rejected }, { duplicated: [], unknown: [], rejected: [] });
    for (const [marker, [row]] of stored) this.#compare(marker, row);
    const lost = [...this.#answered.keys()].filter((marker) => !stored.has(marker)).length;
    const verified = { ...this.counts, stored: stored.size, lost, duplicated: duplicated.length };
    console.log('oracle', JSON.stringify(verified));
    return verified;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#idle) client[Symbol.dispose]();
    closeSync(this.#record);
    this.#upstream.closeAllConnections();
    await new Promise((resolve) => this.#upstream.close(resolve));
  }

  #compare(marker: string, row: Stored | undefined): void {
    const { bodySha256, headersSha256 } = this.#sent.get(marker) ?? {};
    const answer = this.#answered.get(marker);
    assert.deepEqual([row?.bodySha256, row?.headersSha256], [bodySha256, headersSha256], `${marker}: as it was sent`);
    if (answer === undefined) return;
    const { status, responseSha256 } = answer;
    assert.deepEqual([row?.status, row?.responseSha256], [status, responseSha256], `${marker}: as it was answered`);
  }

  async #send(): Promise<void> {
    const client = this.#idleClient() ?? (await RawClient.connect(this.#stand.port).catch(() => undefined));
    // The gateway accepts no connections, so no request was sent.
    if (client === undefined) return;
    const { marker, bytes } = this.#next();
    client.send(bytes);
    const answer = await client.answer().catch(() => undefined);
    if (answer === undefined || client.hasEnded || answer.all('connection').includes('close')) client[Symbol.dispose]();
    else this.#idle.push(client);
    if (answer !== undefined) this.#note(marker, answer);
  }

  /** Returns an idle connection that the gateway has not closed. */
  #idleClient(): RawClient | undefined {
    for (let client = this.#idle.pop(); client !== undefined; client = this.#idle.pop()) {
      if (!client.hasEnded) return client;
    }
    return undefined;
  }

  #note(marker: string, answer: RawAnswer): void {
    const [code] = answer.all('standin-rejected');
    if (code !== undefined) {
      this.#rejected.set(marker, code);
      return;
    }
    const noted = { status: answer.status, responseSha256: sha256(answer.body) };
    writeSync(this.#record, `${JSON.stringify({ ...this.#sent.get(marker), ...noted })}\n`);
    this.#answered.set(marker, noted);
  }

  /** Returns a request to one of the endpoints, with a random body and repeated headers in mixed case. */
  #next(): { readonly marker: string; readonly bytes: Buffer } {
    const random = this.#random;
    const marker = `${this.#prefix}${(this.#serial += 1)}`;
    const body = Buffer.from(
      Array.from({ length: Math.floor(random() ** 3 * BODY_BYTES_MAX) }, () => Math.floor(random() * 256)),
    );
    const headers = Array.from({ length: Math.floor(random() * HEADERS_MAX) }, (): [string, string] => [
      random() < 0.5 ? 'X-Oracle' : 'x-oracle',
      `v${Math.floor(random() * 1e9)}\u00e9`,
    ]);
    const length: [string, string] = ['Content-Length', String(body.length)];
    const target = this.#stand.target(random() < 0.7 ? '/mock' : '/forward', marker);
    const head = this.#stand.head('POST', target, [...headers, length]);
    const stored = [['Host', 'gateway'], ['x-api-key', this.#stand.own.storedKey], ...headers, length];
    const headersSha256 = sha256(stored.map(([name, value]) => `${name}:${value}`).join('\n'));
    this.#sent.set(marker, { marker, bodySha256: sha256(body), headersSha256 });
    return { marker, bytes: Buffer.concat([Buffer.from(head, 'latin1'), body]) };
  }

  /** Returns the rows by marker, as readers see them. Each id appears once, in its highest version, if it has ended. */
  async #stored(): Promise<Map<string, Stored[]>> {
    const text = await this.#stand.query(
      `SELECT query, outcome, status, lower(hex(SHA256(request_body))),
         lower(hex(SHA256(arrayStringConcat(arrayMap(h -> concat(h.1, ':', h.2), request_headers), '\\n')))),
         lower(hex(SHA256(response_body)))
       FROM (SELECT * FROM log ORDER BY version DESC LIMIT 1 BY id)
       WHERE startsWith(query, '${this.#prefix}') AND outcome != 'in_progress' FORMAT TSV`,
    );
    const stored = new Map<string, Stored[]>();
    for (const line of text.split('\n').filter((found) => found !== '')) {
      const [marker = '', outcome = '', status = '', bodySha256 = '', headersSha256 = '', responseSha256 = ''] =
        line.split('\t');
      const row = { marker, outcome, status: Number(status), bodySha256, headersSha256, responseSha256 };
      stored.set(marker, [...(stored.get(marker) ?? []), row]);
    }
    return stored;
  }
}

const upstreamBody = (marker: string): string => `from upstream: ${marker}`;

/** Returns the seed of this run: `STANDIN_TEST_SEED` if set, a new one in the long form, otherwise a constant. */
export const runSeed = (): number => {
  const given = process.env['STANDIN_TEST_SEED'];
  if (given !== undefined) return Number(given);
  return isLongRun() ? Math.floor(Math.random() * 0x7fff_ffff) : 20_261_121;
};

export const isLongRun = (): boolean => process.env['STANDIN_TEST_TORTURE'] === 'long';

/** Returns how long an oracle loads the gateway, in milliseconds: `shortMs`, or in the long form the minutes of `--minutes`. */
export const loadMs = (shortMs: number): number =>
  isLongRun() ? Number(process.env['STANDIN_TEST_TORTURE_MINUTES'] ?? '1') * 60_000 : shortMs;

import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import {
  configKey,
  exponentialMs,
  formatRevision,
  LIMITS,
  LineSplitter,
  notLeaderSchema,
  streamMessageSchema,
  type Refusals,
  type StreamMessage,
  type Undelivered,
} from '@standin/contract';
import type { Logger } from 'pino';
import { z } from 'zod';
import { StreamProtocolError, type Committed, type ConfigStore } from './config-store.ts';
import type { DiskCopy } from './disk-copy.ts';
import { readResponse, type OperatorConnection } from './operator-connection.ts';
import type { Revocations } from './revocations.ts';
import { SettledReports, type SettledReportsOptions } from './settled-reports.ts';

/** The longest line of the stream. Far longer than an escaped mock of `LIMITS.mockBodyBytesMax` with its headers. */
const LINE_BYTES_MAX = 4 * 1024 * 1024;
const ACK_ATTEMPTS_MAX = 4;
const ACK_BACKOFF = { baseMs: 100, capMs: 800 };
const REVOKE_RETRY_MS = 1_000;
/** Thrown when this operator is not leading. Another operator may be leading. */
export class NotLeaderError extends Error {
  override readonly name = 'NotLeaderError';
  readonly leaderUrl: string | undefined;

  constructor(leaderUrl: string | undefined) {
    super('this operator is not leading');
    this.leaderUrl = leaderUrl;
  }
}

export interface SessionParts {
  readonly store: ConfigStore;
  readonly diskCopy: DiskCopy;
  readonly revocations: Revocations;
  readonly logger: Logger;
  /** Called when a snapshot or a delta has taken effect. */
  readonly onCommit: () => void;
  /** Called when the permits of this account must be returned. */
  readonly onRecall: (accountUid: string) => void;
  readonly undelivered: () => Undelivered | undefined;
  /** Returns the refused requests of a project. */
  readonly refusals: (projectUid: string) => Refusals;
  /** See `Settlement.wait`. */
  readonly settle: SettledReportsOptions['settle'];
}

/** The parts of a `put` message that are needed to reject its object. A newer operator may send more than the schema allows. */
const anyPutSchema = z.object({
  type: z.literal('put'),
  object: z.object({
    kind: z.enum(['Account', 'Project', 'Endpoint']),
    uid: z.string(),
    namespace: z.string().optional(),
    name: z.string().optional(),
  }),
});

/** One connection to the config stream, from its snapshot to its end. */
export class StreamSession {
  readonly #connection: OperatorConnection;
  readonly #parts: SessionParts;
  readonly #end = new AbortController();
  #isSkipping = false;
  #unacked: Committed | undefined;
  #lastAcked: Committed | undefined;
  #acking: Promise<void> | undefined;
  /** `sentMs` of the last heartbeat. */
  #heartbeatMs: number | undefined;
  readonly #settled: SettledReports;

  constructor(connection: OperatorConnection, parts: SessionParts) {
    this.#connection = connection;
    this.#parts = parts;
    this.#settled = new SettledReports({
      connection,
      logger: parts.logger,
      settle: parts.settle,
      signal: this.#end.signal,
    });
  }

  /** Never resolves. Rejects with the reason why the session ended. */
  async run(signal: AbortSignal): Promise<never> {
    const { store } = this.#parts;
    const ended = AbortSignal.any([signal, this.#end.signal]);
    const response = await this.#connection.stream(ended);
    try {
      if (response.statusCode !== 200) throw await readRefusal(response);
      await this.#read(response);
      throw new Error('the operator closed the stream');
    } finally {
      this.#end.abort();
      response.on('error', () => undefined).destroy();
      store.abandon();
      await this.#acking;
    }
  }

  async #read(response: IncomingMessage): Promise<void> {
    const silence = setTimeout(
      () => response.destroy(new Error(`no message from the operator for ${LIMITS.streamSilenceMsMax} ms`)),
      LIMITS.streamSilenceMsMax,
    );
    const splitter = new LineSplitter(LINE_BYTES_MAX);
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        silence.refresh();
        this.#parts.store.messageReceived(performance.now());
        for (const line of splitter.push(chunk)) this.#take(line);
      }
    } finally {
      clearTimeout(silence);
    }
  }

  #take(line: string): void {
    const { store } = this.#parts;
    const json: unknown = JSON.parse(line);
    const parsed = streamMessageSchema.safeParse(json);
    if (!parsed.success) {
      this.#takeUnknown(json, parsed.error);
      return;
    }
    const message = parsed.data;
    switch (message.type) {
      case 'heartbeat':
        this.#heartbeatMs = message.sentMs;
        if (this.#acking === undefined && this.#lastAcked !== undefined) this.#acknowledge(this.#lastAcked);
        return;
      case 'recall':
        this.#parts.onRecall(message.account);
        return;
      case 'refusals':
        void this.#reportRefusals(message);
        return;
      case 'settle':
        this.#settled.ask(message);
        return;
      case 'begin':
        this.#isSkipping = this.#mustSkip(message);
        if (!this.#isSkipping) store.begin(message);
        return;
      case 'put':
        if (!this.#isSkipping) store.put(message.object);
        return;
      case 'remove':
        if (!this.#isSkipping) store.remove(message.key);
        return;
      case 'secret':
        if (!this.#isSkipping) store.secret(message.id, Buffer.from(message.value, 'base64'));
        return;
      case 'forget':
        if (!this.#isSkipping) store.secret(message.id, undefined);
        return;
      case 'commit':
        if (!this.#isSkipping) this.#committed(store.commit(message.revision));
        this.#isSkipping = false;
    }
  }

  /** A report that fails is not repeated, because the operator does not wait for long. */
  async #reportRefusals({ ask, project }: Extract<StreamMessage, { type: 'refusals' }>): Promise<void> {
    try {
      await this.#connection.refusals(ask, this.#parts.refusals(project), this.#end.signal);
    } catch (error) {
      this.#parts.logger.info({ err: error }, 'report of refused requests failed');
    }
  }

  /**
   * Takes a message that the schema does not allow. For a `put` message, rejects only its object, because a newer operator may send
   * objects that this version does not know. Throws an error for any other message.
   */
  #takeUnknown(json: unknown, error: z.ZodError): void {
    const put = anyPutSchema.safeParse(json);
    if (!put.success) throw new StreamProtocolError(`invalid message: ${z.prettifyError(error)}`);
    const [issue] = error.issues;
    const where = issue?.path.join('.') ?? '';
    if (!this.#isSkipping) {
      this.#parts.store.reject(
        configKey(put.data.object),
        `this gateway does not support ${where}: ${issue?.message ?? ''}`,
        put.data.object,
      );
    }
  }

  #mustSkip(message: Extract<StreamMessage, { type: 'begin' }>): boolean {
    const { store } = this.#parts;
    const verdict = store.judge(message, performance.now());
    if (verdict === 'refuse') {
      throw new Error(`the operator's revision ${message.revision} is older than ${formatRevision(store.revision)}`);
    }
    return verdict === 'skip';
  }

  #committed(committed: Committed): void {
    const { diskCopy, revocations, onCommit } = this.#parts;
    if (committed.revokesKey) revocations.add();
    onCommit();
    diskCopy.schedule();
    this.#acknowledge(committed);
  }

  /** Called after each commit and at each heartbeat, so that the operator knows that this gateway is alive. */
  #acknowledge(committed: Committed): void {
    this.#unacked = committed;
    this.#acking ??= this.#ackAll();
  }

  /** Acknowledges the newest revision, which includes all earlier ones. */
  async #ackAll(): Promise<void> {
    for (let next = this.#nextAck(); next !== undefined; next = this.#nextAck()) {
      await this.#finishRevocations();
      await this.#ack(next);
      this.#lastAcked = next;
    }
    // No other code runs between the last check and this assignment, so a commit after that check starts a new loop.
    this.#acking = undefined;
  }

  /**
   * Ensures that no key that has been revoked so far is accepted after an acknowledgement, not even after a restart
   * from the copy on disk.
   */
  async #finishRevocations(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted && !(await this.#parts.revocations.finish(signal))) {
      await delay(REVOKE_RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #nextAck(): Committed | undefined {
    const next = this.#end.signal.aborted ? undefined : this.#unacked;
    this.#unacked = undefined;
    return next;
  }

  async #ack({ revision, rejected }: Committed): Promise<void> {
    const { signal } = this.#end;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        const sent = { uptimeMs: performance.now(), atMs: Date.now() };
        const undelivered = this.#parts.undelivered();
        const heartbeatMs = this.#heartbeatMs;
        const ack = { revision: formatRevision(revision), rejected: [...rejected], undelivered, heartbeatMs };
        if (await this.#connection.ack(ack, signal)) this.#parts.store.confirmed(sent);
        else this.#end.abort();
        return;
      } catch (error) {
        this.#parts.logger.info({ err: error, attempt }, 'acknowledgement failed');
        // After reconnecting, the gateway receives and acknowledges a snapshot.
        if (attempt === ACK_ATTEMPTS_MAX) this.#end.abort();
        else await delay(exponentialMs(attempt, ACK_BACKOFF), undefined, { signal }).catch(() => undefined);
      }
    }
  }
}

const readRefusal = async (response: IncomingMessage): Promise<Error> => {
  const { status, body } = await readResponse(response);
  const notLeader = status === 503 ? notLeaderSchema.safeParse(parseJson(body)) : undefined;
  if (notLeader?.success === true) return new NotLeaderError(notLeader.data.leader ?? undefined);
  return new Error(`the operator responded with status ${status}: ${body.slice(0, 200)}`);
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

import type { Egress } from '@standin/egress';
import { SharedPool } from '@standin/contract';
import { delayUs } from '@standin/responses';
import type { Logger } from 'pino';
import type { QuotaGate } from './admit/quota-gate.ts';
import { RateLimiter } from './admit/rate-limiter.ts';
import { authenticate, hideValues, loggedTrailers } from './authenticate/authenticate.ts';
import { revoked } from './verify/revoked.ts';
import { SignedRequests } from './verify/signed-requests.ts';
import type { UnauthenticatedBudget } from './verify/unauthenticated-budget.ts';
import type { ConfigStore } from './config/config-store.ts';
import { forward, expandUpstreamUrl } from './forward/forward.ts';
import { match } from './match/match.ts';
import { countRefusal } from './observe/count-refusal.ts';
import type { Metrics } from './observe/metrics.ts';
import type { RefusalCounts } from './observe/refusal-counts.ts';
import type { RequestSpan, Tracing } from './observe/tracing.ts';
import type { HeadVerdict } from './receive/head-scanner.ts';
import { GONE, noRoom, readBody } from './receive/read-body.ts';
import { readHead } from './receive/read-head.ts';
import { buildMockRow, buildRequestRow } from './record/build-row.ts';
import type { Recorder } from './record/recorder.ts';
import { rowId } from './record/row-id.ts';
import type { Accepted, Authenticated, Permit } from './request/accepted.ts';
import type { Barrier } from './request/barrier.ts';
import { isPreflight, Preflight } from './request/cors.ts';
import type { ByteBudget } from './request/byte-budget.ts';
import { mockInTime } from './request/exchange-timeout.ts';
import type { Exchange } from './request/exchange.ts';
import type { OldestRequests } from './request/oldest-requests.ts';
import { rejectionProblem } from './request/problem.ts';
import { Refusal, retryLater, type RejectedRequest } from './request/refusal.ts';
import type { Asked } from './request/expressions.ts';
import type { ForwardEndpoint, Mock, Responder, Route } from './request/route.ts';
import { DelayedResponses } from './respond/delayed-responses.ts';
import { chooseResponder, respond } from './respond/respond.ts';
import type { GatewaySettings } from './settings.ts';

export interface PipelineParts {
  readonly settings: GatewaySettings;
  readonly config: ConfigStore;
  readonly budget: ByteBudget;
  readonly unauthenticated: UnauthenticatedBudget;
  readonly gate: Pick<QuotaGate, 'admit' | 'use' | 'giveBack'>;
  /**
   * Admitted requests that are neither recorded nor refused yet. The revocation of a key is acknowledged only when none of those
   * admitted before it is left.
   */
  readonly unsettled: Barrier;
  readonly recorder: Recorder;
  readonly egress: Egress;
  readonly metrics: Metrics;
  readonly refusals: RefusalCounts;
  /** Undefined if tracing is off. */
  readonly tracing?: Tracing | undefined;
  readonly logger: Logger;
  /** See `GatewayOptions`. */
  readonly onRejected?: ((rejected: RejectedRequest) => void) | undefined;
}

/** Returns what responds. A mock that would take too long is replaced by an error. */
const chooseInTime = (asked: Asked & { readonly exchange: Exchange }): Responder => {
  const responder = chooseResponder(asked);
  if (responder.kind !== 'JSON' || responder.mock.delay === undefined) return responder;
  return { ...responder, mock: mockInTime(responder.mock, asked.id, asked.exchange) };
};

type Admitted = Pick<Accepted, 'permit' | 'settle'>;

const REQUESTS_USED = retryLater('overloaded', {
  detail:
    "Other requests to this account's namespace use its share of the gateway's requests in progress. Wait for their responses before you send more, or shorten the delays and timeouts of the endpoints.",
});

const DISK_USED = retryLater('overloaded', {
  detail:
    "Captured requests of this account's namespace use its share of the gateway's disk, where they wait for ClickHouse. Try again later.",
});

/**
 * Takes each request through the stages. A stage refuses a request by returning a `Refusal`. After `record` has stored a request,
 * it can no longer be refused.
 */
export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #captureBytesMax: number;
  readonly #signed: SignedRequests;
  readonly #rates = new RateLimiter();
  #isDraining = false;
  /**
   * The requests that are being handled, each at its `runningIndex`, except those whose recorded response waits for its delay. Not
   * a Set: it replaces its table after a few deletions, and old tables refer to new ones, so that V8 moves every request to the old
   * generation (1.5 times the CPU time).
   */
  readonly #running: Exchange[] = [];
  readonly #delayed = new DelayedResponses();
  /** The accepted and arriving requests, until their responses are sent. */
  readonly requests: SharedPool;
  /** The connections whose latest request had a valid credential. */
  readonly connections: SharedPool;
  #onIdle: (() => void) | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.requests = new SharedPool(parts.settings.limits.connections);
    this.connections = new SharedPool(parts.settings.limits.connections);
    this.#captureBytesMax = parts.settings.limits.responseCaptureBytes;
    this.#signed = new SignedRequests(parts);
  }

  /** Handles one request. `target` is the request target as received, and `verdict` comes from the scanner. Never throws. */
  handle(exchange: Exchange, target: string, verdict: HeadVerdict | undefined): void {
    exchange.runningIndex = this.#running.push(exchange) - 1;
    void this.#run(exchange, target, verdict);
  }

  /** From now on, every response ends its connection, and none is delayed. */
  drain(): void {
    this.#isDraining = true;
    void this.#delayed.stop();
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** The number of running requests. */
  get running(): number {
    return this.#running.length + this.#delayed.count;
  }

  /** Adds the requests that may not be recorded yet. */
  addOldest(to: OldestRequests): void {
    for (const { startedMs, project } of this.#running) to.add(startedMs, project?.uid, project?.namespace);
  }

  /** Resolves when no request is running. */
  idle(): Promise<void> {
    return this.running === 0 ? Promise.resolve() : new Promise((resolve) => (this.#onIdle = resolve));
  }

  async #run(exchange: Exchange, target: string, verdict: HeadVerdict | undefined): Promise<void> {
    let isDelayed = false;
    try {
      const accepted = this.#withReason(await this.#accept(exchange, target, verdict));
      const closes = accepted instanceof Refusal && accepted.closes;
      exchange.decide(closes || this.#isDraining || !this.#keepsConnection(exchange));
      if (accepted === GONE) return;
      if (accepted instanceof Preflight) exchange.respond(204, [...accepted.headers, ['date', exchange.date()]], '');
      else if (accepted instanceof Refusal) this.#refuse(exchange, target, accepted);
      else isDelayed = await this.#serve(accepted);
    } catch (error) {
      this.#parts.logger.error({ err: error }, 'request failed');
      exchange.destroy();
    } finally {
      if (!isDelayed) this.#release(exchange);
      this.#remove(exchange);
      this.#ended();
    }
  }

  /** While nothing can be stored, the requests that use up a share wait for the disk. */
  #withReason<T>(accepted: T | Refusal): T | Refusal {
    const waitsForDisk = accepted instanceof Refusal && accepted.code === 'overloaded' && this.#parts.recorder.isFull;
    return waitsForDisk ? retryLater('log_unavailable', { closes: accepted.closes }) : accepted;
  }

  /** Counts the connection for the namespace. Returns false if the connection must end because the namespace's share is used up. */
  #keepsConnection({ namespace, connection, isGone }: Exchange): boolean {
    if (namespace === connection.namespace || namespace === '' || isGone) return true;
    const { connections } = this;
    if (connection.namespace !== '') connections.free(connection.namespace);
    else connection.onClosed.add(() => connection.namespace === '' || connections.free(connection.namespace));
    connection.namespace = connections.take(namespace) ? namespace : '';
    return connection.namespace !== '';
  }

  /** Gives back what the request holds of the pools when its response is sent. */
  #release(exchange: Exchange): void {
    const { namespace, hasPlace } = exchange;
    if (!hasPlace) return;
    const release = () => {
      this.#parts.budget.free(namespace, exchange.heldBytes);
      this.requests.free(namespace);
    };
    if (exchange.isSent) release();
    else exchange.whenSent(release);
  }

  /** Moves the last request to the place of this one. */
  #remove({ runningIndex }: Exchange): void {
    const last = this.#running.pop();
    if (last === undefined || last.runningIndex === runningIndex) return;
    this.#running[runningIndex] = last;
    last.runningIndex = runningIndex;
  }

  #ended(): void {
    if (this.running === 0) this.#onIdle?.();
  }

  /** Resolves with true if the response waits for its delay. */
  async #serve(accepted: Accepted): Promise<boolean> {
    const { metrics, budget, tracing } = this.#parts;
    const { id, exchange, head, body, responder } = accepted;
    let span: RequestSpan | undefined;
    let isDelayed = false;
    try {
      let isRecorded = false;
      try {
        span = tracing?.start(accepted);
        isRecorded = await this.#record(accepted);
      } finally {
        this.#settle(accepted, isRecorded);
      }
      if (isRecorded) {
        const mock = responder.kind === 'JSON' ? responder.mock : await this.#forward(accepted, responder, span);
        if (mock !== undefined && responder.kind === 'Forward') this.#add(exchange, mock.bytes.length);
        const delayMs = delayUs(mock?.delay, id) / 1_000;
        isDelayed = delayMs > 0;
        if (mock !== undefined && isDelayed) this.#respondLater(exchange, mock, delayMs, span);
        else if (mock !== undefined) respond(exchange, mock);
        const status = mock?.status ?? exchange.response.statusCode;
        metrics.responded(accepted, status, performance.now() - exchange.startedMs);
      } else {
        this.#refuse(exchange, head.target, retryLater('log_unavailable'));
      }
    } finally {
      budget.free(exchange.namespace, body.length);
      if (!isDelayed) span?.end();
    }
    return isDelayed;
  }

  #respondLater(exchange: Exchange, mock: Mock, delayMs: number, span: RequestSpan | undefined): void {
    const responding = this.#delayed.respond(exchange, mock, delayMs).catch((error: unknown) => {
      this.#parts.logger.error({ err: error }, 'request failed');
      exchange.destroy();
    });
    void responding.then(() => {
      this.#release(exchange);
      span?.end();
      this.#ended();
    });
  }

  /** Takes the request through the stages receive, authenticate, match, read and admit. */
  async #accept(
    exchange: Exchange,
    target: string,
    verdict: HeadVerdict | undefined,
  ): Promise<Accepted | Refusal | typeof GONE | Preflight> {
    const { settings, config, budget, gate } = this.#parts;
    const head = readHead(exchange.request, target, verdict, settings.limits.requestTargetBytes);
    if (head instanceof Refusal) return head;
    exchange.hasUnreadBody = head.isChunked || head.contentLength > 0;
    exchange.awaitsContinue = head.expectsContinue;

    const table = config.tableAt(exchange.startedMs);
    if (table === undefined) return retryLater('not_ready');
    const cors = table.projectAt(head.projectUri)?.cors;
    if (cors !== undefined && isPreflight(exchange.request)) return new Preflight(cors, exchange.request);
    exchange.cors = cors;
    let authenticated: Authenticated | Refusal;
    let route: Route | Refusal;
    let body: Uint8Array | Refusal | typeof GONE;
    if (head.keyCount === 0) {
      const signed = await this.#signed.receive(exchange, head, table);
      if (signed instanceof Refusal || signed === GONE) return signed;
      ({ authenticated, route, body } = signed);
      const { namespace } = route.account;
      const refusal = this.#enter(exchange, namespace) ?? this.#hold(exchange, head.headerBytes);
      if (refusal !== undefined) return refusal;
      if (!budget.take(namespace, body.length)) return noRoom(budget);
    } else {
      authenticated = authenticate(head, table, settings.apiKeyHeader.name);
      if (authenticated instanceof Refusal) return authenticated;
      route = match(head, authenticated, table);
      if (route instanceof Refusal) return route;
      exchange.project = route.project;

      const { namespace } = route.account;
      const refusal = this.#enter(exchange, namespace) ?? this.#hold(exchange, head.headerBytes);
      if (refusal !== undefined) return refusal;
      body = await readBody(exchange, head, { bodyBytesMax: settings.limits.requestBodyBytes, budget, namespace });
      if (body instanceof Refusal || body === GONE) return body;
    }
    const requestUs = exchange.elapsedUs();
    const preparing = route.endpoint.preparation.finish();
    if (preparing !== undefined) await preparing;
    const admitting = this.#admit(authenticated, route);
    const admitted = admitting instanceof Promise ? await admitting : admitting;
    if (admitted instanceof Refusal) {
      budget.free(exchange.namespace, body.length);
      return admitted;
    }
    const secretHeaders = route.endpoint.credential?.secretHeaders;
    if (secretHeaders !== undefined) hideValues(head.headers, secretHeaders);
    const id = rowId(Math.floor(exchange.receivedAtUs / 1000));
    const responder = chooseInTime({ id, exchange, head, body, route });
    const refusal = responder.kind === 'JSON' ? this.#hold(exchange, responder.mock.bytes.length) : undefined;
    if (refusal !== undefined) {
      budget.free(exchange.namespace, body.length);
      gate.giveBack(route.account, admitted.permit);
      admitted.settle();
      return refusal;
    }
    return {
      id,
      gateway: settings.name,
      exchange,
      head,
      body,
      trailers: loggedTrailers(exchange.request.rawTrailers, secretHeaders),
      authenticated,
      route,
      responder,
      ...admitted,
      requestUs,
    };
  }

  /** Counts the request towards the shares of the namespace. */
  #enter(exchange: Exchange, namespace: string): Refusal | undefined {
    exchange.namespace = namespace;
    exchange.hasPlace = this.requests.take(namespace);
    if (!exchange.hasPlace) return REQUESTS_USED;
    return this.#parts.recorder.admits(namespace) ? undefined : DISK_USED;
  }

  /** Reserves memory for the head or the response until the response is sent. */
  #hold(exchange: Exchange, bytes: number): Refusal | undefined {
    const { budget } = this.#parts;
    if (!budget.take(exchange.namespace, bytes)) return noRoom(budget);
    exchange.heldBytes += bytes;
    return undefined;
  }

  /** Adds memory for a response that can no longer be refused. */
  #add(exchange: Exchange, bytes: number): void {
    this.#parts.budget.add(exchange.namespace, bytes);
    exchange.heldBytes += bytes;
  }

  /**
   * Applies the rate limit, spends one permit and enters `unsettled`. Checks the key or the secret before and after waiting for a
   * permit, because it may be replaced while the body arrives and while this method waits.
   */
  #admit(authenticated: Authenticated, route: Route): Admitted | Refusal | Promise<Admitted | Refusal> {
    const { config, gate, unsettled } = this.#parts;
    const enter = (permit: Permit | Refusal): Admitted | Refusal =>
      permit instanceof Refusal ? permit : { permit, settle: unsettled.enter() };
    const spent =
      revoked(authenticated, route, config) ?? this.#rates.admit(route.account) ?? gate.admit(route.account);
    if (!(spent instanceof Promise)) return enter(spent);
    return spent.then((permit) => {
      const refusal = permit instanceof Refusal ? permit : revoked(authenticated, route, config);
      if (refusal === undefined) return enter(permit);
      if (!(permit instanceof Refusal)) gate.giveBack(route.account, permit);
      return refusal;
    });
  }

  /**
   * Records the request. A request for a mock is recorded with its response, and a forwarded request is recorded before its
   * upstream is called. Resolves with false if the request is not recorded.
   */
  #record(accepted: Accepted): Promise<boolean> {
    const { recorder } = this.#parts;
    const { responder } = accepted;
    return responder.kind === 'JSON'
      ? recorder.exchange(buildMockRow(accepted, responder.mock))
      : recorder.request(buildRequestRow(accepted, expandUpstreamUrl(accepted, responder)));
  }

  /** A recorded request counts, regardless of what happens next. A request that is not recorded is not accepted. */
  #settle({ route: { account }, permit, settle }: Accepted, isRecorded: boolean): void {
    const { gate } = this.#parts;
    if (isRecorded) gate.use(account, permit);
    else gate.giveBack(account, permit);
    settle();
  }

  /** Resolves with the recorded mock that is to be sent. Resolves with undefined if the upstream's response has been sent. */
  #forward(accepted: Accepted, responder: ForwardEndpoint, span: RequestSpan | undefined): Promise<Mock | undefined> {
    const { recorder, egress, budget, settings } = this.#parts;
    const bounds = { captureBytesMax: this.#captureBytesMax, readMsMax: settings.limits.responseStallTimeoutMs };
    return forward(accepted, responder, { recorder, egress, budget, span, ...bounds });
  }

  #refuse(exchange: Exchange, target: string, refusal: Refusal): void {
    // Do not wait for the rest of a request that timed out.
    if (refusal.code === 'request_timeout') exchange.hasUnreadBody = false;
    const { status, headers, body } = rejectionProblem(refusal);
    const { config, metrics, refusals, onRejected } = this.#parts;
    exchange.respond(status, [...headers, ['date', exchange.date()]], body);
    const { request, startedMs } = exchange;
    metrics.refused(refusal.code, countRefusal(refusals, refusal.code, { request, target }, config.tableAt(startedMs)));
    const { method = '' } = request;
    onRejected?.({ code: refusal.code, status, method, path: target.replace(/[?#].*$/s, '') });
  }
}

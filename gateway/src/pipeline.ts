import { setTimeout as pause } from 'node:timers/promises';
import type { Egress } from '@standin/egress';
import { Holding, readTarget, SharedPool, type AccountConfig } from '@standin/contract';
import { delayUs, isPreflight, Preflight } from '@standin/responses';
import type { Logger } from 'pino';
import type { QuotaGate } from './admit/quota-gate.ts';
import { RateLimiter } from './admit/rate-limiter.ts';
import { authenticate, hideValues, loggedTrailers } from './authenticate/authenticate.ts';
import { revoked } from './verify/revoked.ts';
import { NO_SECRETS, verify } from './verify/verify.ts';
import type { UnauthenticatedBudget } from './verify/unauthenticated-budget.ts';
import type { ConfigStore } from './config/config-store.ts';
import { forward, expandUpstreamUrl, type FallbackResponse } from './forward/forward.ts';
import { match } from './match/match.ts';
import { countRefusal } from './observe/count-refusal.ts';
import type { Metrics } from './observe/metrics.ts';
import type { RefusalCounts } from './observe/refusal-counts.ts';
import type { RequestSpan, Tracing } from './observe/tracing.ts';
import type { HeadVerdict } from './receive/head-scanner.ts';
import { GONE, noRoom, readBody } from './receive/read-body.ts';
import { readHead } from './receive/read-head.ts';
import { buildGoneRow, buildMockRow, buildRequestRow } from './record/build-row.ts';
import type { Recorder } from './record/recorder.ts';
import { rowId } from './record/row-id.ts';
import type { Accepted, Authenticated, Permit } from './request/accepted.ts';
import type { Barrier } from './request/barrier.ts';
import type { ByteBudget } from './request/byte-budget.ts';
import { mockInTime } from './request/exchange-timeout.ts';
import type { Exchange } from './request/exchange.ts';
import type { OldestRequests } from './request/oldest-requests.ts';
import { rejectionProblem } from './request/problem.ts';
import { Refusal, retryLater, type RejectedRequest } from './request/refusal.ts';
import type { Asked } from './request/expressions.ts';
import type { ForwardEndpoint, Responder, Route } from './request/route.ts';
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

const SECRET_UNUSABLE = retryLater('endpoint_not_accepted', {
  detail:
    "A header for the endpoint's upstream comes from a Secret that cannot be used: the condition ResolvedRefs of the Endpoint, the output of standin dev, and standin validate say what is wrong.",
});

/** Returns a refusal if a header for the upstream is in a Secret that cannot be used, or that this gateway does not have. */
const withoutSecret = (endpoint: ForwardEndpoint, config: Pick<ConfigStore, 'secretHeaders'>): Refusal | undefined => {
  if (endpoint.forward.secretHeaders?.some(({ secretId }) => secretId === undefined) === true) return SECRET_UNUSABLE;
  return config.secretHeaders(endpoint) === undefined ? NO_SECRETS : undefined;
};

/** What an admitted request has until it is recorded or refused. Disposing of it has no effect after `settle`. */
class Admission implements Disposable {
  readonly permit: Permit;
  readonly #account: AccountConfig;
  readonly #gate: PipelineParts['gate'];
  #leave: (() => void) | undefined;

  constructor(permit: Permit, account: AccountConfig, { gate, unsettled }: PipelineParts) {
    this.permit = permit;
    this.#account = account;
    this.#gate = gate;
    this.#leave = unsettled.enter();
  }

  /** A recorded request counts, regardless of what happens next. A request that is not recorded is not accepted. */
  settle(isRecorded: boolean): void {
    if (this.#leave === undefined) return;
    if (isRecorded) this.#gate.use(this.#account, this.permit);
    else this.#gate.giveBack(this.#account, this.permit);
    this.#leave();
    this.#leave = undefined;
  }

  [Symbol.dispose](): void {
    this.settle(false);
  }
}

const REQUESTS_USED = retryLater('overloaded', {
  detail:
    "Other requests to this account's namespace use its share of the gateway's requests in progress. Wait for their responses before you send more, or shorten the delays and timeouts of the endpoints.",
});

const DISK_USED = retryLater('overloaded', {
  detail:
    "Captured requests of this account's namespace use its share of the gateway's disk, where they wait for ClickHouse or for their response. Try again later.",
});

/** A mock that responds to a recorded request, as the fallback of an upstream if there is one. */
type PlannedResponse = Pick<FallbackResponse, 'mock'> & Partial<FallbackResponse>;

/** During a delay, a body up to this size stays in memory, like the head. So does any body during a short delay. */
const KEPT_BODY_BYTES_MAX = 4_096;
const SHORT_DELAY_MS_MAX = 2_000;
/** How often to check whether there is memory for a body that is read from the disk after a delay. */
const ROOM_CHECK_MS = 50;
/** How long to wait before a body is read again after a failure. */
const READ_AGAIN_MS = 500;
const NOTHING = new Uint8Array(0);

/** An accepted request during the delay of its response. */
interface DelayedRequest {
  /** Without the body if it is read from the disk later. */
  readonly accepted: Accepted;
  /** The size of the body to be read from the disk. 0 if it is in memory. */
  readonly unreadBytes: number;
}

const duringDelay = (accepted: Accepted, delayMs: number): DelayedRequest => {
  const { body, authenticated } = accepted;
  const isKept = delayMs <= SHORT_DELAY_MS_MAX || body.length <= KEPT_BODY_BYTES_MAX;
  return {
    accepted: {
      ...accepted,
      body: isKept ? body : NOTHING,
      authenticated: authenticated.kind === 'key' ? authenticated : { ...authenticated, body: NOTHING },
    },
    unreadBytes: isKept ? 0 : body.length,
  };
};

/**
 * Takes each request through the stages. A stage refuses a request by returning a `Refusal`. After `record` has stored a request,
 * it can no longer be refused.
 */
export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #captureBytesMax: number;
  readonly #rates = new RateLimiter();
  #isDraining = false;
  /**
   * The requests that are being handled, each at its `runningIndex`, except those whose response waits for its delay. Not
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
  }

  /** Handles one request. `target` is the request target as received, and `verdict` comes from the scanner. Never throws. */
  handle(exchange: Exchange, target: string, verdict: HeadVerdict | undefined): void {
    exchange.runningIndex = this.#running.push(exchange) - 1;
    void this.#run(exchange, target, verdict);
  }

  /** From now on, every response ends its connection, and none is delayed. Resolves when those that were delayed are sent. */
  drain(): Promise<void> {
    this.#isDraining = true;
    return this.#delayed.stop();
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

  /**
   * Returns the earliest `receivedAtUs` of the requests that are neither recorded nor refused, by the uid of their project. Undefined
   * stands for requests whose project is not known yet.
   */
  unrecordedSinceUs(): ReadonlyMap<string | undefined, number> {
    const since = new Map<string | undefined, number>();
    for (const { receivedAtUs, project, isRecorded } of this.#running)
      if (!isRecorded && receivedAtUs < (since.get(project?.uid) ?? Infinity)) since.set(project?.uid, receivedAtUs);
    return since;
  }

  /** Resolves when no request is running. */
  idle(): Promise<void> {
    return this.running === 0 ? Promise.resolve() : new Promise((resolve) => (this.#onIdle = resolve));
  }

  async #run(exchange: Exchange, target: string, verdict: HeadVerdict | undefined): Promise<void> {
    let isDelayed = false;
    try {
      const result = this.#withReason(await this.#runStages(exchange, target, verdict));
      if (typeof result === 'boolean') {
        isDelayed = result;
        return;
      }
      this.#decide(exchange, result instanceof Refusal && result.closes);
      if (result instanceof Preflight) exchange.respond(204, [...result.headers, ['date', exchange.date()]], '');
      else if (result instanceof Refusal) this.#refuse(exchange, target, result);
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
  #withReason<T>(result: T | Refusal): T | Refusal {
    const waitsForDisk = result instanceof Refusal && result.code === 'overloaded' && this.#parts.recorder.isFull;
    return waitsForDisk ? retryLater('log_unavailable', { closes: result.closes }) : result;
  }

  #decide(exchange: Exchange, closes: boolean): void {
    exchange.decide(closes || this.#isDraining || !this.#keepsConnection(exchange));
  }

  /** Counts the connection for the namespace. Returns false if the connection must end because the namespace's share is used up. */
  #keepsConnection({ namespace, connection, isGone }: Exchange): boolean {
    if (namespace === connection.namespace || namespace === '' || isGone) return true;
    connection.place?.[Symbol.dispose]();
    connection.place = this.connections.hold(namespace);
    connection.namespace = connection.place === undefined ? '' : namespace;
    return connection.place !== undefined;
  }

  /** Gives back what the request holds of the pools when its response is sent. */
  #release(exchange: Exchange): void {
    const { place, memory } = exchange;
    if (place === undefined) return;
    const release = () => {
      memory?.[Symbol.dispose]();
      place[Symbol.dispose]();
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

  /** Records the request and responds. Resolves with true if the response waits for its delay. */
  async #serve(accepted: Accepted, admission: Admission): Promise<boolean> {
    const { metrics, tracing, recorder } = this.#parts;
    const { id, exchange, head, responder } = accepted;
    let span: RequestSpan | undefined;
    let isDelayed = false;
    try {
      span = tracing?.start(accepted);
      const isRecorded = await this.#record(accepted);
      admission.settle(isRecorded);
      exchange.isRecorded = isRecorded;
      if (!isRecorded) {
        this.#refuse(exchange, head.target, retryLater('log_unavailable'));
        return false;
      }
      const planned: PlannedResponse | undefined =
        responder.kind === 'JSON' ? responder : await this.#forward(accepted, responder, span);
      const delayMs = delayUs(planned?.mock.delay, id) / 1_000;
      isDelayed = delayMs > 0;
      if (planned !== undefined && responder.kind === 'Forward') exchange.memory?.add(planned.mock.bytes.length);
      if (planned !== undefined && isDelayed)
        this.#respondLater(duringDelay(accepted, delayMs), planned, delayMs, span);
      else if (planned !== undefined) {
        if (responder.kind === 'Forward')
          await recorder.exchange(buildMockRow(accepted, planned.mock, planned.upstream));
        respond(exchange, planned.mock);
      }
      const { headersSent, statusCode } = exchange.response;
      // Without a caller, there was no response.
      const status = planned?.mock.status ?? (headersSent ? statusCode : 0);
      metrics.responded(accepted, status, performance.now() - exchange.startedMs);
    } finally {
      if (!isDelayed) span?.end();
    }
    return isDelayed;
  }

  #respondLater(
    delayed: DelayedRequest,
    planned: PlannedResponse,
    delayMs: number,
    span: RequestSpan | undefined,
  ): void {
    const { exchange, body } = delayed.accepted;
    exchange.memory?.add(body.length);
    const respondNow = () => this.#respondAfterDelay(delayed, planned);
    const responding = this.#delayed.respond(exchange, delayMs, respondNow).catch((error: unknown) => {
      this.#parts.logger.error({ err: error }, 'request failed');
      exchange.destroy();
    });
    void responding.then(() => {
      this.#release(exchange);
      span?.end();
      this.#ended();
    });
  }

  /** Records the exchange as it ended. Then responds, unless the caller has disconnected. */
  async #respondAfterDelay(delayed: DelayedRequest, { mock, upstream }: PlannedResponse): Promise<void> {
    const { budget, recorder } = this.#parts;
    let { accepted } = delayed;
    const { exchange, route } = accepted;
    using memory = new Holding(budget, route.account.namespace);
    if (delayed.unreadBytes > 0) accepted = { ...accepted, body: await this.#readBodyAgain(delayed, memory) };
    const buildEndRow = exchange.isGone ? buildGoneRow : buildMockRow;
    if (await recorder.exchange(buildEndRow(accepted, mock, upstream))) respond(exchange, mock);
    else exchange.destroy();
  }

  /** Reads a body from the disk when there is memory for it. */
  async #readBodyAgain({ accepted, unreadBytes }: DelayedRequest, memory: Holding): Promise<Uint8Array> {
    const { budget, recorder } = this.#parts;
    const { exchange, id, route } = accepted;
    // The bodies of many requests can be needed at the same time, for example when the gateway stops.
    while (!budget.hasRoomFor(route.account.namespace, unreadBytes) && exchange.leftMs > 0)
      await pause(ROOM_CHECK_MS, undefined, { ref: false });
    memory.add(unreadBytes);
    for (;;) {
      try {
        return await recorder.requestBody(id);
      } catch (error) {
        // A failure can be temporary, for example if the process has too many open files.
        if (this.#isDraining || exchange.leftMs <= 0) throw error;
        await pause(READ_AGAIN_MS, undefined, { ref: false });
      }
    }
  }

  /**
   * Takes a request through all stages, in the order of docs/internals/architecture.md. Resolves with true if the response waits for its
   * delay.
   */
  async #runStages(
    exchange: Exchange,
    target: string,
    verdict: HeadVerdict | undefined,
  ): Promise<boolean | Refusal | Preflight | typeof GONE> {
    const { settings, config, budget } = this.#parts;
    const { requestTargetBytes, requestBodyBytes: bodyBytesMax } = settings.limits;
    const head = readHead(exchange.request, target, verdict, requestTargetBytes);
    if (head instanceof Refusal) return head;
    exchange.hasUnreadBody = head.isChunked || head.contentLength > 0;
    exchange.awaitsContinue = head.expectsContinue;

    const table = config.tableAt(exchange.startedMs);
    if (table === undefined) return retryLater('not_ready');
    const cors = table.projectAt(head.projectUri)?.cors;
    if (cors !== undefined && isPreflight(exchange.request)) return new Preflight(cors, exchange.request);
    exchange.cors = cors;

    const byKey = authenticate(head, table, settings.apiKeyHeader.name);
    if (byKey instanceof Refusal) return byKey;
    const route = match(head, byKey, table);
    if (route instanceof Refusal) return route;
    exchange.project = route.project;
    const authenticated = byKey ?? (await verify(exchange, head, route, this.#parts));
    if (authenticated instanceof Refusal || authenticated === GONE) return authenticated;

    const { namespace } = route.account;
    const crowded = this.#enter(exchange, namespace, head.headerBytes);
    if (crowded !== undefined) return crowded;
    using memory = new Holding(budget, namespace);
    const received = authenticated.kind === 'signature' ? authenticated.body : undefined;
    const body = await readBody(exchange, head, { bodyBytesMax, budget, memory, received });
    if (body instanceof Refusal || body === GONE) return body;
    const requestUs = exchange.elapsedUs();

    const preparing = route.endpoint.preparation.finish();
    if (preparing !== undefined) await preparing;
    const admitting = this.#admit(authenticated, route);
    const admitted = admitting instanceof Promise ? await admitting : admitting;
    if (admitted instanceof Refusal) return admitted;
    using admission = admitted;

    const secretHeaders = route.endpoint.credential?.secretHeaders;
    if (secretHeaders !== undefined) hideValues(head.headers, secretHeaders);
    const id = rowId(Math.floor(exchange.receivedAtUs / 1000));
    const responder = chooseInTime({ id, exchange, head, body, route });
    if (responder.kind === 'JSON' && exchange.memory?.take(responder.mock.bytes.length) === false)
      return noRoom(budget);
    const withheld = responder.kind === 'Forward' ? withoutSecret(responder, config) : undefined;
    if (withheld !== undefined) return withheld;
    this.#decide(exchange, false);
    const accepted: Accepted = {
      id,
      gateway: settings.name,
      exchange,
      head,
      body,
      trailers: loggedTrailers(exchange.request.rawTrailers, secretHeaders),
      authenticated,
      route,
      responder,
      permit: admission.permit,
      requestUs,
    };
    return await this.#serve(accepted, admission);
  }

  /** Counts the request towards the shares of the namespace, until its response is sent. */
  #enter(exchange: Exchange, namespace: string, headerBytes: number): Refusal | undefined {
    const { recorder, budget } = this.#parts;
    exchange.namespace = namespace;
    exchange.place = this.requests.hold(namespace);
    if (exchange.place === undefined) return REQUESTS_USED;
    if (!recorder.admits(namespace)) return DISK_USED;
    exchange.memory = budget.hold(namespace, headerBytes);
    return exchange.memory === undefined ? noRoom(budget) : undefined;
  }

  /**
   * Applies the rate limit, spends one permit and enters `unsettled`. Checks the key or the secret before and after waiting for a
   * permit, because it may be replaced while the body arrives and while this method waits.
   */
  #admit(authenticated: Authenticated, route: Route): Admission | Refusal | Promise<Admission | Refusal> {
    const { config, gate } = this.#parts;
    const admitted = (permit: Permit | Refusal): Admission | Refusal =>
      permit instanceof Refusal ? permit : new Admission(permit, route.account, this.#parts);
    const spent =
      revoked(authenticated, route, config) ?? this.#rates.admit(route.account) ?? gate.admit(route.account);
    if (!(spent instanceof Promise)) return admitted(spent);
    return spent.then((permit) => {
      const refusal = permit instanceof Refusal ? permit : revoked(authenticated, route, config);
      if (refusal === undefined) return admitted(permit);
      if (!(permit instanceof Refusal)) gate.giveBack(route.account, permit);
      return refusal;
    });
  }

  /**
   * Records the request. A request for a mock is recorded with its response. If the response is delayed or an upstream is called, the
   * request is recorded before that, without a response. Resolves with false if the request is not recorded.
   */
  #record(accepted: Accepted): Promise<boolean> {
    const { recorder } = this.#parts;
    const { id, responder } = accepted;
    if (responder.kind === 'Forward')
      return recorder.request(buildRequestRow(accepted, { upstreamUrl: expandUpstreamUrl(accepted, responder) }));
    const delay = delayUs(responder.mock.delay, id);
    return delay > 0
      ? recorder.request(buildRequestRow(accepted, { delayUs: delay }))
      : recorder.exchange(buildMockRow(accepted, responder.mock));
  }

  /** Resolves with the fallback that is to be sent. Resolves with undefined if the upstream's response has been sent. */
  #forward(
    accepted: Accepted,
    responder: ForwardEndpoint,
    span: RequestSpan | undefined,
  ): Promise<FallbackResponse | undefined> {
    const { recorder, egress, budget, settings, config } = this.#parts;
    const { responseStallTimeoutMs, disconnectedReadMs } = settings.limits;
    const withoutCaller = { headMsMax: responseStallTimeoutMs, bodyMsMax: disconnectedReadMs };
    const captureBytesMax = this.#captureBytesMax;
    return forward(accepted, responder, {
      recorder,
      egress,
      budget,
      span,
      captureBytesMax,
      authority: (uid) => config.authority(uid),
      withoutCaller,
      secretHeaders: (endpoint) => config.secretHeaders(endpoint),
    });
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
    onRejected?.({ code: refusal.code, status, method, path: readTarget(target).originForm.replace(/[?#].*$/s, '') });
  }
}

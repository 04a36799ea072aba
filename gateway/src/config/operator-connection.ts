import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import {
  CONFIG_FEATURES,
  permitAnswerSchema,
  STREAM_SERVER_NAME,
  type Ack,
  type DrainedReport,
  type PermitAnswer,
  type PermitRequest,
  type RefusalReport,
  type Refusals,
  type SettledReport,
  type UsageReport,
} from '@standin/contract';
import { wallClockUs } from '../request/clock.ts';

/** An address at which an operator may respond. */
export interface OperatorAddress {
  readonly url: URL;
  /** The resolved address of the host. */
  readonly address: string;
}

/** An operator that does not respond within this time counts as unavailable. */
const RESPONSE_TIMEOUT_MS = 3_000;
/** The maximum number of connections to one operator: for the stream, acknowledgements, and permit requests of many accounts. */
const SOCKETS_MAX = 16;
/** The maximum size of a response other than the stream. Such a response is one line of JSON. */
const RESPONSE_BYTES_MAX = 64 * 1024;
/** The names of the features that this gateway supports. */
const FEATURES = Object.keys(CONFIG_FEATURES).join();

/** The facts that a gateway reports about itself when it connects. */
export interface GatewayIdentity {
  readonly name: string;
  readonly instance: string;
  readonly maxStalenessMs: number;
}

interface OperatorResponse {
  readonly status: number;
  readonly body: string;
}

/**
 * HTTPS connections to one operator, with certificates on both sides. `open` reads the certificate files each time, so renewed
 * certificates do not require a restart.
 */
export class OperatorConnection {
  readonly #target: OperatorAddress;
  readonly #agent: Agent;
  readonly #gateway: GatewayIdentity;

  private constructor(target: OperatorAddress, agent: Agent, gateway: GatewayIdentity) {
    this.#target = target;
    this.#agent = agent;
    this.#gateway = gateway;
  }

  static async open(target: OperatorAddress, tlsDir: string, gateway: GatewayIdentity): Promise<OperatorConnection> {
    const [ca, cert, key] = await Promise.all(
      ['ca.crt', 'tls.crt', 'tls.key'].map((file) => readFile(join(tlsDir, file))),
    );
    // Operators are dialed by address, and the certificate proves their identity.
    const tls = { ca, cert, key, servername: STREAM_SERVER_NAME, minVersion: 'TLSv1.3' as const };
    return new OperatorConnection(target, new Agent({ ...tls, keepAlive: true, maxSockets: SOCKETS_MAX }), gateway);
  }

  get origin(): string {
    return this.#target.url.origin;
  }

  /** Returns the config stream after its response head has arrived. The caller must destroy the stream. */
  stream(signal: AbortSignal): Promise<IncomingMessage> {
    const { name, instance, maxStalenessMs } = this.#gateway;
    const query = new URLSearchParams({
      gateway: name,
      instance,
      maxStalenessMs: String(maxStalenessMs),
      features: FEATURES,
    });
    return this.#send('GET', `/v1/config?${query.toString()}`, { signal });
  }

  /** Sends an acknowledgement. Resolves with false if the operator does not know this gateway, which then has to reconnect. */
  async ack(ack: Omit<Ack, 'gateway' | 'instance'>, signal: AbortSignal): Promise<boolean> {
    const { name, instance } = this.#gateway;
    const body = JSON.stringify({ gateway: name, instance, ...ack } satisfies Ack);
    const query = new URLSearchParams({ features: FEATURES });
    const { status } = await readResponse(await this.#send('POST', `/v1/acks?${query.toString()}`, { signal, body }));
    if (status !== 204 && status !== 409)
      throw new Error(`the operator responded to an acknowledgement with status ${status}`);
    return status === 204;
  }

  /**
   * Requests permits. See `LIMITS.quotaRecallWaitMs` for how long a response may take. Rejects if the response is not a
   * `PermitAnswer`.
   */
  async permits(request: Omit<PermitRequest, 'gateway' | 'instance'>, signal: AbortSignal): Promise<PermitAnswer> {
    const { name: gateway, instance } = this.#gateway;
    const named = { gateway, instance, ...request } satisfies PermitRequest;
    const { status, body } = await readResponse(
      await this.#send('POST', '/v1/permits', { signal, body: JSON.stringify(named) }),
    );
    if (status !== 200) throw new Error(`the operator responded to a permit request with status ${status}`);
    return permitAnswerSchema.parse(JSON.parse(body));
  }

  async usage(accounts: UsageReport['accounts'], signal: AbortSignal): Promise<void> {
    const { name: gateway, instance } = this.#gateway;
    const report = { gateway, instance, accounts } satisfies UsageReport;
    const { status } = await readResponse(
      await this.#send('POST', '/v1/usage', { signal, body: JSON.stringify(report) }),
    );
    if (status !== 204) throw new Error(`the operator responded to a usage report with status ${status}`);
  }

  async drained(instance: string, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify({ instance } satisfies DrainedReport);
    const { status } = await readResponse(await this.#send('POST', '/v1/drained', { signal, body }));
    if (status !== 204)
      throw new Error(`the operator responded to the report of a drained spool with status ${status}`);
  }

  async refusals(ask: string, refusals: Refusals, signal: AbortSignal): Promise<void> {
    const { name: gateway, instance } = this.#gateway;
    const body = JSON.stringify({ gateway, instance, ask, refusals } satisfies RefusalReport);
    const { status } = await readResponse(await this.#send('POST', '/v1/refusals', { signal, body }));
    if (status !== 204) throw new Error(`the operator responded to a report of refused requests with status ${status}`);
  }

  async settled(settled: SettledReport['settled'], signal: AbortSignal): Promise<void> {
    const { name: gateway, instance } = this.#gateway;
    const sentUs = Math.floor(wallClockUs(performance.now()));
    const body = JSON.stringify({ gateway, instance, sentUs, settled } satisfies SettledReport);
    const { status } = await readResponse(await this.#send('POST', '/v1/settled', { signal, body }));
    if (status !== 204) throw new Error(`the operator responded to a report of settled logs with status ${status}`);
  }

  /**
   * Announces that this gateway is stopping, so that the operator does not wait for it. `undelivered` is that of an acknowledgement.
   */
  async goodbye(undelivered: Ack['undelivered'], signal: AbortSignal): Promise<void> {
    const { name, instance } = this.#gateway;
    const hasUndelivered =
      undelivered === undefined ||
      undelivered.ageMs > 0 ||
      undelivered.hasQuarantine ||
      undelivered.projects.length > 0;
    const query = new URLSearchParams({ instance, ...(hasUndelivered && { undelivered: 'true' }) });
    await readResponse(
      await this.#send('DELETE', `/v1/gateways/${encodeURIComponent(name)}?${query.toString()}`, { signal }),
    );
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(method: string, path: string, options: { signal: AbortSignal; body?: string }): Promise<IncomingMessage> {
    const { url, address } = this.#target;
    const { signal, body } = options;
    return new Promise((resolve, reject) => {
      const request = httpsRequest({
        host: address,
        port: url.port === '' ? 443 : url.port,
        method,
        path,
        agent: this.#agent,
        signal,
        headers: {
          host: url.host,
          ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
      });
      const timer = setTimeout(
        () => request.destroy(new Error(`no response within ${RESPONSE_TIMEOUT_MS} ms`)),
        RESPONSE_TIMEOUT_MS,
      );
      request.once('response', (response) => {
        clearTimeout(timer);
        resolve(response);
      });
      // After the response has begun, errors are emitted on the response instead.
      request.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      request.end(body);
    });
  }
}

/** Reads a whole response that is not a stream. */
export const readResponse = async (response: IncomingMessage): Promise<OperatorResponse> => {
  const timer = setTimeout(() => response.destroy(new Error('the response stalled')), RESPONSE_TIMEOUT_MS);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > RESPONSE_BYTES_MAX) throw new Error('the response is too long');
      chunks.push(chunk);
    }
  } finally {
    clearTimeout(timer);
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') };
};

import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { request, type RequestOptions } from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import {
  gatheredRefusalsSchema,
  identityAnswerSchema,
  notLeaderSchema,
  SourceError,
  STREAM_SERVER_NAME,
  type ClaimedIdentity,
  LIMITS,
  settledSchema,
  type GatheredRefusals,
  type Settled,
} from '@standin/contract';
import type { LogOwner } from '@standin/logstore';
import type { Logger } from 'pino';
import type { z } from 'zod';

export interface OperatorParts {
  /** URLs of the operators' config stream. Every address of every host name is tried. */
  readonly urls: readonly string[];
  /** The folder with ca.crt, tls.crt and tls.key. The files are read for each call. */
  readonly tlsDir: string;
  readonly logger: Logger;
}

/** Asks the leading operator. Its methods reject with `SourceError`. */
export interface OperatorClient {
  /** Resolves with the refused requests of a project. */
  refusals(project: LogOwner): Promise<GatheredRefusals>;
  /** Resolves with whether the log of a project has everything that the gateways have accepted. */
  settle(project: LogOwner): Promise<Settled>;
  /** Resolves with whether each object has the identity, for at most `LIMITS.identitiesAskedMax` objects. */
  holdIdentities(claimed: readonly ClaimedIdentity[]): Promise<readonly boolean[]>;
}

/** What a call takes beside the operator's wait for the gateways. */
const OVERHEAD_MS = 2_500;
/** More operators than anyone runs. Bounds the addresses that are tried. */
const ADDRESSES_MAX = 16;
/** Far longer than `LIMITS.refusalsReportedMax` counts. */
const RESPONSE_BYTES_MAX = 1024 * 1024;

interface Target {
  readonly url: URL;
  /** The resolved address of the host. */
  readonly address: string;
}

interface Response {
  readonly status: number;
  readonly body: unknown;
}

/** A call of the operator's API. */
interface Call<T> {
  /** What the operator should return, in a sentence for people. */
  readonly what: string;
  readonly target: string;
  /** Sent as JSON with POST. If undefined, the method is GET. */
  readonly body?: unknown;
  readonly schema: z.ZodType<T>;
  /** How long the operator may wait for the gateways. */
  readonly waitMs: number;
}

export const operatorClient = ({ urls, tlsDir, logger }: OperatorParts): OperatorClient => {
  const call = async <T>({ what, target, body, schema, waitMs }: Call<T>): Promise<T> => {
    try {
      const [ca, cert, key] = await Promise.all(
        ['ca.crt', 'tls.crt', 'tls.key'].map((file) => readFile(path.join(tlsDir, file))),
      );
      const tls = { ca, cert, key, servername: STREAM_SERVER_NAME, minVersion: 'TLSv1.3' } as const;
      const text = body === undefined ? undefined : JSON.stringify(body);
      const sent = { path: target, body: text, timeoutMs: waitMs + OVERHEAD_MS };
      return schema.parse(await askLeader(urls, (operator) => send(operator, sent, tls)));
    } catch (error) {
      // The message may contain addresses and paths.
      logger.warn({ err: error, path: target.split('?')[0] }, 'operator could not be asked');
      const message = `the operator did not return ${what}: try again later, or see the dashboard log`;
      throw new SourceError('Unavailable', message, { cause: error });
    }
  };
  return {
    refusals: ({ namespace, name, uid }) =>
      call({
        what: 'the refused requests',
        target: `/v1/refusals?${new URLSearchParams({ namespace, name, uid }).toString()}`,
        schema: gatheredRefusalsSchema,
        waitMs: LIMITS.refusalsWaitMs,
      }),
    settle: ({ namespace, name, uid }) =>
      call({
        what: 'whether the log is complete',
        target: `/v1/settled?${new URLSearchParams({ namespace, name, uid }).toString()}`,
        schema: settledSchema,
        waitMs: LIMITS.settleWaitMs,
      }),
    holdIdentities: async (claimed) => {
      const { held } = await call({
        what: 'the identities of the objects',
        target: '/v1/identities',
        body: { claimed },
        schema: identityAnswerSchema,
        waitMs: 0,
      });
      return held;
    },
  };
};

/** Tries the addresses until one of the operators leads. An operator that does not lead names the leader. */
const askLeader = async (urls: readonly string[], ask: (target: Target) => Promise<Response>): Promise<unknown> => {
  const queue = (await Promise.all(urls.map(resolveTargets))).flat().slice(0, ADDRESSES_MAX);
  let failure: unknown = new Error('no operator has an address');
  let hint: string | undefined;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    try {
      const { status, body } = await ask(next);
      if (status === 200) return body;
      const follower = status === 503 ? notLeaderSchema.safeParse(body).data : undefined;
      failure = new Error(follower === undefined ? `it responded with status ${status}` : 'no operator is leading');
      const leader = follower?.leader ?? undefined;
      if (leader === undefined || leader === hint) continue;
      hint = leader;
      queue.unshift(...(await resolveTargets(hint)));
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
};

const resolveTargets = async (text: string): Promise<Target[]> => {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:') return [];
  const found = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
  return found.map(({ address }) => ({ url, address }));
};

const send = (
  { url, address }: Target,
  {
    path: target,
    body,
    timeoutMs,
  }: { readonly path: string; readonly body: string | undefined; readonly timeoutMs: number },
  tls: RequestOptions,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { host: url.host, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const port = url.port === '' ? 443 : url.port;
    const call = request({ ...tls, host: address, port, path: target, method, agent: false, signal, headers });
    call.on('error', reject).on('response', (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > RESPONSE_BYTES_MAX) response.destroy(new Error('the response is too long'));
      });
      text(response)
        .then((received) => resolve({ status: response.statusCode ?? 0, body: JSON.parse(received) as unknown }))
        .catch(reject);
    });
    call.end(body);
  });

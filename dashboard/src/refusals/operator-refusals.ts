import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { request, type RequestOptions } from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import {
  gatheredRefusalsSchema,
  notLeaderSchema,
  SourceError,
  STREAM_SERVER_NAME,
  type GatheredRefusals,
} from '@standin/contract';
import type { Logger } from 'pino';

export interface OperatorParts {
  /** URLs of the operators' config stream. Every address of every host name is tried. */
  readonly urls: readonly string[];
  /** The folder with ca.crt, tls.crt and tls.key. The files are read for each call. */
  readonly tlsDir: string;
  readonly logger: Logger;
}

/** Asks the leading operator for the refused requests of a project, by its uid. Rejects with `SourceError`. */
export type GatherRefusals = (projectUid: string) => Promise<GatheredRefusals>;

/** Longer than `LIMITS.refusalsWaitMs`. */
const TIMEOUT_MS = 4_000;
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

export const operatorRefusals =
  ({ urls, tlsDir, logger }: OperatorParts): GatherRefusals =>
  async (projectUid) => {
    try {
      const [ca, cert, key] = await Promise.all(
        ['ca.crt', 'tls.crt', 'tls.key'].map((file) => readFile(path.join(tlsDir, file))),
      );
      const tls = { ca, cert, key, servername: STREAM_SERVER_NAME, minVersion: 'TLSv1.3' } as const;
      return await askLeader(urls, (target) =>
        send(target, `/v1/refusals?project=${encodeURIComponent(projectUid)}`, tls),
      );
    } catch (error) {
      // The message may contain addresses and paths.
      logger.warn({ err: error }, 'refused requests could not be read from the operator');
      const message = 'the operator did not return the refused requests: try again later, or see the dashboard log';
      throw new SourceError('Unavailable', message, { cause: error });
    }
  };

/** Tries the addresses until one of the operators leads. An operator that does not lead names the leader. */
const askLeader = async (
  urls: readonly string[],
  ask: (target: Target) => Promise<Response>,
): Promise<GatheredRefusals> => {
  const queue = (await Promise.all(urls.map(addressesOf))).flat().slice(0, ADDRESSES_MAX);
  let failure: unknown = new Error('no operator has an address');
  let hint: string | undefined;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    try {
      const { status, body } = await ask(next);
      if (status === 200) return gatheredRefusalsSchema.parse(body);
      const follower = status === 503 ? notLeaderSchema.safeParse(body).data : undefined;
      failure = new Error(follower === undefined ? `it responded with status ${status}` : 'no operator is leading');
      const leader = follower?.leader ?? undefined;
      if (leader === undefined || leader === hint) continue;
      hint = leader;
      queue.unshift(...(await addressesOf(hint)));
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
};

const addressesOf = async (text: string): Promise<Target[]> => {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:') return [];
  const found = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
  return found.map(({ address }) => ({ url, address }));
};

const send = ({ url, address }: Target, target: string, tls: RequestOptions): Promise<Response> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const headers = { host: url.host };
    const port = url.port === '' ? 443 : url.port;
    const call = request({ ...tls, host: address, port, path: target, agent: false, signal, headers });
    call.on('error', reject).on('response', (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > RESPONSE_BYTES_MAX) response.destroy(new Error('the response is too long'));
      });
      text(response)
        .then((body) => resolve({ status: response.statusCode ?? 0, body: JSON.parse(body) as unknown }))
        .catch(reject);
    });
    call.end();
  });

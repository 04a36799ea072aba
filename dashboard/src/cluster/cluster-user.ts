import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue, SharedPool, SourceError } from '@standin/contract';
import { KubeClient, type SharedConnectionConfig } from '@standin/kube';
import { anonymousConfig, tokenConfig } from '@standin/kube/kube-config';
import type { Pools } from '../pools.ts';
import type { Sender } from '../sender.ts';
import { UnsentError } from '../unsent-error.ts';

/** A user of the cluster, identified by a token that the API server may not have verified yet, who has sent one request. */
export interface ClusterUser {
  /** Derived from the token, so that data cached for one token is never used for another. */
  readonly id: string;
  /**
   * Every call carries the user's token and none of the dashboard's credentials, and waits for the user's turn. A call without a signal
   * is a write. If the user leaves while the first write waits, the write is not sent.
   */
  readonly client: KubeClient;
  /** For reads. Aborts when the user has left or the response is encoded, unless the request has begun to write. */
  readonly signal: AbortSignal;
  /** Resolves with the holder of the user's shares (`holders.ts`). */
  readonly findHolder: () => Promise<string>;
  /**
   * Counts memory for what was read, until the returned function is called, the response is encoded or the user has left. Rejects with
   * `SourceError` (`Unavailable`) if the user's share is used up.
   */
  hold(what: Held, bytes: number): Promise<() => void>;
  /**
   * Waits until the request may read long lists. It then has memory for one of them until the response is encoded, so that a slow
   * client occupies no place. Rejects with `SourceError` (`Unavailable`) if this takes too long.
   */
  holdList(): Promise<void>;
  /** Does work that occupies the process, in a turn of the event loop of its own. Users take turns. */
  step<T>(work: () => T): Promise<T>;
}

/** What was read from the API server as JSON, or from the log. */
type Held = 'objects' | 'captured requests';

/** Allows only one retry, because a user is waiting, and the page can report what is unavailable. */
const ATTEMPTS_MAX = 2;
const TIMEOUT_MS = 8_000;
/** Reviews of permissions are POST requests that write nothing, and one page may need thousands of them. */
const REVIEW_RATE = { qps: 1_000, burst: 1_000 };
/** One user can have half of them, which is as many as one list uses. */
const CONNECTIONS_MAX = 16;
/** Maximum number of running and waiting calls. One page may review permissions for hundreds of projects. */
const CALLS_MAX = 4_000;
const WAIT_MS = 8_000;
/** The size of objects as JSON. In memory, they can be three times as large, and the chart gives the process 768 MiB. */
const OBJECT_BYTES_MAX = 48 * 1024 * 1024;
/** Requests that read long lists at the same time. One user can have half of them, so that two pages of a user can load. */
const LISTS_MAX = 4;
/** 10,000 Endpoints, of which the list keeps only what lists show. A longer list also uses the user's share of the other memory. */
const LIST_BYTES_MAX = 12 * 1024 * 1024;
/** A long list takes about a second of the process. */
const LIST_WAIT_MS = 20_000;
/** Three requests of the maximum size for one user. JSON with bodies is encoded only as fast as the client receives it. */
const CAPTURED_BYTES_MAX = 128 * 1024 * 1024;
/** Parsing so many bytes takes less than a millisecond. */
const PARSED_INLINE_BYTES_MAX = 64 * 1024;

const refusal = (message: string) => (): SourceError =>
  new SourceError('Unavailable', `${message}: try again in a few seconds`);
const tooLarge = (what: Held): SourceError =>
  new SourceError(
    'Unavailable',
    `this request needs more memory for ${what} than one user can have: remove ${what}, or ask for those of one namespace only`,
  );
const busy = refusal('too many of your requests wait for the Kubernetes API server');

/** Creates users of the cluster in `config` from their tokens. Their calls share connections, which `close` closes. */
export const clusterUsers = (
  config: SharedConnectionConfig,
  pools?: Pools,
): { as(token: string, sender: Sender): ClusterUser; close(): Promise<void> } => {
  const anonymous = anonymousConfig(config, CONNECTIONS_MAX);
  const calls = new FairQueue({ runningMax: CONNECTIONS_MAX, callsMax: CALLS_MAX, waitMs: WAIT_MS, refusal: busy });
  const steps = new FairQueue({ runningMax: 1, callsMax: CALLS_MAX, refusal: busy });
  const lists = new FairQueue({
    runningMax: LISTS_MAX,
    callsMax: CALLS_MAX,
    waitMs: LIST_WAIT_MS,
    refusal: refusal('too many long lists are being read'),
  });
  const memory: Readonly<Record<Held, SharedPool>> = {
    objects: new SharedPool(OBJECT_BYTES_MAX),
    'captured requests': new SharedPool(CAPTURED_BYTES_MAX),
  };
  pools?.set('api_server_connections', calls.running).set('api_server_calls', calls.calls);
  pools?.set('long_lists', lists.running).set('long_list_calls', lists.calls);
  pools?.set('object_bytes', memory.objects).set('captured_bytes', memory['captured requests']);

  return {
    as: (token, sender) => {
      const { signal: left } = sender;
      let holder: Promise<string> | undefined;
      const findHolder = () => (holder ??= sender.findHolder());
      const reads = new AbortController();
      let hasWritten = false;
      const releases = new Set<() => void>();
      const held: Record<Held, number> = { objects: 0, 'captured requests': 0 };
      let list: Promise<void> | undefined;
      let listBytesLeft = 0;
      const { promise: hasLeft, resolve: endList } = Promise.withResolvers<undefined>();
      const leave = (): void => {
        if (!hasWritten) reads.abort(left.reason);
        for (const release of releases) release();
        endList(undefined);
      };
      if (left.aborted) leave();
      else left.addEventListener('abort', leave, { once: true });

      const inTurn = async <T>(attempt: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
        const begin = (): Promise<T> => {
          hasWritten ||= signal === undefined;
          return attempt();
        };
        try {
          return await calls.run(await findHolder(), begin, signal ?? reads.signal);
        } catch (error) {
          // A queue has refused the call. An earlier attempt may have been sent.
          throw error instanceof SourceError && !hasWritten ? new UnsentError(error) : error;
        }
      };
      const step = async <T>(work: () => T): Promise<T> =>
        steps.run(await findHolder(), async () => {
          await nextTurn();
          return work();
        });
      const parse = (body: Buffer): unknown => {
        const read = (): unknown => JSON.parse(body.toString());
        return body.length <= PARSED_INLINE_BYTES_MAX ? read() : step(read);
      };
      const startList = async (): Promise<void> => {
        const name = await findHolder();
        await new Promise<void>((resolve, reject) => {
          const begin = (): Promise<void> => {
            listBytesLeft = LIST_BYTES_MAX;
            resolve();
            return hasLeft;
          };
          lists.run(name, begin, reads.signal).catch(reject);
        });
      };
      return {
        id: createHash('sha256').update(token).digest('base64url'),
        client: new KubeClient({
          config: tokenConfig(anonymous, token),
          attemptsMax: ATTEMPTS_MAX,
          timeoutMs: TIMEOUT_MS,
          writeRate: REVIEW_RATE,
          inTurn,
          parse,
        }),
        signal: reads.signal,
        findHolder,
        hold: async (what, bytes) => {
          const name = await findHolder();
          if (left.aborted) {
            if (!hasWritten) throw left.reason;
            return () => undefined;
          }
          const fromList = what === 'objects' ? Math.min(bytes, listBytesLeft) : 0;
          const taken = bytes - fromList;
          if (!memory[what].take(name, taken)) {
            if (held[what] + taken > memory[what].capacity / 2) throw tooLarge(what);
            throw refusal(`your requests have used up your share of the memory for ${what}`)();
          }
          listBytesLeft -= fromList;
          held[what] += taken;
          const release = (): void => {
            if (!releases.delete(release)) return;
            memory[what].free(name, taken);
            listBytesLeft += fromList;
            held[what] -= taken;
          };
          releases.add(release);
          return release;
        },
        holdList: () => (list ??= startList()),
        step,
      };
    },
    close: () => anonymous.close(),
  };
};

import { seededRandom } from '../harness/seeded-random.ts';
import { json, type Stand } from '../torture/stand.ts';
import { OTHER_CORE, postText } from './contenders.ts';
import type { LoadResult } from './load.ts';
import { residentMiB } from './machine.ts';
import { runLoad } from './run-load.ts';

const MIB = 1024 * 1024;
const CONNECTIONS = 64;
const SLUG = '/bench';
const ANSWER = JSON.stringify({ id: '018f2c5e-0000-7000-8000-000000000000', note: 'x'.repeat(780) });
/** The number of different requests. */
const REQUESTS = 200;
/** The minimum and maximum sizes of the bodies. The logarithms of the sizes are spread evenly, so most bodies are small. */
const BODY_BYTES_MIN = 16;
const BODY_BYTES_MAX = 8_192;

interface LoadPart {
  readonly seconds: number;
  /** The number of requests per second. Unset for the maximum rate. */
  readonly perSecond?: number;
  readonly signal?: AbortSignal;
}

export interface Sample {
  readonly gatewayMiB: number;
  readonly backlogMib: number;
}

const mixedRequests = (stand: Stand): string[] => {
  const random = seededRandom(REQUESTS);
  return Array.from({ length: REQUESTS }, () => {
    const bytes = Math.floor(BODY_BYTES_MIN * (BODY_BYTES_MAX / BODY_BYTES_MIN) ** random());
    const body = Array.from({ length: bytes }, () => String.fromCharCode(32 + Math.floor(random() * 95))).join('');
    return postText(`/${stand.own.uri}${SLUG}`, `x-api-key: ${stand.own.key}\r\n`, body);
  });
};

/** Sends requests of many sizes to a mock endpoint of a gateway, and measures the gateway's resources. */
export class MixedLoad {
  readonly #stand: Stand;
  readonly #requests: readonly string[];
  /** The number of accepted requests. Each must have a row when the benchmark ends. */
  accepted = 0;

  private constructor(stand: Stand) {
    this.#stand = stand;
    this.#requests = mixedRequests(stand);
  }

  static async on(stand: Stand): Promise<MixedLoad> {
    await stand.publish({ slug: SLUG, method: 'POST', action: json(ANSWER) });
    return new MixedLoad(stand);
  }

  async run({ signal, ...options }: LoadPart): Promise<LoadResult> {
    const load = { port: this.#stand.port, requests: this.#requests, connections: CONNECTIONS, ...options };
    const result = await runLoad(load, { core: OTHER_CORE, ...(signal === undefined ? {} : { signal }) });
    this.accepted += result.requests - result.refused;
    return result;
  }

  /** Returns the gateway's current resident memory and backlog on disk. */
  async sample(): Promise<Sample> {
    const backlogBytes = await this.#stand.metric('standin_deliver_backlog_bytes');
    return { gatewayMiB: await residentMiB(this.#stand.gateway.pid), backlogMib: backlogBytes / MIB };
  }
}

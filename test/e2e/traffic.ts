import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { DeployedGateway } from '../harness/deployment.ts';

const PAUSE_MS = 5;

/** Clients that send requests with almost no pause. There is one client for each URL, and each request has its own body. */
export interface Traffic {
  /** The first line of the body of each request that has received a 200 so far. */
  readonly answered: readonly string[];
  /** All other results, such as other statuses and broken connections. */
  readonly failures: readonly string[];
  /** Stops the clients. Resolves when their last requests have ended. */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  /** The number of bytes in each body in addition to the first line. */
  readonly paddingBytes?: number;
}

export const startTraffic = (
  gateways: readonly Pick<DeployedGateway, 'url'>[],
  path: string,
  key: string,
  { paddingBytes = 0 }: TrafficOptions = {},
): Traffic => {
  const padding = paddingBytes > 0 ? `\n${'x'.repeat(paddingBytes)}` : '';
  const answered: string[] = [];
  const failures: string[] = [];
  let isStopped = false;
  const caller = async ({ url }: Pick<DeployedGateway, 'url'>, index: number): Promise<void> => {
    const pool = new Pool(url);
    for (let count = 0; !isStopped; count += 1) {
      const body = `${index} ${count}`;
      try {
        const response = await pool.request({
          method: 'POST',
          path,
          headers: { 'x-api-key': key },
          body: body + padding,
        });
        await response.body.dump();
        if (response.statusCode === 200) answered.push(body);
        else failures.push(`${body}: ${response.statusCode} ${String(response.headers['standin-rejected'] ?? '')}`);
      } catch (error) {
        failures.push(`${body}: ${String(error)}`);
      }
      await delay(PAUSE_MS);
    }
    await pool.close();
  };
  const callers = Promise.all(gateways.map(caller));
  return {
    answered,
    failures,
    stop: async () => {
      isStopped = true;
      await callers;
    },
  };
};

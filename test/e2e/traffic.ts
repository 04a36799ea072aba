import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { DeployedGateway } from '../harness/deployment.ts';

const PAUSE_MS = 5;

/** Callers who never pause for long: one for each URL, each request with a body of its own. */
export interface Traffic {
  /** Bodies, up to their first line's end, of all requests that were answered with 200, so far. */
  readonly answered: readonly string[];
  /** What else happened: other statuses, broken connections. */
  readonly failures: readonly string[];
  /** Resolves when the last request has been answered. */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  /** What each body has besides its own line. */
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

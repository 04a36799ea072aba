import path from 'node:path';
import type { EngineAddress } from '@standin/engine';
import { findRunning, readRunFile } from './run-file.ts';
import { PlainError } from '../plain-error.ts';
import { openLocal, type ApiClient } from './api-client.ts';

export interface RunningApi {
  readonly api: ApiClient;
  /** The dashboard's address. */
  readonly dashboard: string;
  /** For `openLogStore`. */
  readonly clickhouse: EngineAddress;
}

const ANSWER_MS_MAX = 5_000;

const answers = (dashboard: string): Promise<boolean> =>
  fetch(new URL('/healthz', dashboard), { signal: AbortSignal.timeout(ANSWER_MS_MAX) }).then(
    ({ ok }) => ok,
    () => false,
  );

/**
 * The JSON API of the `standin dev` that runs on a data folder. Rejects with a `PlainError` if none runs, or it runs without its
 * dashboard.
 *
 * @param role what the dashboard does for the command, as in `shows links`
 */
export const openRunning = async (data: string, role: string): Promise<RunningApi> => {
  const run = await readRunFile(path.resolve(data));
  // Prefers the dashboard over ClickHouse: ClickHouse may be unavailable, and many requests work without it.
  const isThere = run?.dashboard !== undefined && (await answers(run.dashboard));
  const running = isThere ? run : await findRunning(path.resolve(data));
  if (running === undefined)
    throw new PlainError(`no standin dev runs on ${data}: start it first, or name its folder with --data`);
  const { dashboard, clickhouse } = running;
  if (dashboard === undefined)
    throw new PlainError(`this standin dev runs without its dashboard, and the dashboard is what ${role}`);
  return { api: openLocal(dashboard, running.dashboardToken), dashboard, clickhouse };
};

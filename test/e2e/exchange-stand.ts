import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { request } from 'undici';
import { eventually } from '../harness/eventually.ts';
import { SHOP, startDashboard, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, forward } from './dev-stand.ts';

export interface Captured {
  readonly id: string;
  /** `/p/default/shop/traffic/0198…` */
  readonly url: string;
}

interface SentBody {
  readonly body?: string | Uint8Array;
  /** Names and values, which are sent in this order and case. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

export interface ExchangeRun extends DashboardRun {
  /** Sends a POST to `/echo` with `name` as its query, which must be unique. Resolves when the request is in the log. */
  capture(name: string, sent?: SentBody): Promise<Captured>;
  stop(): Promise<void>;
}

/** Responds with the body and the content type of the request, or with N bytes for `?bytes=N`. */
const startEcho = async (): Promise<Server> => {
  const server = createServer((incoming, answer) => {
    const bytes = Number(new URL(incoming.url ?? '/', 'http://echo').searchParams.get('bytes') ?? 0);
    answer.setHeader('content-type', incoming.headers['content-type'] ?? 'text/plain');
    if (bytes > 0) answer.end(Buffer.alloc(bytes, 'x'));
    else incoming.pipe(answer);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

interface Row {
  readonly id: string;
  readonly query: string;
}

/** The response of `/echo` to requests with `x-plan: gold`. */
const GOLD = { name: 'gold', when: { headers: [{ name: 'x-plan', value: 'gold' }] }, body: '{"plan": "gold"}' };

/** Starts `standin dev` with an endpoint `/echo` that has a response and forwards other requests to a server in this process. */
export const startExchanges = async (): Promise<ExchangeRun> => {
  const [run, echo] = await Promise.all([startDashboard(), startEcho()]);
  const upstream = `http://127.0.0.1:${(echo.address() as AddressInfo).port}/`;
  await writeFile(path.join(run.manifests, 'echo.yaml'), endpoint('echo', { ...forward(upstream), responses: [GOLD] }));

  const send = async (query: string, { body = '', headers = [] }: SentBody): Promise<number> => {
    const answer = await request(`${run.url}/echo?${query}`, {
      method: 'POST',
      headers: [...headers.flat(), 'x-api-key', run.apiKey],
      body,
    });
    await answer.body.dump({ limit: Number.MAX_SAFE_INTEGER });
    return answer.statusCode;
  };
  await eventually('the endpoint to respond', async () => (await send('ready', {})) === 200);

  const find = async (query: string): Promise<string | undefined> => {
    const answer = await request(`${run.dashboard}${SHOP}/traffic/rows`);
    const { rows } = (await answer.body.json()) as { readonly rows: readonly Row[] };
    return rows.find((row) => row.query === query)?.id;
  };
  return {
    ...run,
    async capture(query, sent = {}) {
      await send(query, sent);
      let id: string | undefined;
      await eventually('the request to be in the log', async () => (id = await find(query)) !== undefined);
      return { id: id ?? '', url: `${SHOP}/traffic/${id ?? ''}` };
    },
    async stop() {
      await run.process.kill();
      echo.closeAllConnections();
      echo.close();
    },
  };
};

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ResourceObject } from '@standin/contract';
import type { LogSummary } from '@standin/exchange';
import type { InsertFeed } from '@standin/logstore';
import { pino } from 'pino';
import type { Access } from '../access.ts';
import type { Backend, ProjectLog, ReadRefusals } from '../backend.ts';
import { clientAddresses } from '../client-address.ts';
import { bodyReader } from '../request-bodies.ts';
import { requestTurns } from '../request-turns.ts';
import type { Sender } from '../sender.ts';
import { unreceivedBytes } from '../unreceived-bytes.ts';
import { startWorkers } from '../workers/workers.ts';
import { apiHandler } from './api-handler.ts';

/** Fails the test, because the test does not expect this call. */
const unexpected = (): never => {
  throw new Error('this call was not expected');
};

export const SUMMARY: LogSummary = {
  id: '01931f3e-0000-7000-8000-000000000001',
  receivedAt: '2026-11-21T07:00:00.000001Z',
  namespace: 'default',
  project: 'shop',
  endpoint: 'orders',
  method: 'GET',
  path: '/',
  query: '',
  status: 200,
  durationMs: 1,
  outcome: 'mocked',
  responseName: '',
  credential: 'key',
  deliveryId: '',
  projectUid: 'u',
  bodyBytes: 0,
  insertedAtMs: 1_000,
};

const PROJECT: ResourceObject = {
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Project',
  metadata: {
    name: 'shop',
    namespace: 'default',
    uid: 'u',
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '',
  },
  spec: { displayName: 'Shop' },
};

export const REFUSALS: ReadRefusals = {
  counts: [
    { code: 'endpoint_not_found', method: 'POST', path: '/v1/order', count: 2, lastAt: Date.UTC(2026, 10, 23) },
    { code: 'of_a_newer_gateway', sender: 'GitHub', count: 1, lastAt: 0 },
  ],
  omitted: 1,
  missing: ['gateway-1'],
};

/** Returns a feed without inserts. */
const quietFeed = (): InsertFeed => {
  const closed = Promise.withResolvers<readonly number[]>();
  let isFirst = true;
  return {
    next: () => {
      if (!isFirst) return closed.promise;
      isFirst = false;
      return Promise.resolve([]);
    },
    isClosed: false,
    close: () => closed.resolve([]),
  };
};

const EMPTY_LOG: ProjectLog = {
  projectUid: 'u',
  settle: () => Promise.resolve(),
  summaries: () => Promise.resolve([]),
  follow: quietFeed,
  entries: async function* () {
    await Promise.resolve();
    yield* [];
  },
  get: () => Promise.resolve(undefined),
  row: () => Promise.resolve(undefined),
  preview: () => Promise.resolve(undefined),
  previews: () => Promise.resolve([]),
  requestBodies: () => Promise.resolve(new Map()),
  count: () => Promise.resolve(0),
  histogram: () => Promise.resolve([]),
  distinct: () => Promise.resolve([]),
  replays: {
    exchange: () => Promise.resolve(undefined),
    results: () => Promise.resolve([]),
    ofRequest: () => Promise.resolve([]),
    counts: () => Promise.resolve([]),
  },
};

export const backendWith = (log: Partial<ProjectLog>, resources: Partial<Backend['resources']> = {}): Backend => ({
  mode: 'cluster',
  gatewayUrl: 'http://gateway',
  sendUrl: 'http://gateway',
  resources: {
    list: () => Promise.resolve([PROJECT]),
    get: ({ name }) => Promise.resolve(name === 'shop' ? PROJECT : undefined),
    findIdentity: ({ metadata: { namespace, name, uid } }) => Promise.resolve({ namespace, name, uid }),
    apply: unexpected,
    check: unexpected,
    delete: unexpected,
    watch: unexpected,
    readApiKey: unexpected,
    ...resources,
  },
  logs: {
    requestsByHour: unexpected,
    usage: unexpected,
    refusals: () => Promise.resolve(REFUSALS),
    open: () => Promise.resolve({ ...EMPTY_LOG, ...log }),
  },
});

export interface ApiServer extends AsyncDisposable {
  /** Such as `http://localhost:41234/api/v1`. */
  readonly url: string;
  /** API URL of the project `shop`. */
  readonly shop: string;
  /** Returns the number of logged failures. */
  readonly failures: () => number;
  /** Aborts the signal that tells the API that the dashboard is stopping. The server keeps running. */
  readonly stop: () => void;
}

/** Finds the backend of a request, or nothing if the sender is not signed in. */
type FindBackend = (request: IncomingMessage, sender: Sender) => Promise<Backend | undefined>;

/** Starts the API on a free port. The holder of a request's shares is its `authorization` header. */
export const startApiServer = async (findBackend: FindBackend, service?: string): Promise<ApiServer> => {
  let failures = 0;
  const logger = pino({ level: 'error' }, { write: () => (failures += 1) });
  const stopping = new AbortController();
  const workers = startWorkers();
  const findSession: Access['findSession'] = async (request, sender) => {
    const backend = await findBackend(request, sender);
    const findHolder = () => Promise.resolve(request.headers.authorization ?? '');
    return backend && { user: undefined, backend, cookies: [], findHolder };
  };
  const handle = apiHandler({
    access: { mode: 'cluster', findSession },
    service,
    workers,
    logger,
    readBody: bodyReader(),
    unreceived: unreceivedBytes(),
    turns: requestTurns(),
    stopping: stopping.signal,
    clientAddress: clientAddresses(['127.0.0.1']),
  });
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://localhost:${(server.address() as AddressInfo).port}/api/v1`;
  return {
    url,
    shop: `${url}/namespaces/default/projects/shop`,
    failures: () => failures,
    stop: () => stopping.abort(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await workers.close();
    },
  };
};

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isLoopbackAddress, LIMITS, type SharedPool } from '@standin/contract';
import { exposeShares } from '@standin/process/process-metrics';
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Access, Session } from './access.ts';
import { refuseWithoutToken } from './access/local-token.ts';
import { returnPath } from './access/return-path.ts';
import { apiHandler, type ApiOptions } from './api/api-handler.ts';
import { boundConnections } from './bound-connections.ts';
import type { DashboardMode } from './backend.ts';
import { clientAddresses, proxyCheck, type ClientAddress } from './client-address.ts';
import type { DashboardContext } from './dashboard-context.ts';
import { networkHolder, userHolder } from './holders.ts';
import { formBody } from './pages/form-body.ts';
import { pageStreams } from './pages/page-streams.ts';
import { servePages } from './pages/serve-pages.ts';
import { bodyReader, discardRest, type ReadBody } from './request-bodies.ts';
import { checkRequest } from './request-guards.ts';
import { requestTurns, type RequestTurns } from './request-turns.ts';
import { responseMetrics } from './response-metrics.ts';
import { securityHeaders } from './security-headers.ts';
import { sendOnward } from './redirect-page.ts';
import { preferProductionReact, type DashboardSettings } from './settings.ts';
import type { Pools } from './pools.ts';
import { networkSender } from './sender.ts';
import { publicShares, type OpenedShare, type PublicSharesSource } from './shares/public-shares.ts';
import { serveShares } from './shares/serve-shares.ts';
import { signedInBackend } from './signed-in-backend.ts';
import { staticAssets } from './static-assets.ts';
import { unreceivedBytes, type UnreceivedBytes } from './unreceived-bytes.ts';
import { startWorkers, type WorkerPool } from './workers/workers.ts';

export interface DashboardOptions {
  readonly settings: DashboardSettings;
  /** `NAMESPACE/NAME` of the dashboard's Service. */
  readonly service?: string | undefined;
  /** Decides what each request may see and do. */
  readonly access: Access;
  /** Links that anyone can open. */
  readonly shares: PublicSharesSource;
  /** The folder that `ensureDashboardBuild` returns. If undefined, serves the API without pages. */
  readonly buildDir: string | undefined;
  readonly logger: Logger;
  /** Receives metrics of the responses, and of what users share. */
  readonly registry?: Registry | undefined;
  /** Already contains what users share outside of `runDashboard`. */
  readonly pools?: Pools;
}

export interface Dashboard {
  /** Such as `http://localhost:3000`. */
  readonly url: string;
  /** Stops serving. Ends streams, and gives running requests a short time to finish. */
  stop(): Promise<void>;
}

const STOP_MS_MAX = 2_000;
const NONCE_BYTES = 16;
/** Requests that exceed their timeout are aborted within this time. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;

/** Serves the JSON API, and pages if there is a build. Rejects if it cannot listen. */
export const runDashboard = async (options: DashboardOptions): Promise<Dashboard> => {
  const { settings, service, access, buildDir, logger, registry } = options;
  const { mode } = access;
  if (mode === 'local' && !isLoopbackAddress(settings.host)) {
    throw new Error(`cannot listen on ${settings.host}: a dashboard without a login must listen on a loopback address`);
  }
  const stopping = new AbortController();
  const pools: Pools = options.pools ?? new Map<string, SharedPool>();
  const workers = startWorkers({ pools });

  const readBody = bodyReader({ pools });
  const clientAddress = clientAddresses(settings.trustedProxies ?? []);
  const unreceived = unreceivedBytes({ pools });
  const turns = requestTurns(pools);
  const shared = { workers, readBody, unreceived, turns, clientAddress, stopping: stopping.signal, pools };

  const app = express();
  app.disable('x-powered-by').set('etag', false);
  if (registry !== undefined) app.use(responseMetrics(registry));
  // The API must precede the guards for pages, because its clients send no Origin header, and it ignores cookies.
  app.use('/api', serveApi({ access, service, logger, ...shared }));
  app.use(guard(mode));
  app.use(setSecurityHeaders);
  app.get('/healthz', (_, response) => void response.type('text').send('ok\n'));
  if (buildDir !== undefined) await addPages(app, { ...options, buildDir, ...shared });
  app.use(answerFailure(logger));
  if (registry !== undefined) exposeShares(registry, pools);

  const server = listenTo(app, settings, pools);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${mode === 'local' ? 'localhost' : settings.host}:${port}`,
    stop: async () => {
      stopping.abort();
      await closeServer(server);
      await workers.close();
    },
  };
};

interface PagesOptions extends DashboardOptions {
  readonly buildDir: string;
  readonly workers: WorkerPool;
  readonly readBody: ReadBody;
  readonly unreceived: UnreceivedBytes;
  readonly turns: RequestTurns;
  readonly clientAddress: ClientAddress;
  readonly stopping: AbortSignal;
  readonly pools: Pools;
}

/** Adds handlers in this order: assets, shared links, exchange of the local token, session, Remix. */
const addPages = async (app: Express, options: PagesOptions): Promise<void> => {
  const { access, buildDir, workers, readBody, unreceived, turns, clientAddress, logger, pools } = options;
  preferProductionReact();
  const build: unknown = await import(pathToFileURL(path.join(buildDir, 'server/index.js')).href);
  app.use(await staticAssets(path.join(buildDir, 'client')));
  const render = servePages({
    build,
    createContext: pageContexts(options),
    openBody: (request, response) => {
      const session = localSession(response);
      const findHolder = () => session?.findHolder() ?? networkHolder(clientAddress(request));
      return formBody(request, response, { readBody, findHolder, isSignedIn: session !== undefined });
    },
    holderFor: (request, response) => {
      const user = localSession(response)?.user;
      return user === undefined ? networkHolder(clientAddress(request)) : userHolder(user);
    },
    unreceived,
    turns,
  });
  const shares = publicShares({ ...options.shares, workers, pools });
  app.use(serveShares({ shares, logger, clientAddress, render, pools }));
  if (access.exchangeToken !== undefined) app.use(access.exchangeToken);
  app.use(identify(access, clientAddress));
  app.use(render);
};

const listenTo = (
  app: RequestListener,
  { host, port, trustedProxies = [] }: DashboardSettings,
  pools: Pools,
): Server => {
  const timeouts = {
    headersTimeout: LIMITS.requestHeadTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
  };
  const server = createServer(timeouts, app).on('request', discardRest);
  boundConnections(server, { pools, isProxy: proxyCheck(trustedProxies) });
  return server.listen({ host, port });
};

const serveApi = (options: ApiOptions): RequestHandler => {
  const handle = apiHandler(options);
  return (request, response) => {
    request.url = request.originalUrl;
    handle(request, response);
  };
};

const guard =
  (mode: DashboardMode): RequestHandler =>
  (request, response, next) => {
    // No proxy forwards to loopback, so a forwarding header could only make the dashboard trust another host.
    if (mode === 'local') for (const name of FORWARDING_HEADERS) Reflect.deleteProperty(request.headers, name);
    const refusal = checkRequest(request, mode);
    if (refusal === undefined) next();
    else response.status(refusal.status).type('text').send(`${refusal.message}\n`);
  };
const FORWARDING_HEADERS = [
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-for',
  'x-forwarded-user',
  'forwarded',
];

const setSecurityHeaders = (_: Request, response: Response, next: NextFunction): void => {
  const nonce = randomBytes(NONCE_BYTES).toString('base64');
  response.locals['nonce'] = nonce;
  // Pages show the current state, so they are not cached. Assets override this header.
  response.set({ ...securityHeaders(nonce), 'cache-control': 'no-store' });
  next();
};

/**
 * Returns a handler that identifies the user. If a signed-in user follows a link from another site, their browser does not send the
 * cookie. The handler then responds with a page that opens the link again.
 */
const identify =
  (access: Access, clientAddress: ClientAddress): RequestHandler =>
  async (request, response, next) => {
    try {
      const sender = networkSender(clientAddress(request), response);
      const session = await access.findSession(request, sender);
      response.locals['session'] = session;
      for (const cookie of session?.cookies ?? []) response.append('set-cookie', cookie);
      if (session === undefined && comesFromAnotherSite(request)) sendOnward(response, request.originalUrl);
      else if (session === undefined && access.mode === 'local') refuseWithoutToken(response, 401);
      else next();
    } catch (error) {
      next(error);
    }
  };

/**
 * Returns whether the request comes from another site. In that case, SameSite=Strict withholds the session cookie until a page of
 * the dashboard sends the request.
 */
const comesFromAnotherSite = ({ method, headers, originalUrl }: Request): boolean =>
  method === 'GET' &&
  headers['sec-fetch-site'] === 'cross-site' &&
  headers['sec-fetch-dest'] === 'document' &&
  // Accepts only pages of the dashboard, not `//another.site` or the login page, which needs no session.
  returnPath(originalUrl) === originalUrl;

const localSession = ({ locals }: Response): Session | undefined => locals['session'] as Session | undefined;

const pageContexts = ({ access, logger, workers, clientAddress, stopping, pools }: PagesOptions) => {
  const { mode } = access;
  const openStreamsFor = pageStreams({ pools });
  return (request: Request, response: Response): DashboardContext => {
    const session = localSession(response);
    const findHolder = () => session?.findHolder() ?? networkHolder(clientAddress(request));
    return {
      get backend() {
        return signedInBackend(session?.backend, request);
      },
      workers: workers.for(findHolder),
      mode,
      get signIn() {
        return access.signInFor?.(networkSender(clientAddress(request), response));
      },
      user: session?.user,
      isSignedIn: session !== undefined,
      logger,
      stopping,
      share: response.locals['share'] as OpenedShare | undefined,
      nonce: String(response.locals['nonce']),
      isDataRequest: request.path.endsWith('.data'),
      openStream: openStreamsFor({ id: session?.user ?? tokenDigest(request), findHolder }),
    };
  };
};

/** Returns a digest that distinguishes programs, which have a token but no user name. */
const tokenDigest = ({ headers }: Request): string =>
  createHash('sha256')
    .update(headers.authorization ?? '')
    .digest('base64');

/**
 * Handles failures that no page can show. Responds in plain text and logs the details. Express recognizes error handlers by their
 * four parameters.
 */
const answerFailure =
  (logger: Logger) =>
  (error: unknown, request: Request, response: Response, next: NextFunction): void => {
    logger.error({ err: error, method: request.method, path: request.path }, 'request failed');
    if (response.headersSent) next(error);
    else response.status(500).type('text').send('Internal error. See the dashboard log for details.\n');
  };

const closeServer = async (server: Server): Promise<void> => {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), STOP_MS_MAX);
  await closed;
  clearTimeout(timer);
};

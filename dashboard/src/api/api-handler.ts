import type { IncomingMessage, ServerResponse } from 'node:http';
import { SharedPool } from '@standin/contract';
import type { Logger } from 'pino';
import type { Access } from '../access.ts';
import type { ClientAddress } from '../client-address.ts';
import type { Pools } from '../pools.ts';
import { networkSender, type Sender } from '../sender.ts';
import type { ReadBody } from '../request-bodies.ts';
import type { RequestTurns } from '../request-turns.ts';
import type { UnreceivedBytes } from '../unreceived-bytes.ts';
import { accountRoutes } from './account-routes.ts';
import { assertionRoutes } from './assertion-routes.ts';
import { expectationRoutes } from './expectation-routes.ts';
import { keyRegenerationRoutes } from './key-regeneration-routes.ts';
import { projectRoutes } from './project-routes.ts';
import { refusalRoutes } from './refusal-routes.ts';
import { replayRoutes } from './replay-routes.ts';
import { purgeRoutes } from './purge-routes.ts';
import { requestRoutes } from './request-routes.ts';
import { shareRoutes } from './share-routes.ts';
import { checkApiRequest, isAskedAsLoopback } from '../request-guards.ts';
import { openApiDocument } from './openapi-document.ts';
import { API_LIMITS } from './parameters.ts';
import { ApiProblem } from './problems.ts';
import { readJsonBody } from './read-body.ts';
import type { Answer, ApiMethod, ApiRoute } from './route.ts';
import { sendAnswer, sendProblem } from './send-answer.ts';
import { toProblem } from './to-problem.ts';
import type { WorkerPool } from '../workers/workers.ts';

/** All routes of the API. */
export const API_ROUTES: readonly ApiRoute[] = [
  ...projectRoutes,
  ...requestRoutes,
  ...assertionRoutes,
  ...refusalRoutes,
  ...replayRoutes,
  ...purgeRoutes,
  ...expectationRoutes,
  ...shareRoutes,
  ...accountRoutes,
  ...keyRegenerationRoutes,
];

export interface ApiOptions {
  readonly access: Pick<Access, 'mode' | 'findSession'>;
  /** `NAMESPACE/NAME` of the dashboard's Service. */
  readonly service?: string | undefined;
  readonly workers: WorkerPool;
  readonly clientAddress: ClientAddress;
  readonly logger: Logger;
  readonly readBody: ReadBody;
  readonly unreceived: UnreceivedBytes;
  readonly turns: RequestTurns;
  readonly pools?: Pools;
  /** Aborts when the dashboard stops. */
  readonly stopping: AbortSignal;
}

export type ApiHandler = (request: IncomingMessage, response: ServerResponse) => void;

const API_PATH = '/api/v1';
const SERVICE_HEADER = 'standin-service';
const DOCUMENT_PATH = '/openapi.json';

/** For calls that wait while the dashboard stops. Their reads are aborted. */
const STOPPING = ['resources_unavailable', 'The dashboard is stopping. Try again in a few seconds.'] as const;

const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  // If a browser shows a response with captured data, the data must not run scripts, load anything or appear in a frame.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Serves `/api/v1/…`: guard → match → authenticate → parse → handle → respond. Responds to every request, and passes none on. */
export const apiHandler = (options: ApiOptions): ApiHandler => {
  const { access, service, workers, clientAddress, logger, readBody, unreceived, turns, stopping, pools } = options;
  const match = routeMatcher(API_ROUTES);
  // Anyone can request it any number of times.
  const document: Answer = {
    kind: 'bytes',
    bytes: Buffer.from(JSON.stringify(openApiDocument(API_ROUTES))),
    headers: { 'content-type': 'application/json' },
  };
  const inTurn = limitReaders(pools);

  const answer = async (
    request: IncomingMessage,
    { response, sender }: { readonly response: ServerResponse; readonly sender: Sender },
    url: URL,
  ): Promise<{ readonly given: Answer; readonly findHolder: () => Promise<string> }> => {
    await turns(await sender.findHolder(), sender.signal);
    const refusal = checkApiRequest(request, access.mode);
    if (refusal !== undefined) throw new ApiProblem(refusal);
    // Ignores cookies, because other websites can make browsers send requests with cookies.
    Reflect.deleteProperty(request.headers, 'cookie');
    const path = url.pathname.startsWith(`${API_PATH}/`) ? url.pathname.slice(API_PATH.length) : '';
    if (path === DOCUMENT_PATH && request.method === 'GET') return { given: document, findHolder: sender.findHolder };
    const found = match(request.method ?? '', path);
    if (found.kind === 'none') throw new ApiProblem('route_not_found');
    if (found.kind === 'other-method') {
      response.setHeader('allow', found.allowed.join(', '));
      throw new ApiProblem('method_not_allowed', `Allowed: ${found.allowed.join(', ')}.`);
    }
    const session = await access.findSession(request, sender);
    if (session === undefined) throw new ApiProblem('unauthorized');
    const { findHolder } = session;
    const { route, params } = found;
    const body = route.body === undefined ? undefined : await readJsonBody(request, response, { readBody, findHolder });
    const signal = AbortSignal.any([sender.signal, stopping]);
    const headers = {
      accept: request.headers.accept ?? '',
      lastEventId: request.headers['last-event-id']?.toString(),
    };
    const call = { params, query: url.searchParams, body, headers, signal };
    const given = await inTurn(route, { response, findHolder }, () =>
      route.answer({ backend: session.backend, workers: workers.for(findHolder), ...call }),
    );
    return { given, findHolder };
  };

  return (request, response) => {
    response.setHeaders(new Map(Object.entries(HEADERS)));
    const url = new URL(`http://localhost${request.url ?? '/'}`);
    const sender = networkSender(clientAddress(request), response);
    answer(request, { response, sender }, url)
      .then(async ({ given, findHolder }) => sendAnswer(response, given, unreceived(response, await findHolder())))
      .catch((error: unknown) => {
        const problem = toProblem(error) ?? (stopping.aborted ? new ApiProblem(...STOPPING) : undefined);
        const { method } = request;
        if (problem === undefined && !sender.signal.aborted)
          logger.error({ err: error, method, path: url.pathname }, 'api request failed');
        // A client that disconnected needs no response. The connection of a failed stream is already closed.
        if (response.headersSent || response.destroyed) return;
        // Tells the CLI which Service a port-forward leads to (ADR 016). Only callers that use a loopback host name get this
        // header.
        if (problem?.code === 'unauthorized' && service !== undefined && isAskedAsLoopback(request))
          response.setHeader(SERVICE_HEADER, service);
        sendProblem(response, problem ?? new ApiProblem('internal'));
      });
  };
};

/**
 * Limits the number of requests that wait or stream, because each one queries ClickHouse repeatedly. Each user has a share. A request
 * counts until its response is sent or the client disconnects.
 */
const limitReaders = (pools?: Pools) => {
  const readers = new SharedPool(API_LIMITS.readersMax);
  pools?.set('readers', readers);
  return async (
    { problems }: ApiRoute,
    { response, findHolder }: { readonly response: ServerResponse; readonly findHolder: () => Promise<string> },
    work: () => Promise<Answer>,
  ): Promise<Answer> => {
    if (!problems.includes('too_many_readers')) return work();
    const place = readers.hold(await findHolder());
    if (place === undefined) throw new ApiProblem('too_many_readers');
    if (response.destroyed) place[Symbol.dispose]();
    else response.once('close', () => place[Symbol.dispose]());
    return work();
  };
};

interface Found {
  readonly kind: 'found';
  readonly route: ApiRoute;
  readonly params: Readonly<Record<string, string>>;
}

type Match =
  | Found
  /** The path exists, but only with other methods. */
  | { readonly kind: 'other-method'; readonly allowed: readonly ApiMethod[] }
  | { readonly kind: 'none' };

/**
 * Converts a template such as `/projects/{project}/requests:wait` to a regular expression with one group per parameter. A parameter
 * is one path segment.
 */
const pathExpression = (template: string): RegExp =>
  new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);

const decoded = (groups: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined => {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined;
  }
};

/** Creates a function that finds the route for a method and a percent-encoded path. */
const routeMatcher = (routes: readonly ApiRoute[]): ((method: string, path: string) => Match) => {
  const table = routes.map((route) => ({ route, expression: pathExpression(route.path) }));
  return (method, path) => {
    const onPath = table.flatMap(({ route, expression }) => {
      const match = expression.exec(path);
      const params = match === null ? undefined : decoded({ ...match.groups });
      return params === undefined ? [] : [{ route, params }];
    });
    const found = onPath.find(({ route }) => route.method === method);
    if (found !== undefined) return { kind: 'found', ...found };
    const allowed = [...new Set(onPath.map(({ route }) => route.method))];
    return allowed.length > 0 ? { kind: 'other-method', allowed } : { kind: 'none' };
  };
};

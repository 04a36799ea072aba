import { createSecureContext, getCACertificates } from 'node:tls';
import { FairMap, LIMITS, type HeaderPair, type RequestMethod } from '@standin/contract';
import { Agent, Pool, type Dispatcher } from 'undici';
import { checkUpstreamUrl, type AddressPolicy } from './address-policy.ts';
import type { UpstreamTls } from './authority.ts';
import { CertificatesInUse } from './certificates-in-use.ts';
import { createConnector } from './connector.ts';
import { EgressError, exchangeError } from './egress-error.ts';
import { Exchange, type UpstreamResponse } from './exchange.ts';
import { FairLookups } from './fair-lookups.ts';
import { requestHeaders } from './headers.ts';
import { RefusedTargets, urlTarget } from './refused-targets.ts';
import { lookupAll, lookupService, probeName, type Lookup, type Probe, type ServiceLookup } from './lookup.ts';
import { SocketWatch } from './socket-watch.ts';
import { splitUpstreamUrl } from './upstream-url.ts';

export interface EgressOptions {
  readonly policy: AddressPolicy;
  /**
   * The total time limit for the lookup, the connection and TLS. The default is 5,000 ms. The request's own timeout may be shorter.
   */
  readonly connectTimeoutMs?: number;
  /** Trusted PEM certificates, in addition to the machine's, for requests without an authority of their own. */
  readonly ca?: string;
  /** See `LIMITS.upstreamCaBytesInUseMax`, which is the default. */
  readonly caBytesInUseMax?: number;
  /** Targets that are never an upstream, regardless of the policy. */
  readonly refused?: RefusedTargets;
  /** Lets tests replace DNS. */
  readonly lookup?: Lookup;
  readonly probe?: Probe;
  readonly lookupService?: ServiceLookup;
  /**
   * Receives the reasons of failed connections that contain a resolved address. Callers receive these reasons without the address.
   */
  readonly logger?: EgressLogger;
}

/** The methods of pino's logger that this package needs. */
interface EgressLogger {
  info(fields: object, message: string): void;
}

export interface UpstreamRequest {
  /** A string (see `joinUpstreamUrl`) keeps the bytes of its query, while a `URL` has encoded some of them. */
  readonly url: URL | string;
  readonly method: RequestMethod;
  /** Sent in this order and case, without hop-by-hop headers, `host`, `content-length` and `expect`. Values are latin1. */
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | undefined;
  readonly tls?: UpstreamTls | undefined;
  /** The Host header, if it is not that of the URL. It does not change the name in TLS. */
  readonly host?: string | undefined;
  /** The milliseconds from the call of `Egress.request` to the end of the response head, and the longest pause within the body. */
  readonly timeoutMs: number;
  /** Whether the upstream is named by `serviceRef`. */
  readonly viaService: boolean;
  /** The namespace that the request is sent for. Each has a share of the lookups of names. */
  readonly namespace?: string;
  /** The uid of the Account that the request is sent for. Each has its own connections, because an upstream may authenticate them. */
  readonly account?: string;
  /**
   * Called just before the request is written to a connection, for which it may have waited. If it returns an error, nothing is sent, and
   * the request rejects with this error.
   */
  readonly obstacle?: (() => EgressError | undefined) | undefined;
  /** Ends the request, or cuts off the response body. */
  readonly signal?: AbortSignal;
}

export interface Egress {
  /**
   * Sends the request and resolves with the response head. Does not follow redirects and ignores the environment's proxies. If an idle
   * connection turns out to be closed, repeats a GET, HEAD, PUT or DELETE once, on a new connection (RFC 9112 section 9.3.1). Repeats any
   * other request only if no part of it was sent. Rejects with an `EgressError`, or with the signal's reason when it aborts.
   */
  request(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** Cuts all connections. Wait for running requests before calling this. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
/**
 * The maximum number of connections per origin, Account and `tls`, separately for each `Reuse`, and for requests with and without
 * `serviceRef`. Other requests wait for a free connection until they time out.
 */
const CONNECTIONS_PER_ORIGIN_MAX = 256;
/** Of all namespaces. More than a gateway's requests in progress, of which a namespace can have only a share. */
const ORIGINS_MAX = 40_000;
/**
 * How long an idle connection is kept if the upstream's `Keep-Alive` header allows more. An upstream could otherwise make a gateway keep
 * all of its connections.
 */
const KEEP_ALIVE_MS_MAX = 15_000;
/**
 * Which connections a request may use. An idle connection may be closed at any time, also by a device that does not report it, and only
 * an idempotent request can then be repeated. `recent` are connections that were idle for less than a second.
 */
type Reuse = 'any' | 'recent' | 'none';
const REUSE_OPTIONS: Readonly<Record<Reuse, Pool.Options>> = {
  any: { keepAliveMaxTimeout: KEEP_ALIVE_MS_MAX },
  recent: { keepAliveTimeout: 1_000, keepAliveMaxTimeout: 1_000 },
  none: { pipelining: 0 },
};
const IDEMPOTENT: ReadonlySet<string> = new Set<RequestMethod>(['GET', 'HEAD', 'PUT', 'DELETE']);

/** The minimum time between log messages for the same failure. */
const LOG_AGAIN_MS = 60_000;
/** The maximum number of failures to remember as already logged. Their holders are the namespaces. */
const LOGGED_MAX = 1_000;

/** Returns a function that logs failures of a namespace. */
const logFailures = (logger: EgressLogger) => {
  const loggedAt = new FairMap<number>(LOGGED_MAX);
  return (namespace: string, origin: string, { code, detail }: EgressError): void => {
    if (detail === '') return;
    const key = [namespace, origin, code].join(' ');
    const now = performance.now();
    if (now - (loggedAt.get(key) ?? -Infinity) < LOG_AGAIN_MS) return;
    loggedAt.set(key, now, namespace);
    logger.info({ namespace, origin, code, reason: detail }, 'upstream not connected');
  };
};

/**
 * Returns the origin with the sender and what is verified as its user, which undici does not send. Its pools of connections are for one
 * such text, so that no connection serves another Account, or a request that trusts other authorities or expects another name.
 */
const originFor = ({ origin }: URL, { namespace = '', account = '', tls = {} }: UpstreamRequest): string => {
  const user = [namespace, account, tls.authority?.id ?? '', tls.serverName ?? ''];
  return user.every((part) => part === '') ? origin : origin.replace('//', `//${encodeURIComponent(user.join(' '))}@`);
};

interface AgentOptions extends EgressOptions {
  readonly refused: RefusedTargets;
  readonly viaService: boolean;
  readonly reuse: Reuse;
  readonly lookups: FairLookups;
  readonly sockets: SocketWatch;
  readonly certificates: CertificatesInUse;
}

/** Sends requests on the connections of its pools. */
interface UpstreamAgent {
  dispatch(options: Dispatcher.DispatchOptions, tls: UpstreamTls | undefined, handler: Exchange): void;
  destroy(): Promise<void>;
}

const createAgent = (options: AgentOptions): UpstreamAgent => {
  const connector = {
    policy: options.policy,
    viaService: options.viaService,
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    secureContext:
      options.ca === undefined ? undefined : createSecureContext({ ca: [...getCACertificates('default'), options.ca] }),
    lookups: options.lookups,
    lookupService: options.lookupService ?? lookupService,
    refused: options.refused,
    sockets: options.sockets,
    certificates: options.certificates,
  };
  const log = options.logger && logFailures(options.logger);
  const limits = {
    allowH2: false,
    connections: CONNECTIONS_PER_ORIGIN_MAX,
    ...REUSE_OPTIONS[options.reuse],
    maxHeaderSize: LIMITS.upstreamHeadBytesMax,
    // `request` uses its own, exact timer until the head has arrived.
    headersTimeout: 0,
  };
  let dispatched: UpstreamTls | undefined;
  const agent = new Agent({
    maxOrigins: ORIGINS_MAX,
    factory: (origin) => {
      const [namespace = ''] = decodeURIComponent(new URL(origin).username).split(' ');
      const onFailure = log && ((where: string, failure: EgressError) => log(namespace, where, failure));
      const connect = createConnector({ ...connector, tls: dispatched, namespace, onFailure });
      return new Pool(origin, { ...limits, connect });
    },
  });
  return {
    dispatch: (request, tls, handler) => {
      // If there is no pool for the request, the agent calls `factory` before `dispatch` returns.
      dispatched = tls;
      agent.dispatch(request, handler);
    },
    destroy: () => agent.destroy(),
  };
};

/** Creates a client for upstreams under one address policy. Connections are kept alive per origin. */
export const createEgress = (options: EgressOptions): Egress => {
  const sockets = new SocketWatch();
  const refused = options.refused ?? new RefusedTargets([]);
  const lookups = new FairLookups(options.lookup ?? lookupAll, options.probe ?? probeName);
  const certificates = new CertificatesInUse(options.caBytesInUseMax);
  const createAgents = (viaService: boolean): Readonly<Record<Reuse, UpstreamAgent>> => {
    const create = (reuse: Reuse) =>
      createAgent({ ...options, refused, lookups, sockets, certificates, viaService, reuse });
    return { any: create('any'), recent: create('recent'), none: create('none') };
  };
  // A connection for `serviceRef` must not serve a request without `serviceRef`, so each has its own agents with their own connections.
  const direct = createAgents(false);
  const service = createAgents(true);

  const send = (request: UpstreamRequest, reuse: Reuse, deadline: number): Promise<UpstreamResponse> => {
    const { parsed, target } = splitUpstreamUrl(request.url);
    return new Promise<UpstreamResponse>((resolve, reject) => {
      const { signal } = request;
      const settle = () => clearTimeout(timer);
      const exchange = new Exchange(sockets, {
        obstacle: () => request.obstacle?.(),
        responded: (response) => {
          settle();
          response.body.once('close', () => signal?.removeEventListener('abort', cancel));
          resolve(response);
        },
        failed: (error, cause) => {
          settle();
          signal?.removeEventListener('abort', cancel);
          const mayRepeat = cause === 'unsent' || (cause === 'stale' && IDEMPOTENT.has(request.method));
          if (mayRepeat && reuse !== 'none') resolve(send(request, 'none', deadline));
          else reject(error);
        },
      });
      const end = (reason: Error) => {
        settle();
        exchange.abort(reason);
        reject(reason);
      };
      const cancel = () => end(signal?.reason as Error);
      const timer = setTimeout(
        () => end(new EgressError('upstream_timeout', `The upstream did not respond within ${request.timeoutMs} ms.`)),
        Math.max(deadline - performance.now(), 1),
      );
      signal?.addEventListener('abort', cancel, { once: true });
      try {
        const options: Dispatcher.DispatchOptions & { readonly servername: string } = {
          origin: originFor(parsed, request),
          path: target,
          method: request.method,
          headers: [...requestHeaders(request.headers), ...(request.host === undefined ? [] : ['host', request.host])],
          // undici would take it from the Host header.
          servername: parsed.hostname,
          body: request.body ?? null,
          bodyTimeout: request.timeoutMs,
        };
        (request.viaService ? service : direct)[reuse].dispatch(options, request.tls, exchange);
      } catch (error) {
        end(exchangeError(error, false));
      }
    });
  };

  return {
    request: async (request) => {
      request.signal?.throwIfAborted();
      const url = new URL(request.url);
      const reason = checkUpstreamUrl(url, options.policy, request) ?? refused.check(urlTarget(url));
      if (reason !== undefined) throw new EgressError('upstream_blocked', `Not connected: ${reason}.`);
      const reuse = IDEMPOTENT.has(request.method) ? 'any' : 'recent';
      return send(request, reuse, performance.now() + request.timeoutMs);
    },
    close: async () => {
      await Promise.all([direct, service].flatMap(Object.values).map((agent: UpstreamAgent) => agent.destroy()));
    },
  };
};

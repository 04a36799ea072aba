import { setTimeout as delay } from 'node:timers/promises';
import { SharedPool, SourceError } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { AddressLimit } from './address-limit.ts';
import { clientNetwork, type ClientAddress } from '../client-address.ts';
import { isWorkRefused } from '../workers/work-refused.ts';
import type { Pools } from '../pools.ts';
import type { OpenedShare, PublicShares } from './public-shares.ts';

/**
 * Limit per address for links that work. It allows for all users in one office behind one address. Each page takes a few
 * milliseconds to render.
 */
const HITS = { burst: 300, perSecond: 20, addressesMax: 10_000 };
/** Limit per address for links that show nothing because they are mistyped, revoked or guessed. */
const MISSES = { burst: 60, perSecond: 1, addressesMax: 10_000 };
/** Maximum number of concurrent lookups. Each queries the API server and ClickHouse. Each address has a share of them. */
const OPEN_MAX = 64;
/**
 * Responses for links that show nothing are delayed to a multiple of this time, so that the duration does not reveal the reason.
 */
const NOTHING_MS = 250;

/** How long clients should wait before they retry an exchange that takes too much time or memory to redact. */
const HOPELESS_S = 600;

export const SHARE_PATH = '/s/';
/** The page runs no scripts, loads only the dashboard's own files, submits no forms and cannot be framed. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow, noarchive',
  'cache-control': 'no-store',
} as const;

export interface ServeSharesParts {
  readonly shares: PublicShares;
  readonly logger: Logger;
  readonly clientAddress: ClientAddress;
  /** Returns the milliseconds of a monotonic clock, for the rate limits. */
  readonly now?: () => number;
  /** Renders the page for `response.locals.share`, or the page for links that show nothing if the share is undefined. */
  readonly render: RequestHandler;
  readonly pools?: Pools;
}

const refuse = (response: Response, status: 405 | 429 | 503, retryAfterS: number, message: string): void => {
  if (retryAfterS > 0) response.set('retry-after', String(retryAfterS));
  response.status(status).type('text').send(`${message}\n`);
};

/** Resolves at the next multiple of `NOTHING_MS` since `startedAt`. */
const holdBack = async (startedAt: number): Promise<void> => {
  const elapsed = performance.now() - startedAt;
  await delay(Math.ceil(elapsed / NOTHING_MS) * NOTHING_MS - elapsed);
};

const tooMany = (response: Response, waitMs: number): void =>
  refuse(response, 429, Math.ceil(waitMs / 1_000), 'Too many requests from this address. Try again shortly.');

/**
 * Serves all paths below `/s/` to users without a session. Looks up the link within limits, and then renders its page. The handler
 * runs before senders are identified.
 */
export const serveShares = ({
  shares,
  logger,
  clientAddress,
  render,
  now = () => performance.now(),
  pools,
}: ServeSharesParts): RequestHandler => {
  const hits = new AddressLimit(HITS);
  const misses = new AddressLimit(MISSES);
  const lookups = new SharedPool(OPEN_MAX);
  pools?.set('link_lookups', lookups);

  /** Looks up a link. Resolves to `refused` if a response has already been sent. */
  const lookUp = async (
    request: Request,
    response: Response,
    address: string,
  ): Promise<OpenedShare | 'refused' | undefined> => {
    using place = lookups.hold(clientNetwork(address));
    if (place === undefined) {
      refuse(response, 503, 1, 'Too many links are being opened. Try again shortly.');
      return 'refused';
    }
    try {
      return await shares.open(request.path.slice(SHARE_PATH.length));
    } catch (error) {
      if (isWorkRefused(error)) {
        const isBusy = error.reason === 'Busy';
        refuse(response, 503, isBusy ? 1 : HOPELESS_S, isBusy ? error.message : 'This request is too large to show.');
        return 'refused';
      }
      if (!(error instanceof SourceError) && !(error instanceof LogStoreError)) throw error;
      logger.warn({ err: error }, 'shared link lookup failed');
      refuse(response, 503, 5, 'This request is temporarily unavailable. Try again shortly.');
      return 'refused';
    }
  };

  /** Resolves to whether there is a page to render. */
  const serve = async (request: Request, response: Response): Promise<boolean> => {
    const startedAt = performance.now();
    response.set(HEADERS);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.set('allow', 'GET, HEAD');
      refuse(response, 405, 0, 'Links accept only GET and HEAD.');
      return false;
    }
    const address = clientAddress(request);
    const waitMs = Math.max(misses.waitMs(address, now()), hits.waitMs(address, now()));
    if (waitMs > 0) {
      tooMany(response, waitMs);
      return false;
    }
    const share = await lookUp(request, response, address);
    if (share === 'refused') return false;
    // Hits and misses count separately. An address that has exhausted either limit is rejected above, before the lookup.
    const lateMs = (share === undefined ? misses : hits).take(address, now());
    if (lateMs > 0) {
      tooMany(response, lateMs);
      return false;
    }
    if (share === undefined) await holdBack(startedAt);
    response.locals['share'] = share;
    return true;
  };

  return (request, response, next) => {
    if (!request.path.startsWith(SHARE_PATH)) {
      next();
      return;
    }
    serve(request, response).then((isRendered) => {
      if (!isRendered) return;
      // All links use one URL for rendering. As a result, logs do not contain the token, and page data routes (`.data`) are not
      // served.
      request.url = SHARE_PATH;
      request.originalUrl = SHARE_PATH;
      render(request, response, next);
    }, next);
  };
};

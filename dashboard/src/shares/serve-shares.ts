import { setTimeout as delay } from 'node:timers/promises';
import { SourceError } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { AddressLimit } from './address-limit.ts';
import type { PublicShares } from './public-shares.ts';

/** For everybody behind one ingress or in one office; guessing 256 bits at this rate is hopeless, and cheap to bear. */
const LIMIT = { burst: 100, perSecond: 5, addressesMax: 10_000 };
/** Links that are looked up at once; each may read 20 MiB from the log. */
const OPEN_MAX = 8;
/** A link that shows nothing is answered after a multiple of this time: how long the reason took to find does not show. */
const NOTHING_MS = 250;

export const SHARE_PATH = '/s/';
/** No page of ours and nothing else may run, load or be sent from this one. */
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
  /** Renders the page of `response.locals.share`; `undefined` there is the page that says that there is nothing. */
  readonly render: RequestHandler;
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

/**
 * Everything below `/s/`, for people without a session: looks the link up, within limits, and has its page rendered. Comes before
 * whatever asks who somebody is.
 */
export const serveShares = ({ shares, logger, render }: ServeSharesParts): RequestHandler => {
  const limit = new AddressLimit(LIMIT);
  let open = 0;

  const serve = async (request: Request, response: Response): Promise<boolean> => {
    const startedAt = performance.now();
    response.set(HEADERS);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.set('allow', 'GET, HEAD');
      refuse(response, 405, 0, 'Links can be read, and nothing else.');
      return false;
    }
    const waitMs = limit.take(request.socket.remoteAddress ?? '', startedAt);
    if (waitMs > 0) {
      refuse(response, 429, Math.ceil(waitMs / 1_000), 'Too many requests from this address. Try again shortly.');
      return false;
    }
    if (open >= OPEN_MAX) {
      refuse(response, 503, 1, 'Too many links are being opened. Try again shortly.');
      return false;
    }
    open += 1;
    try {
      response.locals['share'] = await shares.open(request.path.slice(SHARE_PATH.length));
    } catch (error) {
      if (!(error instanceof SourceError) && !(error instanceof LogStoreError)) throw error;
      logger.warn({ err: error }, 'a shared link cannot be looked up');
      refuse(response, 503, 5, 'This cannot be shown at the moment. Try again shortly.');
      return false;
    } finally {
      open -= 1;
    }
    if (response.locals['share'] === undefined) await holdBack(startedAt);
    return true;
  };

  return (request, response, next) => {
    if (!request.path.startsWith(SHARE_PATH)) {
      next();
      return;
    }
    serve(request, response).then((isRendered) => {
      if (!isRendered) return;
      // One URL for all: the token appears in no log of the page's rendering, and the data routes of pages (`.data`) are not served.
      request.url = SHARE_PATH;
      request.originalUrl = SHARE_PATH;
      render(request, response, next);
    }, next);
  };
};

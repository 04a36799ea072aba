import type { IncomingMessage } from 'node:http';
import { hostOf, isLoopbackHost } from '@standin/contract';
import type { DashboardMode } from './backend.ts';

/** Why a request is refused, as a sentence for its reader. */
export interface Refusal {
  readonly status: 403 | 421;
  readonly message: string;
}

type Head = Pick<IncomingMessage, 'method' | 'headers'>;

const READING: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The caller is on this machine, or at the local end of a port-forward. */
export const isAskedAsLoopback = ({ headers }: Head): boolean => isLoopbackHost(headers.host);

/**
 * Checks that apply to every request, before anything else.
 *
 * Local mode has no login and relies on its address for protection, so another website must not reach it under its own name (DNS rebinding). In every
 * mode, a request that changes something has to come from a page of the dashboard (CSRF). Browsers state this in `Origin`. Unlike cookies, it
 * distinguishes ports: captured pages of a gateway on the same host are another origin.
 */
export const checkRequest = ({ method, headers }: Head, mode: DashboardMode): Refusal | undefined => {
  const host = hostOf(headers.host);
  if (host === undefined || (mode === 'local' && !isLoopbackHost(headers.host))) {
    return {
      status: 421,
      message: 'This dashboard is available on localhost only. Open the URL that standin dev printed.',
    };
  }
  const { origin } = headers;
  if (READING.has(method)) return undefined;
  const isOwnOrigin = origin !== undefined && URL.canParse(origin) && new URL(origin).host === host.host;
  if (isOwnOrigin) return undefined;
  return {
    status: 403,
    message: 'Request refused because it came from another website. Use the dashboard itself.',
  };
};

/**
 * The same checks for the JSON API. Its clients are programs: they send no `Origin`, and cookies do not count. A request from a browser states where
 * it comes from. In a cluster the token decides.
 */
export const checkApiRequest = (
  { headers }: Head,
  mode: DashboardMode,
): 'host_invalid' | 'origin_forbidden' | undefined => {
  const host = hostOf(headers.host);
  if (host === undefined) return 'host_invalid';
  if (mode === 'cluster') return undefined;
  if (!isLoopbackHost(headers.host)) return 'host_invalid';
  const { origin } = headers;
  const isForeign = origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host.host);
  // Sent by a page, but without Origin: <img src>, <script src>.
  const site = headers['sec-fetch-site'];
  return isForeign || site === 'cross-site' || site === 'same-site' ? 'origin_forbidden' : undefined;
};

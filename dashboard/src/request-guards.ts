import type { IncomingMessage } from 'node:http';
import { hostOf, isLoopbackHost } from '@standin/contract';
import type { DashboardMode } from './backend.ts';

/** Why a request is rejected. `message` is shown to the user. */
export interface Refusal {
  readonly status: 403 | 421;
  readonly message: string;
}

type Head = Pick<IncomingMessage, 'method' | 'headers'>;

const READING: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Returns whether the caller is on this machine, or at the local end of a port-forward. */
export const isAskedAsLoopback = ({ headers }: Head): boolean => isLoopbackHost(headers.host);

/**
 * Checks every request before anything else.
 *
 * Local mode has no login and is protected by its address, so other websites must not reach it under their own name (DNS rebinding). In both modes, a
 * request that changes something must come from a page of the dashboard (CSRF). Browsers state this in `Origin`. Unlike cookies, origins distinguish
 * ports, so a page from a gateway on the same host has another origin.
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
    message: 'Request rejected because it came from another website. Use the dashboard itself.',
  };
};

/**
 * Applies the same checks to the JSON API. Its clients are programs, which send no `Origin`. Cookies do not count. Browsers state where a request
 * comes from. In a cluster, the token decides.
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
  // Pages can send requests without Origin, such as <img src> and <script src>.
  const site = headers['sec-fetch-site'];
  return isForeign || site === 'cross-site' || site === 'same-site' ? 'origin_forbidden' : undefined;
};

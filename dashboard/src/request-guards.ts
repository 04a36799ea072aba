import type { IncomingMessage } from 'node:http';
import { parseHostHeader, isLoopbackHost } from '@standin/contract';
import type { DashboardMode } from './backend.ts';

/** The reason why a request is rejected. `message` is shown to the user. */
export interface Refusal {
  readonly status: 403 | 421;
  readonly message: string;
}

type Head = Pick<IncomingMessage, 'method' | 'headers'>;

const READING: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Returns whether the Host header names this machine, as for local callers and through a port-forward. */
export const isAskedAsLoopback = ({ headers }: Head): boolean => isLoopbackHost(headers.host);

/**
 * Checks every request before anything else, except requests to the JSON API (`checkApiRequest`).
 *
 * Local mode has no login and is protected by its address, so other websites must not reach it under their own name (DNS
 * rebinding). In both modes, a request that changes something must come from a page of the dashboard (CSRF). Browsers state this in
 * `Origin`. Unlike cookies, origins distinguish ports, so a page from a gateway on the same host has a different origin.
 */
export const checkRequest = ({ method, headers }: Head, mode: DashboardMode): Refusal | undefined => {
  const host = parseHostHeader(headers.host);
  if (host === undefined || (mode === 'local' && !isLoopbackHost(headers.host))) {
    return {
      status: 421,
      message:
        mode === 'local'
          ? 'This dashboard is available on localhost only. Open the URL that standin dev printed.'
          : 'The Host header of the request is invalid. Open the URL of the dashboard.',
    };
  }
  const { origin } = headers;
  if (READING.has(method)) return undefined;
  const isOwnOrigin = origin !== undefined && URL.canParse(origin) && new URL(origin).host === host.host;
  if (isOwnOrigin) return undefined;
  return {
    status: 403,
    message:
      'Request rejected because it did not come from a page of this dashboard. Use the dashboard itself, or its JSON API.',
  };
};

/**
 * Checks a request to the JSON API. Its clients are programs, which send no `Origin`, and cookies are ignored. In local mode,
 * rejects foreign host names, and requests that the headers from browsers identify as coming from other sites. In a cluster, only a
 * valid Host header is required, because the token identifies the caller.
 */
export const checkApiRequest = (
  { headers }: Head,
  mode: DashboardMode,
): 'host_invalid' | 'origin_forbidden' | undefined => {
  const host = parseHostHeader(headers.host);
  if (host === undefined) return 'host_invalid';
  if (mode === 'cluster') return undefined;
  if (!isLoopbackHost(headers.host)) return 'host_invalid';
  const { origin } = headers;
  const isForeign = origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host.host);
  // Pages can send requests without Origin, such as <img src> and <script src>.
  const site = headers['sec-fetch-site'];
  return isForeign || site === 'cross-site' || site === 'same-site' ? 'origin_forbidden' : undefined;
};

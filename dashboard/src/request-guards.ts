import type { IncomingMessage } from 'node:http';
import type { DashboardMode } from './backend.ts';

/** Why a request is refused, in a sentence for whoever reads it. */
export interface Refusal {
  readonly status: 403 | 421;
  readonly message: string;
}

type Head = Pick<IncomingMessage, 'method' | 'headers'>;

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const READING: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The caller is on this machine, or at the near end of a port-forward. */
export const isAskedAsLoopback = ({ headers }: Head): boolean =>
  LOOPBACK_NAMES.has(hostOf(headers.host)?.hostname ?? '');

const hostOf = (text: string | undefined): URL | undefined =>
  text !== undefined && URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;

/**
 * What must be true of every request before it is looked at.
 *
 * Local mode has no login: its address is its protection, so another website must not reach it under a name of its own (DNS
 * rebinding). In every mode what changes something has to come from a page of ours (CSRF); browsers say so in `Origin`, which
 * tells ports apart where cookies do not: captured pages of a gateway on the same host are another origin.
 */
export const checkRequest = ({ method, headers }: Head, mode: DashboardMode): Refusal | undefined => {
  const host = hostOf(headers.host);
  if (host === undefined || (mode === 'local' && !LOOPBACK_NAMES.has(host.hostname))) {
    return {
      status: 421,
      message: 'This dashboard answers on localhost only: open it under the address that standin dev printed.',
    };
  }
  const { origin } = headers;
  if (READING.has(method)) return undefined;
  const isOwnOrigin = origin !== undefined && URL.canParse(origin) && new URL(origin).host === host.host;
  if (isOwnOrigin) return undefined;
  return {
    status: 403,
    message: 'This request came from another website. Nothing was changed: use the dashboard itself.',
  };
};

/**
 * The same for the JSON API, whose senders are programs: they have no `Origin`, and cookies do not count there. What a browser sends
 * says where it comes from; in a cluster the token decides.
 */
export const checkApiRequest = (
  { headers }: Head,
  mode: DashboardMode,
): 'host_invalid' | 'origin_forbidden' | undefined => {
  const host = hostOf(headers.host);
  if (host === undefined) return 'host_invalid';
  if (mode === 'cluster') return undefined;
  if (!LOOPBACK_NAMES.has(host.hostname)) return 'host_invalid';
  const { origin } = headers;
  const isForeign = origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host.host);
  // Without Origin but from a page: <img src>, <script src>.
  const site = headers['sec-fetch-site'];
  return isForeign || site === 'cross-site' || site === 'same-site' ? 'origin_forbidden' : undefined;
};

import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { errorMessage } from '@standin/contract';
import type { KubeToken } from '@standin/kube/kube-token';
import { PlainError } from '../plain-error.ts';
import { stateFolder } from '../settings.ts';
import { isConfirmed, stderr } from '../terminal.ts';
import { KnownServers, type KnownServer } from './known-servers.ts';
import { isLoopback } from './server-options.ts';

/** A server that responded with 401. */
interface Challenge {
  /** The server's address. */
  readonly server: URL;
  /** `NAMESPACE/NAME` of the Service that the server claims to be. */
  readonly service: string | undefined;
}

/** Finds the token for a server. Rejects with a `PlainError` that explains why there is none. */
export type FindToken = (challenge: Challenge) => Promise<string>;

const NAME = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const SERVICE = new RegExp(`^${NAME}/${NAME}$`);

/**
 * Finds the token of the current kubeconfig's user, including tokens from a credential plugin. Asks for confirmation before a
 * server gets the token for the first time, or if another user listens on the server's port on this machine (ADR 016).
 *
 * @param isTrusted whether the user confirmed on the command line
 */
export const kubeconfigToken =
  (isTrusted: boolean): FindToken =>
  async (challenge) => {
    const kube = await readToken();
    const known = new KnownServers(stateFolder());
    const server = knownServer(challenge, kube);
    const isForeign = isLoopback(challenge.server) && (await hasForeignListener(urlPort(challenge.server)));
    if (!isForeign && (await known.has(server))) return kube.token;
    if (!isTrusted) await confirm(challenge, kube, isForeign);
    await known.add(server).catch((error: unknown) => {
      stderr.line(
        `standin: cannot save ${challenge.server.origin} as a known server, so the next command will ask again: ${errorMessage(error)}`,
      );
    });
    return kube.token;
  };

const readToken = async (): Promise<KubeToken> => {
  const { readKubeToken } = await import('@standin/kube/kube-token');
  const kube = await readKubeToken().catch((error: unknown) => {
    throw new PlainError(`no token for the server: ${errorMessage(error)}`, { cause: error });
  });
  if (kube !== undefined) return kube;
  throw new PlainError(
    'no token for the server: there is no kubeconfig, or its current user does not sign in with a token. Pass one with --token or STANDIN_TOKEN, for example from kubectl create token',
  );
};

/** Identifies the server. The local address of a port-forward does not identify a server, so its Service is used instead. */
const knownServer = (challenge: Challenge, { cluster }: KubeToken): KnownServer => {
  const service = claimedService(challenge);
  const server = service === undefined ? challenge.server.origin : `service ${service}`;
  return { server, cluster: cluster.server, caSha256: cluster.caSha256 };
};

const claimedService = ({ server, service }: Challenge): string | undefined =>
  service !== undefined && isLoopback(server) && SERVICE.test(service) ? service : undefined;

const urlPort = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));

/** Rejects unless the user confirms. */
const confirm = async (challenge: Challenge, { context, cluster }: KubeToken, isForeign: boolean): Promise<void> => {
  const { origin, host } = challenge.server;
  const service = claimedService(challenge);
  const claim = service === undefined ? '' : `, which claims to be the Service ${service},`;
  const warning = isForeign ? ' Another user on this machine is listening there.' : '';
  const question = `${origin}${claim} asks for a token.${warning} Send it the token from context ${context} (cluster ${cluster.server})?`;
  const otherwise = `${origin} has never received your token for the cluster ${cluster.server}.${warning} Add --trust-server to send it, or pass a token with --token or STANDIN_TOKEN`;
  if (!(await isConfirmed(question, otherwise))) throw new PlainError(`the token was not sent to ${host}`);
};

/** The files in which Linux lists the TCP sockets on this machine (https://docs.kernel.org/networking/proc_net_tcp.html). */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const LISTENING = '0A';
const ROOT_UID = 0;

/**
 * Returns whether another non-root user on this machine is listening on a port. Returns false if this is unknown, because only
 * Linux lists the listeners.
 */
const hasForeignListener = async (port: number): Promise<boolean> => {
  const own = process.getuid?.();
  const tables = await Promise.all(TABLES.map((file) => readFile(file, 'utf8').catch(() => '')));
  return tables.some((table) => listsForeignListener(table, port, own));
};

/** Returns whether the table contains a socket on which a user other than root and `own` listens on the port. */
export const listsForeignListener = (table: string, port: number, own: number | undefined): boolean => {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return table.split('\n').some((line) => {
    const [, local = '', , state, , , , uid] = line.trim().split(/\s+/);
    return state === LISTENING && local.endsWith(suffix) && ![own, ROOT_UID].includes(Number(uid));
  });
};

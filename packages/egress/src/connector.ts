import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { portNumber, refuseAddress, type AddressPolicy, type AddressRefusal } from './address-policy.ts';
import type { UpstreamTls } from './authority.ts';
import type { CertificatesInUse } from './certificates-in-use.ts';
import { connectError, EgressError } from './egress-error.ts';
import type { FairLookups } from './fair-lookups.ts';
import type { RefusedTargets } from './refused-targets.ts';
import type { ResolvedAddress, ServiceLookup } from './lookup.ts';
import type { SocketWatch } from './socket-watch.ts';

export interface ConnectorOptions {
  readonly policy: AddressPolicy;
  readonly viaService: boolean;
  /** Total milliseconds for the lookup, the connection and the TLS handshake. */
  readonly connectTimeoutMs: number;
  /** For requests without an authority of their own. */
  readonly secureContext: SecureContext | undefined;
  readonly tls: UpstreamTls | undefined;
  readonly certificates: CertificatesInUse;
  /** The namespace that connects, or an empty string. */
  readonly namespace: string;
  readonly lookups: FairLookups;
  /** Resolves names that come from `serviceRef`. */
  readonly lookupService: ServiceLookup;
  readonly refused: RefusedTargets;
  readonly sockets: SocketWatch;
  /** Called with the requested origin. */
  readonly onFailure?: ((where: string, failure: EgressError) => void) | undefined;
}

/**
 * How long Node tries an address before it gives up on it and tries the next. RFC 8305 recommends starting the next attempt after
 * 250 ms.
 */
const ATTEMPT_TIMEOUT_MS = 250;

/**
 * Returns the error for a blocked address. The message may contain an address from the URL, but not an address that a name
 * resolved to. Resolved addresses are only logged.
 */
const blocked = (hostname: string, { address, kind }: AddressRefusal): EgressError =>
  isIP(hostname) === 0
    ? new EgressError('upstream_blocked', `Not connected: ${hostname} resolves to ${kind}.`, {
        detail: `${hostname} resolves to ${address}`,
      })
    : new EgressError('upstream_blocked', `Not connected: ${address} is ${kind}.`);

interface Resolved {
  readonly addresses: readonly ResolvedAddress[];
  /** Whether the cluster's DNS confirms that the addresses belong to the Service. */
  readonly viaService: boolean;
  /** Why DNS did not confirm that the addresses belong to the Service. */
  readonly failure?: Error | undefined;
}

/**
 * Resolves a host name. With `viaService`, queries the name in DNS as an absolute name, and rejects an alias, because an
 * ExternalName Service could lead anywhere. A name that DNS does not confirm may come from /etc/hosts or a search domain, and is
 * subject to the policy for all other names.
 */
const resolve = async (hostname: string, options: ConnectorOptions, signal: AbortSignal): Promise<Resolved> => {
  const { namespace, lookups } = options;
  const lookUp = () => lookups.lookUp(hostname, { namespace, signal });
  const family = isIP(hostname);
  if (family !== 0) return { addresses: [{ address: hostname, family }], viaService: options.viaService };
  if (!options.viaService) return { addresses: await lookUp(), viaService: false };
  let failure: Error | undefined;
  try {
    const { isAlias, addresses } = await options.lookupService(hostname);
    if (isAlias) {
      const reason = 'is a DNS alias (CNAME); a Service named by serviceRef must not be an alias';
      throw new EgressError('upstream_blocked', `Not connected: ${hostname} ${reason}.`);
    }
    if (addresses.length > 0) return { addresses, viaService: true };
  } catch (error) {
    if (error instanceof EgressError) throw error;
    failure = error as Error;
  }
  return { addresses: await lookUp(), viaService: false, failure };
};

const addressRefusal = (address: string, port: number, options: ConnectorOptions): AddressRefusal | undefined =>
  options.refused.refuse({ host: address, port }) ?? refuseAddress(address, options.policy, options);

/**
 * Returns the addresses to dial for a target. Throws `upstream_blocked`, or the reason why DNS did not confirm the name of a
 * Service, if any address is blocked, because a mixed result may be an attack.
 */
const vettedAddresses = async (
  { hostname, port }: { readonly hostname: string; readonly port: number },
  options: ConnectorOptions,
  signal: AbortSignal,
): Promise<Resolved> => {
  const [resolved] = await Promise.all([resolve(hostname, options, signal), options.refused.refresh(port)]);
  const { addresses, viaService } = resolved;
  if (addresses.length === 0) throw new EgressError('upstream_unreachable', `The name ${hostname} has no addresses.`);
  for (const { address } of addresses) {
    const refusal = addressRefusal(address, port, { ...options, viaService });
    if (refusal !== undefined) throw resolved.failure ?? blocked(hostname, refusal);
  }
  return resolved;
};

/** Dials only the vetted addresses. Does not look the name up again. */
const dial = (
  target: buildConnector.Options,
  addresses: readonly ResolvedAddress[],
  options: ConnectorOptions,
): Socket | TLSSocket => {
  const isTls = target.protocol === 'https:';
  const common = {
    host: target.hostname,
    port: portNumber(target),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
    noDelay: true,
    keepAlive: true,
    lookup: (
      _hostname: string,
      _options: unknown,
      callback: (error: null, addresses: { address: string; family: number }[]) => void,
    ) => {
      callback(null, [...addresses]);
    },
  };
  if (!isTls) return connectTcp(common);
  // An IP address is not a server name, and a server name has no trailing dot (RFC 6066).
  const name = isIP(target.hostname) === 0 ? target.hostname.replace(/\.$/, '') : '';
  const { authority, serverName: servername = name } = options.tls ?? {};
  // Without a `session`, every handshake verifies the certificate.
  const connect = () => {
    const secureContext = authority?.secureContext ?? options.secureContext;
    return connectTls({ ...common, ...(secureContext && { secureContext }), servername, ALPNProtocols: ['http/1.1'] });
  };
  return authority === undefined ? connect() : options.certificates.connect(options.namespace, authority, connect);
};

/** Returns the error if the connected peer is blocked. This last check takes place before any part of a request has been sent. */
const refusePeer = (socket: Socket, hostname: string, options: ConnectorOptions): EgressError | undefined => {
  const peer = socket.remoteAddress;
  if (peer === undefined)
    return new EgressError('upstream_blocked', 'Not connected: the upstream closed the connection.');
  const refusal = addressRefusal(peer, socket.remotePort ?? 0, options);
  return refusal && blocked(hostname, refusal);
};

/** Resolves when a vetted connection (including its TLS) is established. Destroys the connection if `signal` aborts first. */
const connectTo = async (
  target: buildConnector.Options,
  options: ConnectorOptions,
  signal: AbortSignal,
): Promise<Socket> => {
  const { hostname } = target;
  const { addresses, viaService } = await vettedAddresses({ hostname, port: portNumber(target) }, options, signal);
  signal.throwIfAborted();
  const socket = dial(target, addresses, options);
  return new Promise<Socket>((resolve, reject) => {
    const stop = () => socket.destroy(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    // This listener stays attached. Otherwise, an error that occurs before undici attaches its own listeners would be uncaught.
    socket.on('error', reject);
    socket.once(target.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      signal.removeEventListener('abort', stop);
      const refused = refusePeer(socket, hostname, { ...options, viaService });
      if (refused) {
        socket.destroy();
        reject(refused);
        return;
      }
      resolve(socket);
    });
  });
};

/**
 * Creates a connector for undici that enforces the address policy. It checks literal addresses itself, because undici never calls
 * `connect.lookup` for them. It looks a name up once, checks all its addresses, dials them in turn, and checks the connected peer
 * again. Errors are `EgressError`s.
 */
export const createConnector =
  (options: ConnectorOptions): buildConnector.connector =>
  (target, callback) => {
    const where = `${target.protocol}//${target.host ?? target.hostname}`;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      abort.abort(new EgressError('upstream_timeout', `${where} did not accept a connection in time.`));
    }, options.connectTimeoutMs);
    const timedOut = new Promise<never>((_resolve, reject) => {
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason as Error), { once: true });
    });
    Promise.race([connectTo(target, options, abort.signal), timedOut])
      .finally(() => clearTimeout(timer))
      .then(
        (socket) => {
          options.sockets.watch(socket, () => callback(null, socket));
        },
        (error: unknown) => {
          const failure = connectError(error, where, options.tls);
          options.onFailure?.(where, failure);
          callback(failure, null);
        },
      );
  };

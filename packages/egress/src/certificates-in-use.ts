import type { Socket } from 'node:net';
import { LIMITS } from '@standin/contract';
import type { Authority } from './authority.ts';
import { EgressError } from './egress-error.ts';

interface InUse {
  bytes: number;
  /** The number of connections that were verified by each authority. */
  readonly connections: Map<Authority, number>;
}

/**
 * Limits the certificates that the connections of a namespace use at the same time. A connection keeps those with which it was verified in
 * memory, also after the ConfigMap has others, so a namespace that often changes them could otherwise use any amount of memory.
 */
export class CertificatesInUse {
  readonly #bytesMax: number;
  readonly #byNamespace = new Map<string, InUse>();

  constructor(bytesMax: number = LIMITS.upstreamCaBytesInUseMax) {
    this.#bytesMax = bytesMax;
  }

  /** Returns the connection that `connect` begins. Throws if the namespace already uses too many other certificates. */
  connect<S extends Socket>(namespace: string, authority: Authority, connect: () => S): S {
    const used = this.#byNamespace.get(namespace) ?? { bytes: 0, connections: new Map<Authority, number>() };
    const { connections } = used;
    const bytes = connections.has(authority) ? 0 : authority.bytes;
    if (used.bytes > 0 && used.bytes + bytes > this.#bytesMax) throw tooMany();
    const socket = connect();
    this.#byNamespace.set(namespace, used);
    used.bytes += bytes;
    connections.set(authority, (connections.get(authority) ?? 0) + 1);
    socket.once('close', () => {
      const left = (connections.get(authority) ?? 0) - 1;
      if (left > 0) {
        connections.set(authority, left);
        return;
      }
      connections.delete(authority);
      used.bytes -= authority.bytes;
      if (connections.size === 0) this.#byNamespace.delete(namespace);
    });
    return socket;
  }
}

const tooMany = (): EgressError =>
  new EgressError(
    'upstream_unreachable',
    'Not connected: connections of this namespace already use too many different certificates of forward.tls.caRef, also earlier ones. Wait until these requests end, and change the ConfigMaps less often.',
  );

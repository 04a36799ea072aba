// client-node's V1Lease declares Dates where it has strings, and a renewal would remove fields that the model does not have.

import { isConflict, isNotFound } from './api-error.ts';
import type { CallOptions, KubeClient } from './kube-client.ts';
import { objectVersion } from './kube-object.ts';
import { resourcePath } from './resource-path.ts';

/** The annotation with the leader's address, which followers send to their clients. */
export const LEADER_URL_ANNOTATION = 'standin.dev/leader-url';

/** A coordination.k8s.io/v1 Lease, limited to the fields in use. */
export interface Lease {
  readonly apiVersion: 'coordination.k8s.io/v1';
  readonly kind: 'Lease';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/**
 * Formats a time with six decimal places, which the API server requires in a Lease. The server rejects the three decimal places of
 * a Date with 400.
 */
export const microTime = (date: Date): string => date.toISOString().replace('Z', '000Z');

/**
 * Returns the first value for a new Lease's transitions. It is the number of seconds since 2026 instead of 0, because epochs must
 * increase with every leader even if the Lease is deleted. The value fits the field's 32 bits until 2094.
 */
export const firstEpoch = (now: Date): number => Math.max(1, Math.floor((now.getTime() - Date.UTC(2026, 0)) / 1_000));

export interface Leader {
  readonly identity: string;
  readonly url: string | undefined;
}

export const leaseLeader = (lease: Lease | undefined): Leader | undefined => {
  const identity = lease?.spec.holderIdentity;
  if (identity === undefined || identity === '') return undefined;
  return { identity, url: lease?.metadata.annotations?.[LEADER_URL_ANNOTATION] };
};

export const annotationsWith = (
  lease: Lease | undefined,
  leaderUrl: string | undefined,
): Readonly<Record<string, string>> => {
  const annotations = { ...lease?.metadata.annotations, [LEADER_URL_ANNOTATION]: leaderUrl };
  return Object.fromEntries(Object.entries(annotations).filter((entry) => entry[1] !== undefined)) as Record<
    string,
    string
  >;
};

/** Returns the lease without the metadata that the server sets, so that a lease that was deleted can be created again. */
export const withoutVersion = ({ metadata: { name, namespace, annotations }, ...lease }: Lease): Lease => ({
  ...lease,
  metadata: { name, namespace, ...(annotations && { annotations }) },
});

/** Reads one Lease, and writes it only by compare-and-swap. */
export class LeaseStore {
  readonly #client: KubeClient;
  readonly #collection: string;
  readonly #path: string;

  constructor(client: KubeClient, namespace: string, name: string) {
    this.#client = client;
    const collection = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespace };
    this.#collection = resourcePath(collection);
    this.#path = resourcePath({ ...collection, name });
  }

  /** Resolves with undefined if there is no lease. Rejects with `ApiError`. */
  async read(options: CallOptions): Promise<Lease | undefined> {
    try {
      return await this.#client.get<Lease>(this.#path, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Resolves with undefined if the lease has changed or was deleted since it was read. Rejects with `ApiError`. */
  async write(lease: Lease, options: CallOptions): Promise<Lease | undefined> {
    try {
      return lease.metadata.resourceVersion === undefined
        ? await this.#client.create<Lease>(this.#collection, lease, options)
        : await this.#client.replace<Lease>(this.#path, lease, objectVersion(lease), options);
    } catch (error) {
      // NotFound means that the lease was deleted in the meantime.
      if (isConflict(error) || isNotFound(error)) return undefined;
      throw error;
    }
  }
}

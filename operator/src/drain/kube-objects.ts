import type { KubeObject } from '@standin/kube';

/** A PersistentVolumeClaim. Like the other types in this file, it contains only the fields that draining needs. */
export type Claim = KubeObject;

export interface Pod extends KubeObject {
  readonly spec?: {
    readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName?: string } | undefined }[];
  };
  readonly status?: { readonly phase?: string | undefined } | undefined;
}

export interface StatefulSet extends KubeObject {
  readonly spec?: {
    /** The Kubernetes default is 1. */
    readonly replicas?: number | undefined;
    readonly ordinals?: { readonly start?: number | undefined } | undefined;
  };
}

export interface Job extends KubeObject {
  readonly status?:
    | {
        readonly completionTime?: string | undefined;
        readonly conditions?: readonly { readonly type?: string; readonly status?: string }[] | undefined;
      }
    | undefined;
}

type Metadata = KubeObject['metadata'];

/** Omits the fields that are not needed, to save memory. */
const trimMetadata = ({ name, namespace, uid, resourceVersion, generation, ...rest }: Metadata): Metadata => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
  ...(uid === undefined ? {} : { uid }),
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
  ...(generation === undefined ? {} : { generation }),
  ...(rest.deletionTimestamp === undefined ? {} : { deletionTimestamp: rest.deletionTimestamp }),
  ...(rest.labels === undefined ? {} : { labels: rest.labels }),
  ...(rest.annotations === undefined ? {} : { annotations: rest.annotations }),
});

export const trimClaim = ({ metadata }: Claim): Claim => ({ metadata: trimMetadata(metadata) });

export const trimPod = ({ metadata, spec, status }: Pod): Pod => ({
  metadata: { ...trimMetadata(metadata), annotations: {} },
  spec: {
    volumes: (spec?.volumes ?? [])
      .filter(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined)
      .map(({ persistentVolumeClaim }) => ({ persistentVolumeClaim })),
  },
  status: { phase: status?.phase },
});

export const trimStatefulSet = ({ metadata, spec }: StatefulSet): StatefulSet => ({
  metadata: trimMetadata(metadata),
  spec: { replicas: spec?.replicas, ordinals: spec?.ordinals },
});

export const trimJob = ({ metadata, status }: Job): Job => ({
  metadata: trimMetadata(metadata),
  status: { completionTime: status?.completionTime, conditions: status?.conditions },
});

/** The phases of terminated pods, which no longer use volumes. */
const ENDED: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Failed']);

/** Includes the claims of a terminated pod. */
export const mountedClaims = ({ spec }: Pod): readonly string[] =>
  (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);

/** Includes the claims that the pod waits for. A terminated pod uses none. */
export const usedClaims = (pod: Pod): readonly string[] => (ENDED.has(pod.status?.phase) ? [] : mountedClaims(pod));

/** Returns whether a StatefulSet has a pod with this ordinal, or is about to create one. */
export const hasReplica = ({ metadata, spec }: StatefulSet, ordinal: number): boolean => {
  const { ordinals, replicas = 1 } = spec ?? {};
  const start = ordinals?.start ?? 0;
  return metadata.deletionTimestamp === undefined && ordinal >= start && ordinal < start + replicas;
};

/**
 * Returns the ordinal of a claim's gateway, such as 3 for `data-standin-gateway-3`, or undefined if the name is not that of a
 * gateway's claim.
 */
export const claimOrdinal = (claim: string, statefulSet: string): number | undefined => {
  const [, number] = claim.split(`-${statefulSet}-`);
  return number !== undefined && /^\d+$/.test(number) ? Number(number) : undefined;
};

// client-node's V1ObjectMeta has Dates where a watch returns strings, and all its fields are optional.

import type { ObjectVersion } from '@standin/contract';

/** The fields that every Kubernetes object has. The caller parses the rest. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly generation?: number;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: unknown;
  };
}

export const objectVersion = ({ metadata: { uid = '', resourceVersion = '' } }: KubeObject): ObjectVersion => ({
  uid,
  resourceVersion,
});

/** Returns a version as text, for a store that does not know Kubernetes. */
export const formatVersion = ({ uid, resourceVersion }: ObjectVersion): string => `${uid}/${resourceVersion}`;

/** Parses the result of `formatVersion`. */
export const parseVersion = (text: string): ObjectVersion => {
  const [uid = '', resourceVersion = ''] = text.split('/');
  return { uid, resourceVersion };
};

/** Keeps only the part of an object that identifies it. */
export const nameOnly = ({ metadata: { name, namespace, uid, resourceVersion } }: KubeObject): KubeObject => ({
  metadata: {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  },
});

export interface KubeList<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  /** Go sometimes writes an empty list as null. */
  readonly items: readonly T[] | null;
}

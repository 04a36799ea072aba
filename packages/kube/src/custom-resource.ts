// client-node does not know Standin's custom resources.

import { isDeepStrictEqual } from 'node:util';
import {
  API_GROUP,
  API_VERSION,
  GROUP_VERSION,
  RESOURCES,
  type DesiredObject,
  type Kind,
  type ObjectRef,
  type ResourceObject,
} from '@standin/contract';
import type { KubeObject } from './kube-object.ts';
import { resourcePath } from './resource-path.ts';

/** The annotation in which `kubectl apply` keeps a second copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** A Standin custom resource as the API server returns it. */
export type CustomResource = KubeObject & { readonly spec?: unknown; readonly status?: unknown };

/** Returns the path of all objects of a kind, in one namespace or in all of them. */
export const collectionPath = (kind: Kind, namespace?: string): string =>
  resourcePath({ ...kindResource(kind), namespace });

export const objectPath = ({ kind, namespace, name }: ObjectRef, subresource?: string): string =>
  resourcePath({ ...kindResource(kind), namespace, name, subresource });

const kindResource = (kind: Kind) => ({ group: API_GROUP, version: API_VERSION, plural: RESOURCES[kind].plural });

/**
 * Converts a custom resource to a `ResourceObject`. Leaves out kubectl's copy of the object and other metadata that would only take
 * up memory.
 */
export const toResourceObject = (kind: Kind, object: CustomResource): ResourceObject => {
  const { metadata, spec, status } = object;
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(([name]) => name !== LAST_APPLIED),
  );
  return {
    apiVersion: GROUP_VERSION,
    kind,
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace ?? '',
      uid: metadata.uid ?? '',
      generation: metadata.generation ?? 0,
      resourceVersion: metadata.resourceVersion ?? '',
      creationTimestamp: metadata.creationTimestamp ?? '',
      ...(metadata.deletionTimestamp === undefined ? {} : { deletionTimestamp: metadata.deletionTimestamp }),
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      ...(metadata.annotations === undefined ? {} : { annotations }),
    },
    spec,
    ...(status === undefined ? {} : { status }),
  };
};

/**
 * Returns `current` with the spec, labels and annotations of `desired`, for a PUT. The resourceVersion of `current` makes the PUT a
 * compare-and-swap. Returns `undefined` if there is no difference, because even a PUT without a difference would change the object:
 * it would record this client as the field manager.
 */
export const objectReplacement = (current: CustomResource, desired: DesiredObject): CustomResource | undefined => {
  const { apiVersion, kind, spec } = desired;
  const { labels = {}, annotations = {} } = desired.metadata;
  // Keep kubectl's annotation, because otherwise the next `kubectl apply` could not determine which fields were removed. Keep
  // owners and finalizers too.
  const lastApplied = current.metadata.annotations?.[LAST_APPLIED];
  const kept = lastApplied === undefined ? {} : { [LAST_APPLIED]: lastApplied };
  const metadata = { ...current.metadata, labels, annotations: { ...annotations, ...kept } };
  const asIs = { labels: {}, annotations: {}, ...current.metadata };
  return isDeepStrictEqual([current.spec, asIs], [spec, metadata]) ? undefined : { apiVersion, kind, metadata, spec };
};

import { objectRef, type Objects, type ResourceObject } from '@standin/contract';
import { isOutdated } from './status/status-writer.ts';

/** Labels set by tools that recreate deleted objects. */
const TRACKING_LABELS = [
  'kustomize.toolkit.fluxcd.io/name',
  'helm.toolkit.fluxcd.io/name',
  // The default label of Argo CD before version 3. Version 3 can still be configured to use it. Helm charts also set this label.
  'app.kubernetes.io/instance',
] as const;
const TRACKING_ANNOTATIONS = ['argocd.argoproj.io/tracking-id', 'meta.helm.sh/release-name'] as const;

/**
 * Returns whether a tool would recreate the object if it were deleted. A recreated operation would run again, and a recreated
 * Share would be deleted again, without end.
 */
export const isTracked = ({ metadata: { labels = {}, annotations = {} } }: ResourceObject): boolean =>
  TRACKING_LABELS.some((name) => labels[name] !== undefined) ||
  TRACKING_ANNOTATIONS.some((name) => annotations[name] !== undefined);

/** Deletes this version of an object. Does nothing if the object was deleted or changed, which the source is about to report. */
export const deleteObject = async (objects: Pick<Objects, 'delete'>, object: ResourceObject): Promise<void> => {
  const { uid, resourceVersion } = object.metadata;
  await objects.delete(objectRef(object), { uid, resourceVersion }).catch((error: unknown) => {
    if (!isOutdated(error)) throw error;
  });
};

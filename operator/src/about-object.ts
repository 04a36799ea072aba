import type { ObjectRef, ResourceObject } from '@standin/contract';

/** Returns the kind, namespace and name of the object with this uid, for log lines. Returns no fields if the object is unknown. */
export const aboutObject = (
  objects: { get(uid: string): Pick<ResourceObject, 'kind' | 'metadata'> | undefined },
  uid: string,
): Partial<ObjectRef> => {
  const object = objects.get(uid);
  return object === undefined
    ? {}
    : { kind: object.kind, namespace: object.metadata.namespace, name: object.metadata.name };
};

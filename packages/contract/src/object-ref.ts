import type { ObjectMeta, ObjectRef, ResourceObject } from './resource-source.ts';

/** Takes an object as received, or as it is to be written. */
export const objectRef = ({
  kind,
  metadata: { namespace, name },
}: Pick<ResourceObject, 'kind'> & { readonly metadata: Pick<ObjectMeta, 'namespace' | 'name'> }): ObjectRef => ({
  kind,
  namespace,
  name,
});

/** Returns for example `Endpoint default/orders`: unique among all objects, and readable. */
export const objectKey = ({ kind, namespace, name }: ObjectRef): string => `${kind} ${namespace}/${name}`;

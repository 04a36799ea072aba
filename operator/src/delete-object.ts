import { SourceError, type ResourceObject, type ResourceSource } from '@standin/contract';

/** Deletes an object, unless it is already gone or another object now has its name. */
export const deleteObject = async (
  source: Pick<ResourceSource, 'get' | 'delete'>,
  { kind, metadata: { namespace, name, uid } }: ResourceObject,
): Promise<void> => {
  const ref = { kind, namespace, name };
  try {
    if ((await source.get(ref))?.metadata.uid === uid) await source.delete(ref);
  } catch (error) {
    if (!(error instanceof SourceError) || error.kind !== 'NotFound') throw error;
  }
};

import { isRecord, type Kind, type ObjectRef, type ResourceObject } from '@standin/contract';
import {
  asSourceError,
  collectionPath,
  isNotFound,
  listPages,
  objectPath,
  toResourceObject,
  toSourceError,
  type CustomResource,
} from '@standin/kube';
import { parseSpec } from '../resources/specs.ts';
import type { ClusterUser } from './cluster-user.ts';

/** Larger than what lists show of an object, such as a path, a URL or six conditions with the longest messages. */
const LISTED_PART_BYTES_MAX = 8 * 1024;
/** Later pages have more objects if these are small. */
const FIRST_PAGE_SIZE = 50;
const LIST_PAGE_BYTES_MAX = 1024 * 1024;
/** Other requests wait for this long. */
const STEP_MS = 10;

/**
 * Returns the objects of a kind in one namespace or in all namespaces, read with the user's token. They have only the parts that lists
 * show, because the objects of a namespace can have any size in total. Rejects with `SourceError`.
 */
export const listIn = async (
  { client, signal, hold, step }: Pick<ClusterUser, 'client' | 'signal' | 'hold' | 'step'>,
  kind: Kind,
  namespace: string | undefined,
): Promise<readonly ResourceObject[]> => {
  const listed: ResourceObject[] = [];
  const options = { signal, firstPageSize: FIRST_PAGE_SIZE, pageBytesMax: LIST_PAGE_BYTES_MAX };
  const read = async (): Promise<void> => {
    for await (const { items } of listPages<CustomResource>(client, collectionPath(kind, namespace), options)) {
      let at = 0;
      /** Returns the size of the objects that were added. */
      const addSome = (): number => {
        const endMs = performance.now() + STEP_MS;
        let bytes = 0;
        while (at < items.length && performance.now() < endMs) {
          const small = withoutLargeParts(toResourceObject(kind, items[at] as CustomResource));
          // Pages read all specs.
          parseSpec(small);
          bytes += sizeOfJson(small);
          listed.push(small);
          at += 1;
        }
        return bytes;
      };
      while (at < items.length) await hold('objects', await step(addSome));
    }
  };
  await asSourceError(read());
  return listed;
};

const sizeOfJson = (value: unknown): number => (value === undefined ? 0 : JSON.stringify(value).length);

/** Leaves out long texts and lists, at any depth. */
export const withoutLargeParts = <T extends object>(object: T): T => smallPart(object) as T;

const smallPart = (value: unknown): unknown => {
  if (sizeOfJson(value) <= LISTED_PART_BYTES_MAX) return value;
  if (!isRecord(value)) return undefined;
  const parts = Object.entries(value).map(([name, part]) => [name, smallPart(part)] as const);
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
};

/** Returns an object, or undefined if it does not exist. Rejects with `SourceError`. */
export const getObject = async (
  { client, signal, hold }: Pick<ClusterUser, 'client'> & Partial<Pick<ClusterUser, 'signal' | 'hold'>>,
  ref: ObjectRef,
): Promise<ResourceObject | undefined> => {
  try {
    const object = toResourceObject(ref.kind, await client.get<CustomResource>(objectPath(ref), { signal }));
    await hold?.('objects', sizeOfJson(object));
    return object;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw toSourceError(error);
  }
};

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
  type KubeObject,
} from '@standin/kube';
import { parseSpec } from '../resources/specs.ts';
import type { ClusterUser } from './cluster-user.ts';

/** What a list keeps of each object, as JSON. Enough for a path, a URL and six conditions with the longest messages. */
const LISTED_BYTES_MAX = 8 * 1024;
/** What a long list keeps of each object, as JSON, and the size from which a list is long. */
const BRIEF_BYTES_MAX = 1024;
const LONG_LIST_BYTES = 2 * 1024 * 1024;
/** Pages are in memory before they are counted, one for each call that runs. Later pages have more objects if these are small. */
export const SMALL_PAGES = { firstPageSize: 50, pageBytesMax: 1024 * 1024 };
/** Other requests wait for this long. */
const STEP_MS = 10;

/**
 * Returns the objects of a kind in one namespace or in all namespaces, read with the user's token. They have only the parts that lists
 * show, because the objects of a namespace can have any size in total. Rejects with `SourceError`.
 */
export const listIn = async (
  { client, signal, hold, holdList, step }: Pick<ClusterUser, 'client' | 'signal' | 'hold' | 'holdList' | 'step'>,
  kind: Kind,
  namespace: string | undefined,
): Promise<readonly ResourceObject[]> => {
  const listed: ResourceObject[] = [];
  let listedBytes = 0;
  const options = { signal, ...SMALL_PAGES };
  const read = async (): Promise<void> => {
    for await (const page of listPages<CustomResource>(client, collectionPath(kind, namespace), options)) {
      const { items } = page;
      let at = 0;
      /** Returns the size of the objects that were added. */
      const addSome = (): number => {
        const endMs = performance.now() + STEP_MS;
        const bytesBefore = listedBytes;
        while (at < items.length && performance.now() < endMs) {
          const bytesMax = listedBytes < LONG_LIST_BYTES ? LISTED_BYTES_MAX : BRIEF_BYTES_MAX;
          const { small, bytes } = smallObject(toResourceObject(kind, items[at] as CustomResource), bytesMax);
          // Pages read all specs.
          parseSpec(small);
          listed.push(small);
          listedBytes += bytes;
          at += 1;
        }
        return listedBytes - bytesBefore;
      };
      while (at < items.length) await hold('objects', await step(addSome));
      if (page.isPartial) await holdList();
    }
  };
  await asSourceError(read());
  return listed;
};

const sizeOfJson = (value: unknown): number => (value === undefined ? 0 : JSON.stringify(value).length);

/** Leaves out long texts and lists, at any depth. */
export const withoutLargeParts = <T extends Pick<KubeObject, 'metadata'>>(object: T): T =>
  smallObject(object, LISTED_BYTES_MAX).small;

/** What identifies an object is kept in any case. */
const smallObject = <T extends Pick<KubeObject, 'metadata'>>(
  object: T,
  bytesMax: number,
): { readonly small: T; readonly bytes: number } => {
  const bytes = sizeOfJson(object);
  if (bytes <= bytesMax) return { small: object, bytes };
  const { metadata, ...parts } = object;
  const { name, namespace, uid, generation, resourceVersion, creationTimestamp, deletionTimestamp, ...rest } = metadata;
  const identity = { name, namespace, uid, generation, resourceVersion, creationTimestamp, deletionTimestamp };
  const given = Object.entries(identity).filter(([, value]) => value !== undefined);
  const { rest: smallRest, ...smallParts } = smallRecord({ ...parts, rest }, bytesMax).small;
  const small = {
    ...smallParts,
    metadata: { ...Object.fromEntries(given), ...(smallRest as object | undefined) },
  } as object as T;
  return { small, bytes: sizeOfJson(small) };
};

interface Small<T> {
  readonly small: T;
  readonly bytes: number;
}

const NOTHING: Small<undefined> = { small: undefined, bytes: 0 };

const smallPart = (value: unknown, bytesMax: number, bytes: number): Small<unknown> => {
  if (bytes <= bytesMax) return { small: value, bytes };
  if (isRecord(value)) return smallRecord(value, bytesMax);
  // For example conditions without their messages.
  return Array.isArray(value) && value.every(isRecord) ? smallRecords(value, bytesMax) : NOTHING;
};

/** Keeps the smallest parts. */
const smallRecord = (record: Readonly<Record<string, unknown>>, bytesMax: number): Small<Record<string, unknown>> => {
  const parts = Object.entries(record).map(([name, part]) => ({ name, part, partBytes: sizeOfJson(part) }));
  const kept = new Map<string, unknown>();
  let bytes = 2;
  for (const { name, part, partBytes } of parts.sort((a, b) => a.partBytes - b.partBytes)) {
    const nameBytes = name.length + 4;
    const found = smallPart(part, bytesMax - bytes - nameBytes, partBytes);
    if (found.small === undefined) continue;
    kept.set(name, found.small);
    bytes += nameBytes + found.bytes;
  }
  return { small: Object.fromEntries(kept), bytes };
};

/** Keeps all records, or none. */
const smallRecords = (records: readonly Record<string, unknown>[], bytesMax: number): Small<unknown> => {
  const each = bytesMax / records.length - 1;
  const found = records.map((record) => smallPart(record, each, sizeOfJson(record)));
  const bytes = found.reduce((sum, one) => sum + one.bytes + 1, 2);
  return bytes <= bytesMax ? { small: found.map(({ small }) => small), bytes } : NOTHING;
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

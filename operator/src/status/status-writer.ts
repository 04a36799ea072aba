import { isDeepStrictEqual } from 'node:util';
import { isRecord, ownMember, SourceError, type Objects, type ResourceObject, objectRef } from '@standin/contract';
import { isOlder } from '../resource-version.ts';

export type StatusFields = Readonly<Record<string, unknown>>;

/**
 * The result of a write. `outdated` means that nothing was written because the object was deleted or changed, which the source is
 * about to report.
 */
export type StatusWrite = 'written' | 'unchanged' | 'outdated';

/**
 * Writes statuses of objects of any kind, only if they differ, and never a spec. Each write is conditional on the version that it
 * was compared with, so it can neither affect a new object with the same name nor undo a newer change.
 */
export class StatusWriter {
  readonly #objects: Pick<Objects, 'writeStatus'>;
  /** The last written versions by uid, until the source's own view includes them. */
  readonly #written = new Map<string, Pick<ResourceObject, 'metadata' | 'status'>>();

  constructor(objects: Pick<Objects, 'writeStatus'>) {
    this.#objects = objects;
  }

  /**
   * Returns the latest known version of an object from the source. Includes this writer's writes even if the source lags behind.
   */
  newest(object: ResourceObject): ResourceObject {
    const { uid } = object.metadata;
    const written = this.#written.get(uid);
    if (written !== undefined && isOlder(object, written)) return { ...object, ...written };
    this.#written.delete(uid);
    return object;
  }

  /** Returns whether a report from the source only reflects this writer's last write. */
  isEcho({ metadata: { uid, resourceVersion } }: ResourceObject): boolean {
    if (this.#written.get(uid)?.metadata.resourceVersion !== resourceVersion) return false;
    this.#written.delete(uid);
    return true;
  }

  forget(uid: string): void {
    this.#written.delete(uid);
  }

  /**
   * Writes the fields that differ from the status of `object`.
   *
   * @param object the version that the fields were computed from
   * @param fields see `statusDifference`
   */
  async write(object: ResourceObject, fields: StatusFields): Promise<StatusWrite> {
    const { uid, resourceVersion } = object.metadata;
    const patch = statusDifference(currentStatus(object), fields);
    if (patch === undefined) return 'unchanged';
    try {
      const { metadata, status } = await this.#objects.writeStatus(objectRef(object), patch, resourceVersion);
      this.#written.set(uid, { metadata, status });
      return 'written';
    } catch (error) {
      if (!isOutdated(error)) throw error;
      this.#written.delete(uid);
      return 'outdated';
    }
  }
}

/** Returns whether the error means that the object was deleted or changed, which the source is about to report. */
export const isOutdated = (error: unknown): boolean =>
  error instanceof SourceError && (error.kind === 'NotFound' || error.kind === 'Conflict');

/** Empty if the status is not an object. */
export const currentStatus = ({ status }: Pick<ResourceObject, 'status'>): StatusFields =>
  isRecord(status) ? status : {};

/**
 * Returns the merge patch (RFC 7396) from one status to another, or undefined if there is no difference. Fields that `desired`
 * does not contain stay unchanged, including in nested objects. A field that is present and undefined is removed.
 */
export const statusDifference = (before: StatusFields, desired: StatusFields): StatusFields | undefined => {
  const patch = new Map<string, unknown>();
  for (const [name, value] of Object.entries(desired)) {
    const current = ownMember(before, name);
    if (isRecord(value) && isRecord(current)) {
      const nested = statusDifference(current, value);
      if (nested !== undefined) patch.set(name, nested);
    } else if (!isDeepStrictEqual(current, value)) patch.set(name, value ?? null);
  }
  return patch.size === 0 ? undefined : Object.fromEntries(patch);
};

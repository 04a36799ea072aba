import type { DesiredObject, ObjectRef } from '@standin/contract';
import { operationsFolder, operationsRecords } from '../../operator/src/sources/directory-source.ts';
import { manifestKey } from '../../operator/src/sources/manifest-objects.ts';
import { ManifestWriter } from '../../operator/src/sources/manifest-writer.ts';
import { ObjectRecords, derivedUid } from '../../operator/src/sources/object-records.ts';

/** A Replay, Share or KeyRegeneration as the operator sees it. */
interface SeenOperation {
  readonly uid: string;
  /** The status, which is not validated. */
  readonly status: unknown;
}

/**
 * Creates, changes and reads Replays, Shares and KeyRegenerations in the data folder of a `standin dev` that runs in another
 * process.
 */
interface OperationFiles {
  /** Creates the object. Resolves with the file that contains it. Rejects with `SourceError`. */
  create(object: DesiredObject): Promise<string>;
  /** Changes an object in this file. Rejects with `SourceError`. */
  change(object: DesiredObject, file: string): Promise<void>;
  /**
   * Returns the object as the operator has seen it, with a delay of up to a tenth of a second. Returns undefined if the operator
   * has not seen the object yet.
   */
  seen(ref: ObjectRef): Promise<SeenOperation | undefined>;
}

export const operationFiles = (dataDir: string): OperationFiles => {
  const writer = new ManifestWriter(operationsFolder(dataDir));
  return {
    create: (object) => writer.write(object, undefined),
    change: async (object, file) => {
      await writer.write(object, file);
    },
    seen: async (ref) => {
      const records = new ObjectRecords(operationsRecords(dataDir), () => undefined);
      await records.load();
      const key = manifestKey(ref);
      const record = records.get(key);
      return record && { uid: derivedUid(`${key} ${record.firstSeen}`), status: record.status };
    },
  };
};

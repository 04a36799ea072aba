import type { DesiredObject, ObjectRef } from '@standin/contract';
import { actsFolder, actsRecords } from './directory-source.ts';
import { manifestKey } from './manifest-objects.ts';
import { ManifestWriter } from './manifest-writer.ts';
import { ObjectRecords, uidOf } from './object-records.ts';

/** What the operator has made of an act. */
export interface SeenAct {
  readonly uid: string;
  /** Unchecked. */
  readonly status: unknown;
}

/** Acts of a directory source that runs in another process, on the same data folder. */
export interface ActFiles {
  /** Creates the act; resolves with the file that holds it. Rejects with `SourceError`. */
  create(object: DesiredObject): Promise<string>;
  /** Changes an act that is in this file. Rejects with `SourceError`. */
  change(object: DesiredObject, file: string): Promise<void>;
  /** Undefined until the operator has seen it; lags by a tenth of a second. */
  seen(ref: ObjectRef): Promise<SeenAct | undefined>;
}

export const actFiles = (dataDir: string): ActFiles => {
  const writer = new ManifestWriter(actsFolder(dataDir));
  return {
    create: (object) => writer.write(object, undefined),
    change: async (object, file) => {
      await writer.write(object, file);
    },
    seen: async (ref) => {
      const records = new ObjectRecords(actsRecords(dataDir), () => undefined);
      await records.load();
      const key = manifestKey(ref);
      const record = records.get(key);
      return record && { uid: uidOf(`${key} ${record.firstSeen}`), status: record.status };
    },
  };
};

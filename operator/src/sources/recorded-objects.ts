import { ObjectRecords, objectsFile } from './object-records.ts';

export interface RecordedName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Resolves with the projects and endpoints in the directory that last used the data folder, or with `undefined` if no objects are
 * recorded. Lags behind the directory by a tenth of a second or more. Rejects if the file has a different format.
 */
export const recordedObjects = async (
  dataDir: string,
): Promise<{ readonly projects: readonly RecordedName[]; readonly endpoints: readonly RecordedName[] } | undefined> => {
  const records = new ObjectRecords(objectsFile(dataDir), () => undefined);
  await records.load();
  const objects = [...records.keys()].map((key) => {
    const [kind, namespace = '', name = ''] = key.split('/');
    return { kind, namespace, name };
  });
  if (objects.length === 0) return undefined;
  return {
    projects: objects.filter(({ kind }) => kind === 'Project'),
    endpoints: objects.filter(({ kind }) => kind === 'Endpoint'),
  };
};

import { ObjectRecords, objectsFile } from './object-records.ts';

/**
 * Resolves with the projects in the directory that last used the data folder, or with `undefined` if no objects are recorded. Lags
 * behind the directory by a tenth of a second or more. Rejects if the file has a different format.
 */
export const recordedProjects = async (
  dataDir: string,
): Promise<readonly { readonly namespace: string; readonly name: string }[] | undefined> => {
  const records = new ObjectRecords(objectsFile(dataDir), () => undefined);
  await records.load();
  const keys = [...records.keys()];
  if (keys.length === 0) return undefined;
  return keys.flatMap((key) => {
    const [kind, namespace = '', name = ''] = key.split('/');
    return kind === 'Project' ? [{ namespace, name }] : [];
  });
};

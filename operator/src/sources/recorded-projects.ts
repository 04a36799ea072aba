import { ObjectRecords, objectsFile } from './object-records.ts';

/**
 * Projects of the directory that a data folder is used with, or was last; `undefined` where it was never used with one. Lags by a tenth
 * of a second. Rejects when the file is not ours.
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

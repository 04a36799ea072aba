import { existsSync } from 'node:fs';
import { access, constants, cp, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { isMissingFile } from '@standin/contract';
import { QUICKSTART } from '@standin/crds/examples';
import { findCertificates } from '@standin/egress';
import { ignoreInGit } from '@standin/engine';
import { fileErrorText, PlainError } from '../plain-error.ts';
import type { ResourcesFrom } from './start-standin.ts';

/** Rejects with a `PlainError` if the directory or the kubeconfig cannot be read. */
export const checkReadable = async (from: ResourcesFrom): Promise<void> => {
  const [name, remedy] =
    from.kind === 'directory'
      ? [from.dir, 'specify a directory of manifests']
      : [from.kubeconfig, 'specify a kubeconfig file'];
  try {
    if (from.kind === 'directory') await readdir(name);
    else await access(name, constants.R_OK);
  } catch (error) {
    throw new PlainError(`${name} ${fileErrorText(error)}: ${remedy}`);
  }
};

/** Far more than all public authorities have. */
const UPSTREAM_CA_BYTES_MAX = 4 * 1024 * 1024;

/** Resolves with the certificates in a file, in PEM. Rejects with a `PlainError` if it has none. */
export const readUpstreamCa = async (file: string): Promise<string> => {
  const remedy = 'specify a file with certificates in PEM';
  const refuse = (problem: string): PlainError => new PlainError(`--upstream-ca: ${file} ${problem}: ${remedy}`);
  const text = await stat(file)
    .then((found) => {
      if (!found.isFile()) throw refuse('is not a file');
      if (found.size > UPSTREAM_CA_BYTES_MAX) throw refuse(`is larger than ${UPSTREAM_CA_BYTES_MAX / 1024 / 1024} MiB`);
      return readFile(file, 'latin1');
    })
    .catch((error: unknown) => {
      throw error instanceof PlainError ? error : refuse(fileErrorText(error));
    });
  const certificates = findCertificates(text);
  if (certificates === undefined)
    throw refuse(
      text === ''
        ? 'is empty'
        : 'contains no certificate that begins with -----BEGIN CERTIFICATE-----, or one that cannot be read',
    );
  return certificates.join('\n');
};

/**
 * Creates a directory with a copy of the quickstart, unless it exists. Resolves with whether it was created. Rejects with a
 * `PlainError` if it cannot be created.
 */
export const copyQuickstart = async (dir: string): Promise<boolean> => {
  try {
    await mkdir(dir);
    await cp(QUICKSTART, dir, { recursive: true });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new PlainError(`the directory ${dir} ${fileErrorText(error)}: specify a directory of manifests`, {
      cause: error,
    });
  }
};

/**
 * Returns the cause of a failed recursive mkdir. If an existing parent folder is not writable, mkdir reports ENOENT, so this
 * function returns the error from a check of that folder instead.
 */
const mkdirFailure = async (error: unknown, folder: string): Promise<unknown> => {
  if (!isMissingFile(error)) return error;
  let parent = path.dirname(folder);
  while (!existsSync(parent)) parent = path.dirname(parent);
  return access(parent, constants.W_OK).then(
    () => error,
    (reason: unknown) => reason,
  );
};

/** The files and folders that Standin creates in a data folder. If a folder contains others, it gets no `.gitignore`. */
export const ENTRIES = [
  'clickhouse',
  'gateway',
  'operations',
  'operator',
  'running.json',
  'secrets',
  'state',
  'temporary',
  'tls',
];

/**
 * Creates the folder for the log, keys and state. Returns its absolute path. Rejects with a `PlainError` if the folder cannot be
 * created, read or written.
 */
export const prepareDataDir = async (name: string): Promise<string> => {
  const dataDir = path.resolve(name);
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    await ignoreInGit(dataDir, ENTRIES);
  } catch (error) {
    throw new PlainError(
      `the data folder ${name} ${fileErrorText(await mkdirFailure(error, dataDir))}: choose another with --data`,
    );
  }
  return dataDir;
};

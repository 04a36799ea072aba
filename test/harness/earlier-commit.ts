import { execFile } from 'node:child_process';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './processes.ts';

const run = promisify(execFile);
/** The last commit before `spec.responses`. It has neither `spec.metrics` nor rate limits. */
const COMMIT = 'adfd56013a8adc8740220f790e476da803748f2a';

/**
 * Extracts an earlier commit from the repository's history into the folder. Its gateway runs with the dependencies of this checkout.
 * Returns the path of the earlier checkout.
 */
export const checkOutEarlierCommit = async (folder: string): Promise<string> => {
  const checkout = path.join(folder, 'earlier');
  const scope = path.join(checkout, 'node_modules/@standin');
  await mkdir(scope, { recursive: true });
  const extract = `git archive ${COMMIT} gateway operator crds packages package.json | tar --extract --directory "$1"`;
  await run('bash', ['-o', 'pipefail', '-c', extract, 'bash', checkout], { cwd: ROOT }).catch((cause: unknown) => {
    throw new Error('cannot read an earlier commit. In a shallow clone, run: git fetch --unshallow', { cause });
  });
  // Node looks for a package in the closest folder first, so that all packages of Standin are those of the earlier commit.
  await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  const packages = await readdir(path.join(checkout, 'packages'));
  for (const place of [...packages.map((name) => `packages/${name}`), 'crds', 'operator', 'gateway']) {
    await symlink(path.join(checkout, place), path.join(scope, path.basename(place)));
  }
  return checkout;
};

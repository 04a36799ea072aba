import { existsSync } from 'node:fs';
import { MissingToolError, type Progress } from './go-program.ts';
import { runCommand } from './run-command.ts';

const INSTALL_TIMEOUT_MS = 10 * 60_000;

/** The name of a Debian package, and files of which one exists if the package or an equivalent is installed. */
export type DebianPackage = readonly [name: string, files: readonly string[]];

/** Returns the names of the packages that this machine lacks. */
export const missingPackages = (packages: readonly DebianPackage[]): readonly string[] =>
  packages.filter(([, files]) => !files.some((file) => existsSync(file))).map(([name]) => name);

/** Installs Debian packages and logs their names. Throws MissingToolError if the installation is impossible. */
export const installDebianPackages = async (names: readonly string[], log: Progress): Promise<void> => {
  const list = names.join(' ');
  const remedy = `Install manually: apt-get install --no-install-recommends ${list}`;
  if (process.getuid?.() !== 0)
    throw new MissingToolError(`${list}: missing, and only root can install packages. ${remedy}`);
  log(`installing the Debian packages ${list} …`);
  // Another process may be installing packages at the same time.
  const wait = ['-o', 'DPkg::Lock::Timeout=300'];
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...wait, ...names]]) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const { code, stderr } = await runCommand('apt-get', args, { env, timeoutMs: INSTALL_TIMEOUT_MS }).catch(
      (error: unknown) => ({ code: 1, stderr: String(error) }),
    );
    if (code !== 0) throw new MissingToolError(`${list}: cannot be installed here. ${remedy}\n${stderr.slice(-500)}`);
  }
};

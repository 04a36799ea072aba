import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_USER, EngineStartError, type Credentials } from './engine-process.ts';

/** As many as a SHA-256 has: not to be guessed. */
const PASSWORD_BYTES = 32;

/** A login that nothing had before. */
export const newLogin = (): Credentials => ({
  user: DEFAULT_USER,
  password: randomBytes(PASSWORD_BYTES).toString('base64url'),
});

const readText = (folder: string, name: string): Promise<string> =>
  readFile(path.join(folder, name), 'utf8').then((text) => text.trim());

/** The login in the files `username` and `password`, as a mounted Secret has them. Rejects with an `EngineStartError`. */
export const readLogin = async (folder: string): Promise<Credentials> => {
  const [user, password] = await Promise.all(['username', 'password'].map((name) => readText(folder, name))).catch(
    (error: unknown) => {
      throw new EngineStartError(`cannot read the login in ${folder}: ${String(error)}`, { cause: error });
    },
  );
  if (!user || !password) throw new EngineStartError(`username and password in ${folder} must not be empty`);
  return { user, password };
};

/** Writes a login where its owner alone can read it, as curl takes it (`curl -K FILE`). Returns the file. */
export const writeCurlLogin = async (folder: string, { user, password }: Credentials): Promise<string> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, 'curl.conf');
  // One that was left behind may have another owner or mode.
  await rm(file, { force: true });
  await writeFile(file, `user = "${user}:${password}"\n`, { mode: 0o600, flag: 'wx' });
  return file;
};

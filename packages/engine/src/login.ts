import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_USER, EngineStartError, type Credentials } from './engine-process.ts';

/** 256 random bits, so that a password cannot be guessed. */
const PASSWORD_BYTES = 32;

/** Creates a new, random login. */
export const newLogin = (): Credentials => ({
  user: DEFAULT_USER,
  password: randomBytes(PASSWORD_BYTES).toString('base64url'),
});

const readText = (folder: string, name: string): Promise<string> =>
  readFile(path.join(folder, name), 'utf8').then((text) => text.trim());

/**
 * Reads the login from the files `username` and `password`, which is the layout of a mounted Secret. Rejects with an
 * `EngineStartError`.
 */
export const readLogin = async (folder: string): Promise<Credentials> => {
  const [user, password] = await Promise.all(['username', 'password'].map((name) => readText(folder, name))).catch(
    (error: unknown) => {
      throw new EngineStartError(`cannot read the credentials in ${folder}: ${String(error)}`, { cause: error });
    },
  );
  if (!user || !password) throw new EngineStartError(`the username and password in ${folder} must not be empty`);
  return { user, password };
};

/** Writes a login for curl (`curl -K FILE`) to a file that only its owner can read. Returns the path of the file. */
export const writeCurlLogin = async (folder: string, { user, password }: Credentials): Promise<string> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, 'curl.conf');
  // An existing file may have a different owner or mode.
  await rm(file, { force: true });
  await writeFile(file, `user = "${user}:${password}"\n`, { mode: 0o600, flag: 'wx' });
  return file;
};

import { mkdir, readFile, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMissingFile, SourceError } from '@standin/contract';
import { replaceFile } from '@standin/process/replace-file';
import { z } from 'zod';

const secretSchema = z.strictObject({
  owner: z.strictObject({ kind: z.string(), name: z.string(), uid: z.string() }),
  /** The values in Base64, as in a Kubernetes Secret. */
  data: z.record(z.string(), z.string()),
  /** Identifies the last `replace`, so that a repeated call does not write again. */
  mark: z.string().optional(),
});
type Secret = z.infer<typeof secretSchema>;

const encoded = (data: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));

/** A name in the format of RFC 1123, which cannot lead outside the folder. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

const FOLDER_MODE = 0o700;

/** The generated Secrets, each in a file `<folder>/<namespace>/<name>.json` with mode 0600. */
export class SecretFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Creates the folder. Later writes do not, so that no new key replaces one whose folder was removed. */
  async open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: FOLDER_MODE });
  }

  async read(namespace: string, name: string, dataKey: string): Promise<Uint8Array | undefined> {
    const secret = await this.#load(this.#path(namespace, name));
    const value = secret === undefined ? undefined : new Map(Object.entries(secret.data)).get(dataKey);
    return value === undefined ? undefined : Buffer.from(value, 'base64');
  }

  /** Creates a Secret. Rejects with `Conflict` if a Secret of that name exists. */
  async create(
    namespace: string,
    name: string,
    secret: { owner: Secret['owner']; data: Readonly<Record<string, string>> },
  ): Promise<void> {
    try {
      await this.#write(namespace, name, { ...secret, data: encoded(secret.data) }, { exclusive: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw secretConflict(namespace, name);
      throw error;
    }
  }

  /** Replaces the Secret unless the stored Secret already has this mark. */
  async replace(namespace: string, name: string, secret: Secret & { readonly mark: string }): Promise<void> {
    const before = await this.#load(this.#path(namespace, name));
    if (before?.mark === secret.mark) return;
    await this.#write(namespace, name, { ...secret, data: encoded(secret.data) }, { exclusive: false });
  }

  /** Removes the Secrets of a deleted owner. */
  async removeOwned(namespace: string, ownerUid: string): Promise<void> {
    const folder = dirname(this.#path(namespace, 'any'));
    const files = await readdir(folder).catch(() => []);
    for (const file of files.filter((name) => name.endsWith('.json'))) {
      const path = join(folder, file);
      const secret = await this.#load(path);
      if (secret?.owner.uid === ownerUid) await rm(path, { force: true });
    }
  }

  async #write(namespace: string, name: string, secret: Secret, { exclusive }: { exclusive: boolean }): Promise<void> {
    const file = this.#path(namespace, name);
    try {
      await mkdir(dirname(file), { mode: FOLDER_MODE }).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      });
      await replaceFile(file, JSON.stringify(secret), { mode: 0o600, exclusive });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
      throw new SourceError('Unavailable', `cannot write a Secret to ${this.#folder}`, { cause: error });
    }
  }

  async #load(path: string): Promise<Secret | undefined> {
    try {
      return secretSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    } catch (error) {
      if (isMissingFile(error)) return undefined;
      // Omits the cause's message, because it may quote the secret.
      throw new SourceError('Unavailable', `cannot read the Secret in ${path}; fix or remove the file`);
    }
  }

  #path(namespace: string, name: string): string {
    for (const part of [namespace, name]) {
      if (!NAME.test(part))
        throw new SourceError(
          'Invalid',
          `"${part}" is not a name that Kubernetes accepts: use lowercase letters, digits, - and .`,
        );
    }
    return join(this.#folder, namespace, `${name}.json`);
  }
}

export const secretConflict = (namespace: string, name: string): SourceError =>
  new SourceError('Conflict', `Secret "${name}" already exists in namespace "${namespace}"`);

/** Returns the error for a Secret that `Secrets.replace` must not change. */
export const foreignSecret = (namespace: string, name: string): SourceError =>
  new SourceError(
    'Invalid',
    `the Secret "${name}" in namespace "${namespace}" was not created by the operator: replace the key where it is managed`,
  );

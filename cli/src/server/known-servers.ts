import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '@standin/process/replace-file';
import { z } from 'zod';

const knownServerSchema = z.object({
  /** The server's origin, such as `https://standin.example.com`, or `service NAMESPACE/NAME` behind a port-forward. */
  server: z.string(),
  /** URL of the cluster's API server. */
  cluster: z.string(),
  /** SHA-256 of the cluster's certificate authority, in hex. Empty if the machine's authorities are trusted. */
  caSha256: z.string(),
});
const fileSchema = z.object({ servers: z.array(knownServerSchema) });

/** A server that may receive the tokens of a cluster. */
export type KnownServer = Readonly<z.infer<typeof knownServerSchema>>;

/** Only the newest servers are kept. The limit is far above normal use. */
const SERVERS_MAX = 1_000;

/** Stores which servers may receive the tokens of which cluster, in a file that only this user can read. */
export class KnownServers {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = path.join(folder, 'known-servers.json');
  }

  async has(server: KnownServer): Promise<boolean> {
    return (await this.#read()).some((known) => isSame(known, server));
  }

  /** Rejects if the file cannot be written. */
  async add(server: KnownServer): Promise<void> {
    const others = (await this.#read()).filter((known) => !isSame(known, server));
    const servers = [...others, server].slice(-SERVERS_MAX);
    await replaceFile(this.#file, `${JSON.stringify({ servers }, null, 2)}\n`, { mode: 0o600 });
  }

  /** Reads the file. A missing or invalid file counts as empty, so the user is asked again. */
  async #read(): Promise<readonly KnownServer[]> {
    try {
      return fileSchema.parse(JSON.parse(await readFile(this.#file, 'utf8'))).servers;
    } catch {
      return [];
    }
  }
}

const isSame = (a: KnownServer, b: KnownServer): boolean =>
  a.server === b.server && a.cluster === b.cluster && a.caSha256 === b.caSha256;

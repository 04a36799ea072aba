import type { ResourceObject, Secrets } from '@standin/contract';
import { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Controller } from '../controller.ts';
import type { DesiredState } from '../desired-state.ts';
import { readRefusal } from '../keys/account-keys.ts';
import { inParallel, READERS } from '../keys/in-parallel.ts';
import type { Changes, Translator, Verdict } from '../translate/index.ts';
import { readValues, type ReadSecret } from './secret-values.ts';

export interface SecretControllerOptions {
  readonly secrets: Pick<Secrets, 'readLabelled'>;
  readonly desired: Pick<DesiredState, 'setSecret' | 'flush'>;
  readonly translator: Pick<Translator, 'verdicts'>;
  /** The interval at which each Secret is read again. Watching the Secrets would require `watch` on all Secrets. */
  readonly pollMs: number;
  readonly logger: Logger;
  readonly registry?: Registry | undefined;
}

const BACKOFF = { baseMs: 100, capMs: 10_000 };

/** Reads the Secrets that Endpoints refer to, for one leader's term. A Secret is identified by `NAMESPACE/NAME`. */
export class SecretController implements Controller {
  readonly name = 'secrets';
  readonly #options: SecretControllerOptions;
  readonly #queue: WorkQueue;
  /** The Secrets of each Endpoint, by the Endpoint's uid. */
  readonly #secretsByUser = new Map<string, readonly string[]>();
  /** The uids of the Endpoints that refer to each Secret. */
  readonly #users = new Map<string, Set<string>>();
  /** The Secrets that have been read in this term. */
  readonly #read = new Map<string, ReadSecret>();

  constructor(options: SecretControllerOptions) {
    this.#options = options;
    const { pollMs, registry, logger } = options;
    this.#queue = new WorkQueue({
      name: this.name,
      concurrency: READERS,
      backoff: BACKOFF,
      registry,
      logger: logger.child({ stage: 'secrets' }),
      about: (secret) => {
        const [namespace, name] = namespaceAndName(secret);
        return { kind: 'Secret', namespace, name };
      },
      reconcile: async (secret) => ((await this.#refresh(secret)) ? { requeueAfterMs: pollMs } : undefined),
    });
  }

  /** Reads all Secrets. Rejects if one of them cannot be read and a retry may help. */
  async prepare(signal: AbortSignal): Promise<void> {
    this.#note(this.#options.translator.verdicts());
    await inParallel([...this.#users.keys()], signal, (secret) => this.#refresh(secret));
    this.#options.desired.flush();
  }

  /** The reads are spread over the interval, so that the Secrets are not all read at the same time. */
  start(): void {
    this.#note(this.#options.translator.verdicts());
    for (const secret of this.#users.keys()) {
      this.#queue.addAfter(secret, this.#read.has(secret) ? this.#options.pollMs * Math.random() : 0);
    }
  }

  /** Enqueues the Secrets of changed Endpoints, because they may be new. */
  translated({ verdicts }: Pick<Changes, 'verdicts'>): void {
    for (const secret of this.#note(verdicts)) this.#queue.add(secret);
  }

  removed({ metadata: { uid } }: ResourceObject): void {
    for (const secret of this.#use(uid, [])) this.#queue.add(secret);
  }

  /** Forgets all Secrets, so that the next term publishes none that it has not read itself. */
  async stop(): Promise<void> {
    await this.#queue.stop();
    for (const secret of this.#read.keys()) this.#forget(secret);
  }

  /** From the last read of the Secret. */
  secretValue(id: string): Uint8Array | undefined {
    return this.#read.get(id.slice(0, id.indexOf('/', id.indexOf('/') + 1)))?.values.get(id);
  }

  /** Returns whether every Secret that an Endpoint refers to has been read. */
  isComplete(): boolean {
    return [...this.#users.keys()].every((secret) => this.#read.has(secret));
  }

  /** Records which Secrets the Endpoints in `verdicts` refer to. Returns the Secrets that are affected. */
  #note(verdicts: Iterable<Verdict>): ReadonlySet<string> {
    const affected = new Set<string>();
    for (const { ref, uid, secretNames = [] } of verdicts) {
      const secrets = secretNames.map((name) => `${ref.namespace}/${name}`);
      for (const secret of this.#use(uid, secrets)) affected.add(secret);
    }
    return affected;
  }

  /** Records which Secrets an Endpoint refers to. Returns these and the earlier ones. */
  #use(uid: string, secrets: readonly string[]): readonly string[] {
    const before = this.#secretsByUser.get(uid) ?? [];
    if (secrets.length > 0) this.#secretsByUser.set(uid, secrets);
    else this.#secretsByUser.delete(uid);
    for (const secret of before) {
      const users = this.#users.get(secret);
      users?.delete(uid);
      if (users?.size === 0) this.#users.delete(secret);
    }
    for (const secret of secrets) {
      const users = this.#users.get(secret) ?? new Set();
      this.#users.set(secret, users.add(uid));
    }
    return [...before, ...secrets];
  }

  /** Reads a Secret, and passes its state on. Resolves with false if no Endpoint refers to the Secret. */
  async #refresh(secret: string): Promise<boolean> {
    const [namespace, name] = namespaceAndName(secret);
    const read = this.#users.has(secret) ? await this.#readSecret(secret) : undefined;
    if (read === undefined || !this.#users.has(secret)) {
      this.#forget(secret);
      return false;
    }
    this.#read.set(secret, read);
    this.#options.desired.setSecret(namespace, name, read.state);
    return true;
  }

  async #readSecret(secret: string): Promise<ReadSecret> {
    const [namespace, name] = namespaceAndName(secret);
    try {
      return readValues(namespace, name, await this.#options.secrets.readLabelled(namespace, name));
    } catch (error) {
      const refusal = readRefusal(error);
      // What has been read stays active while a permission is missing.
      if (refusal === undefined || this.#read.get(secret)?.state.kind === 'found') throw error;
      return { state: { kind: 'unreadable', message: refusal }, values: new Map() };
    }
  }

  #forget(secret: string): void {
    if (!this.#read.delete(secret)) return;
    const [namespace, name] = namespaceAndName(secret);
    this.#options.desired.setSecret(namespace, name, undefined);
  }
}

const namespaceAndName = (secret: string): [namespace: string, name: string] => {
  const slash = secret.indexOf('/');
  return [secret.slice(0, slash), secret.slice(slash + 1)];
};

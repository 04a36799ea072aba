import type {
  ObjectRef,
  ResourceObject,
  ServiceListener,
  ServiceObject,
  SourceListener,
  SourceProblem,
} from '@standin/contract';
import type { Logger } from 'pino';
import type { Changes, Holders, KeyState, SecretState, Translator } from './translate/index.ts';

export interface DesiredStateOptions {
  readonly translator: Translator;
  readonly holdOffMs: number;
  readonly logger: Logger;
  /** Called immediately with every object that the sources report, changed or not. */
  readonly onSeen: (object: ResourceObject) => void;
  /** Called after the hold-off with the changes since the last call. */
  readonly onChanges: (changes: Changes) => void;
  readonly onRemoved: (object: ResourceObject) => void;
  readonly onProblems: (problems: readonly SourceProblem[]) => void;
}

/**
 * The translated state of the sources. Each object goes to the translator immediately. The resulting changes are emitted together,
 * `holdOffMs` after the first of them.
 */
export class DesiredState implements SourceListener, ServiceListener {
  readonly #options: DesiredStateOptions;
  readonly #objects = new Map<string, ResourceObject>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: DesiredStateOptions) {
    this.#options = options;
  }

  get objects(): ReadonlyMap<string, ResourceObject> {
    return this.#objects;
  }

  /** Whether a hold-off is running. */
  get hasPending(): boolean {
    return this.#timer !== undefined;
  }

  put(object: ResourceObject): void {
    const { translator, onSeen } = this.#options;
    const { uid, generation } = object.metadata;
    const known = this.#objects.get(uid);
    // Generations decrease only when the API server's database is restored. Without this removal, the translator would ignore the
    // object as outdated.
    if (known !== undefined && generation < known.metadata.generation) translator.remove(refOf(known), uid);
    this.#objects.set(uid, object);
    translator.put(object);
    onSeen(object);
    this.#schedule();
  }

  remove(object: ResourceObject): void {
    const { uid } = object.metadata;
    this.#objects.delete(uid);
    this.#options.translator.remove(refOf(object), uid);
    this.#options.onRemoved(object);
    this.#schedule();
  }

  problems(problems: readonly SourceProblem[]): void {
    this.#options.onProblems(problems);
  }

  putService(service: ServiceObject): void {
    this.#options.translator.putService(service);
    this.#schedule();
  }

  removeService(service: ServiceObject): void {
    this.#options.translator.removeService(service);
    this.#schedule();
  }

  servicesIn(namespace: string | undefined, problem: string | undefined): void {
    this.#options.translator.servicesIn(namespace, problem);
    this.#schedule();
  }

  setKey(accountUid: string, state: KeyState): void {
    this.#options.translator.setKey(accountUid, state);
    this.#schedule();
  }

  /** Sets for which objects claims are recorded, and evaluates all objects that claim something again. */
  setHolders(holders: Holders): void {
    this.#options.translator.setHolders(holders);
    this.#schedule();
  }

  setSecret(namespace: string, name: string, state: SecretState | undefined): void {
    this.#options.translator.setSecret(namespace, name, state);
    this.#schedule();
  }

  /** Emits the changes now, and ends the hold-off. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { translator, onChanges } = this.#options;
    const changes = translator.flush();
    const count = changes.put.length + changes.remove.length + changes.verdicts.length;
    if (count > 0 || translator.unrecorded().length > 0) onChanges(changes);
  }

  /** Cancels the current hold-off, and starts no further one, so only `flush` still calls `onChanges`. */
  close(): void {
    clearTimeout(this.#timer);
    this.#isClosed = true;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      try {
        this.flush();
      } catch (error) {
        // A failed translation is a bug. The configuration stays unchanged until the next change.
        this.#options.logger.error({ err: error }, 'translation failed');
      }
    }, this.#options.holdOffMs);
  }
}

const refOf = ({ kind, metadata: { namespace, name } }: ResourceObject): ObjectRef => ({ kind, namespace, name });

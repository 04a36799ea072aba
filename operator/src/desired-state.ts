import {
  LIMITS,
  type ConfigMapListener,
  type ResourceObject,
  type ServiceListener,
  type ServiceObject,
  type SourceListener,
  type SourceProblem,
  objectRef,
} from '@standin/contract';
import type { Logger } from 'pino';
import { ObjectCache, type CachedObjects } from './object-cache.ts';
import {
  isTrusted,
  type Changes,
  type Holders,
  type KeyState,
  type SecretState,
  type Translator,
} from './translate/index.ts';

export interface DesiredStateOptions {
  readonly translator: Translator;
  readonly holdOffMs: number;
  readonly logger: Logger;
  /** Called immediately with every object that the sources report, changed or not, and with its earlier version. */
  readonly onSeen: (object: ResourceObject, before: ResourceObject | undefined) => void;
  /** Called after the hold-off with the changes since the last call. */
  readonly onChanges: (changes: Changes) => void;
  readonly onRemoved: (object: ResourceObject) => void;
  readonly onProblems: (problems: readonly SourceProblem[]) => void;
}

interface Change {
  readonly namespace: string;
  /** Identifies the object within its namespace. */
  readonly id: string;
  readonly apply: () => void;
}

/** The changes of a namespace that wait, by the id of their object. */
interface Waiting {
  readonly changes: Map<string, () => void>;
  timer: NodeJS.Timeout;
}

/**
 * The translated state of the sources. Each object goes to the translator immediately. The resulting changes are emitted together,
 * `holdOffMs` after the first of them.
 *
 * A small change can affect thousands of objects, for example all Endpoints that forward to a Service. A namespace in which this
 * happens repeatedly is slowed down: its changes wait, and only the last one to each object is applied. These never wait: the removal of
 * an object or of its content, a new key or secret, and a Service whose addresses can no longer be trusted.
 */
export class DesiredState implements SourceListener, ServiceListener {
  readonly #options: DesiredStateOptions;
  readonly #cache = new ObjectCache();
  readonly #dependents = new DependentCounts();
  /** The namespaces of the changes that were applied since the last flush. */
  readonly #changed = new Set<string>();
  readonly #waiting = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #isSynced = false;
  #isClosed = false;

  constructor(options: DesiredStateOptions) {
    this.#options = options;
  }

  get cache(): CachedObjects {
    return this.#cache;
  }

  /** Whether changes have not been emitted yet. */
  get hasPending(): boolean {
    return this.#timer !== undefined || this.#waiting.size > 0;
  }

  /** Emits the changes now. Must be called when the sources have been read once, before which no change waits. */
  synced(): void {
    this.flush();
    this.#isSynced = true;
  }

  put(object: ResourceObject): void {
    const { translator, onSeen } = this.#options;
    const { uid, generation, namespace } = object.metadata;
    const known = this.#cache.put(object);
    // Generations decrease only when the API server's database is restored. Without this removal, the translator would ignore the
    // object as outdated.
    if (known !== undefined && generation < known.metadata.generation) translator.remove(objectRef(known), uid);
    const change = { namespace, id: uid, apply: () => translator.put(object) };
    if (object.isBeyondLimit === true) this.#changeNow(change);
    else if (known?.metadata.generation !== generation || known.isBeyondLimit === true) this.#change(change);
    onSeen(object, known);
    this.#schedule();
  }

  remove(object: ResourceObject): void {
    const { uid, namespace } = object.metadata;
    this.#cache.remove(object);
    this.#changeNow({ namespace, id: uid, apply: () => this.#options.translator.remove(objectRef(object), uid) });
    this.#options.onRemoved(object);
  }

  problems(problems: readonly SourceProblem[]): void {
    this.#cache.setProblems(problems);
    this.#options.onProblems(problems);
  }

  putService(service: ServiceObject): void {
    this.#changeService(service, () => this.#options.translator.putService(service), isTrusted(service));
  }

  removeService(service: ServiceObject): void {
    this.#changeService(service, () => this.#options.translator.removeService(service), false);
  }

  servicesIn(namespace: string | undefined, problem: string | undefined): void {
    this.#options.translator.servicesIn(namespace, problem);
    this.#schedule();
  }

  readonly configMaps: ConfigMapListener = {
    put: (configMap) => {
      const { namespace, name, data } = configMap;
      const change = { namespace, id: `ConfigMap ${name}`, apply: () => this.#configMaps.put(configMap) };
      if (data === undefined) this.#changeNow(change);
      else this.#change(change);
    },
    remove: (configMap) => {
      const { namespace, name } = configMap;
      this.#changeNow({ namespace, id: `ConfigMap ${name}`, apply: () => this.#configMaps.remove(configMap) });
    },
    readable: (namespace, problem) => {
      this.#configMaps.readable(namespace, problem);
      this.#schedule();
    },
  };

  get #configMaps(): ConfigMapListener {
    return this.#options.translator.configMaps;
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
    for (const [namespace, count] of translator.takeDependents())
      if (this.#isSynced && this.#changed.has(namespace)) this.#dependents.add(namespace, count);
    this.#changed.clear();
    const count = changes.put.length + changes.remove.length + changes.verdicts.length;
    if (count > 0 || translator.unrecorded().length > 0) onChanges(changes);
  }

  /** Cancels the current hold-off, and starts no further one, so only `flush` still calls `onChanges`. */
  close(): void {
    clearTimeout(this.#timer);
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#isClosed = true;
  }

  #changeService({ namespace, name }: ServiceObject, apply: () => void, isStillTrusted: boolean): void {
    const change = { namespace, id: `Service ${name}`, apply };
    if (!isStillTrusted && this.#options.translator.trusts({ namespace, name })) this.#changeNow(change);
    else this.#change(change);
  }

  #changeNow({ namespace, id, apply }: Change): void {
    this.#waiting.get(namespace)?.changes.delete(id);
    this.#changed.add(namespace);
    apply();
    this.#schedule();
  }

  #change(change: Change): void {
    const { namespace, id, apply } = change;
    const waiting = this.#waiting.get(namespace);
    const waitMs = this.#dependents.waitMs(namespace);
    if (waiting !== undefined) waiting.changes.set(id, apply);
    else if (waitMs === 0) this.#changeNow(change);
    else if (!this.#isClosed) {
      this.#options.logger.info({ namespace, waitMs }, 'changes wait, earlier ones affected many objects');
      this.#waiting.set(namespace, { changes: new Map([[id, apply]]), timer: this.#applyLater(namespace, waitMs) });
    }
  }

  #applyLater(namespace: string, waitMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const waiting = this.#waiting.get(namespace);
      const moreMs = this.#dependents.waitMs(namespace);
      if (waiting !== undefined && moreMs > 0) {
        waiting.timer = this.#applyLater(namespace, moreMs);
        return;
      }
      this.#waiting.delete(namespace);
      for (const [id, apply] of waiting?.changes ?? []) this.#changeNow({ namespace, id, apply });
    }, waitMs);
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

/**
 * Counts, for each namespace, the objects that were translated again because another object changed. The counts decrease by
 * `dependentsPerSecond`.
 */
class DependentCounts {
  readonly #counts = new Map<string, { readonly count: number; readonly atMs: number }>();

  add(namespace: string, count: number): void {
    const sum = Math.min(this.#count(namespace) + count, LIMITS.dependentsCountedMax);
    this.#counts.set(namespace, { count: sum, atMs: performance.now() });
  }

  /** Returns for how long the changes of the namespace wait, in milliseconds. */
  waitMs(namespace: string): number {
    const excess = this.#count(namespace) - LIMITS.dependentsBurst;
    return excess <= 0 ? 0 : Math.ceil((excess * 1_000) / LIMITS.dependentsPerSecond);
  }

  #count(namespace: string): number {
    const last = this.#counts.get(namespace);
    if (last === undefined) return 0;
    const count = last.count - ((performance.now() - last.atMs) * LIMITS.dependentsPerSecond) / 1_000;
    if (count > 0) return count;
    this.#counts.delete(namespace);
    return 0;
  }
}

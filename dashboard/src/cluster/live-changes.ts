import { once } from 'node:events';
import { KINDS, RESOURCES, SharedPool, SourceError, type Kind, type ObjectRef } from '@standin/contract';
import { ApiError, collectionPath, nameOnly, Reflector, type KubeObject } from '@standin/kube';
import type { Logger } from 'pino';
import type { Pools } from '../pools.ts';
import type { AccessReviews } from './access-reviews.ts';
import type { ClusterUser } from './cluster-user.ts';
import { SMALL_PAGES } from './read-objects.ts';

/** `ref` is undefined if it is not known which object changed. */
type OnChange = (ref: ObjectRef | undefined) => void;

export interface WatchOptions {
  readonly namespace: string | undefined;
  readonly onChange: OnChange;
  readonly signal: AbortSignal;
}

/** The watch of one user in one namespace or in all namespaces. All of the user's pages share it. */
interface Topic {
  readonly listeners: Set<OnChange>;
  /** Aborts when the last listener leaves, or with an error if the watch cannot continue. */
  readonly ended: AbortController;
}

interface Opened {
  readonly key: string;
  readonly holder: string;
  readonly namespace: string | undefined;
  readonly watches: readonly { readonly kind: Kind; readonly path: string }[];
}

/** Maximum number of topics. Each topic has one connection to the API server per kind. One user can have half of the topics. */
const TOPICS_MAX = 200;
/** Pages reload at this interval if the user may not watch any kind, or has used up their share of the topics. */
const POLL_MS = 5_000;

/** Watches resources with users' tokens, within limits. */
export class LiveChanges {
  readonly #topics = new Map<string, Topic>();
  readonly #shares = new SharedPool(TOPICS_MAX);
  readonly #reviews: AccessReviews;
  readonly #logger: Logger;

  constructor(reviews: AccessReviews, logger: Logger, pools?: Pools) {
    this.#reviews = reviews;
    this.#logger = logger;
    pools?.set('watches', this.#shares);
  }

  /** Watches until `signal` aborts. Rejects with `SourceError`: `Unauthorized` if the token is no longer valid. */
  async watch(user: ClusterUser, { namespace, onChange, signal }: WatchOptions): Promise<void> {
    // Rejects a namespace that cannot be part of a path.
    const watches = (await this.#watchable(user, namespace)).map((kind) => ({
      kind,
      path: collectionPath(kind, namespace),
    }));
    const key = JSON.stringify([user.id, namespace]);
    const holder = await user.findHolder();
    const topic = this.#topics.get(key);
    if (topic === undefined && (watches.length === 0 || !this.#shares.take(holder))) {
      await poll(onChange, signal);
      return;
    }
    const joined = topic ?? this.#open(user, { key, holder, namespace, watches });
    const listener: OnChange = (ref) => onChange(ref);
    joined.listeners.add(listener);
    // Objects may have changed since the page was loaded. A new topic reports this after its first list.
    if (topic !== undefined) onChange(undefined);
    try {
      await untilAborted([signal, joined.ended.signal]);
    } finally {
      joined.listeners.delete(listener);
      if (joined.listeners.size === 0) this.#close(key, joined);
    }
    if (!signal.aborted) throw joined.ended.signal.reason;
  }

  /** Returns the kinds that the user may watch. A forbidden watch would be retried forever. */
  async #watchable(user: ClusterUser, namespace: string | undefined): Promise<readonly Kind[]> {
    const allowed = await Promise.all(
      KINDS.map((kind) => this.#reviews.may(user, { verb: 'watch', resource: RESOURCES[kind].plural, namespace })),
    );
    return KINDS.filter((_, index) => allowed[index]);
  }

  #open({ client }: ClusterUser, { key, holder, namespace, watches }: Opened): Topic {
    const topic: Topic = { listeners: new Set(), ended: new AbortController() };
    this.#topics.set(key, topic);
    topic.ended.signal.addEventListener('abort', () => this.#shares.free(holder), { once: true });
    const tell: OnChange = (ref) => {
      for (const listener of topic.listeners) listener(ref);
    };
    // The reflector itself would retry forever.
    const onRefused = (error: unknown): void => {
      if (error instanceof ApiError && error.status === 401)
        this.#close(key, topic, new SourceError('Unauthorized', error.message, { cause: error }));
    };
    for (const { kind, path } of watches) {
      let isSynced = false;
      const changed = ({ metadata: { name, namespace = '' } }: KubeObject): void => {
        if (isSynced) tell({ kind, namespace, name });
      };
      const handler = { put: changed, remove: changed };
      const reflector = new Reflector<KubeObject>({
        client,
        path,
        resource: kind,
        namespace,
        handler,
        // Names are sufficient, because pages read changed objects again.
        transform: nameOnly,
        ...SMALL_PAGES,
        onRefused,
        logger: this.#logger,
      });
      reflector.synced.then(
        () => {
          isSynced = true;
          // Objects may have changed between the loading of the page and the first list.
          tell(undefined);
        },
        () => undefined,
      );
      reflector.run(topic.ended.signal).catch((error: unknown) => this.#close(key, topic, error));
    }
    return topic;
  }

  #close(key: string, topic: Topic, reason?: unknown): void {
    if (this.#topics.get(key) === topic) this.#topics.delete(key);
    topic.ended.abort(reason);
  }
}

const untilAborted = async (signals: readonly AbortSignal[]): Promise<void> => {
  const signal = AbortSignal.any([...signals]);
  if (!signal.aborted) await once(signal, 'abort');
};

const poll = async (onChange: OnChange, signal: AbortSignal): Promise<void> => {
  const timer = setInterval(() => onChange(undefined), POLL_MS);
  await untilAborted([signal]);
  clearInterval(timer);
};

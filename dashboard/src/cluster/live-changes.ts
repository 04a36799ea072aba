import { once } from 'node:events';
import { KINDS, RESOURCES, SourceError, type Kind, type ObjectRef } from '@standin/contract';
import { ApiError, collectionPath, Reflector, type KubeLogger, type KubeObject } from '@standin/kube';
import type { Logger } from 'pino';
import type { AccessReviews } from './access-reviews.ts';
import type { ClusterUser } from './cluster-user.ts';

/** `undefined`: anything may have changed. */
type OnChange = (ref: ObjectRef | undefined) => void;

export interface WatchOptions {
  readonly namespace: string | undefined;
  readonly onChange: OnChange;
  readonly signal: AbortSignal;
}

/** What one person watches in one namespace, or in all: shared by all their pages. */
interface Topic {
  readonly listeners: Set<OnChange>;
  /** Aborts with the reason when it cannot go on, or when nobody listens any more. */
  readonly ended: AbortController;
}

/** Each has a connection to the API server per kind. */
const TOPICS_MAX = 200;
/** Where there is nothing to watch, or too much is watched, pages load again this often. */
const POLL_MS = 5_000;

/** All that is kept of an object: what changed is read again by whoever wants to show it. */
const nameOnly = ({ metadata: { name, namespace, uid, resourceVersion } }: KubeObject): KubeObject => ({
  metadata: {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  },
});

/** Watches resources with people's own tokens, bounded. */
export class LiveChanges {
  readonly #topics = new Map<string, Topic>();
  readonly #reviews: AccessReviews;
  readonly #logger: Logger;

  constructor(reviews: AccessReviews, logger: Logger) {
    this.#reviews = reviews;
    this.#logger = logger;
  }

  /** Until `signal` aborts. Rejects with `SourceError`, `Unauthorized` when the token is not valid any more. */
  async watch(user: ClusterUser, { namespace, onChange, signal }: WatchOptions): Promise<void> {
    const kinds = await this.#watchable(user, namespace);
    const key = `${user.id} ${namespace ?? ''}`;
    const topic = this.#topics.get(key);
    if (topic === undefined && (kinds.length === 0 || this.#topics.size >= TOPICS_MAX)) {
      await poll(onChange, signal);
      return;
    }
    const joined = topic ?? this.#open(user, { key, namespace, kinds });
    const listener: OnChange = (ref) => onChange(ref);
    joined.listeners.add(listener);
    try {
      await abortOf([signal, joined.ended.signal]);
    } finally {
      joined.listeners.delete(listener);
      if (joined.listeners.size === 0) this.#close(key, joined);
    }
    if (!signal.aborted) throw joined.ended.signal.reason;
  }

  /** Of what may not be watched nothing is told, without asking for it time and again. */
  async #watchable(user: ClusterUser, namespace: string | undefined): Promise<readonly Kind[]> {
    const allowed = await Promise.all(
      KINDS.map((kind) => this.#reviews.may(user, { verb: 'watch', resource: RESOURCES[kind].plural, namespace })),
    );
    return KINDS.filter((_, index) => allowed[index]);
  }

  #open(
    { client }: ClusterUser,
    { key, namespace, kinds }: { key: string; namespace: string | undefined; kinds: readonly Kind[] },
  ): Topic {
    const topic: Topic = { listeners: new Set(), ended: new AbortController() };
    this.#topics.set(key, topic);
    const tell: OnChange = (ref) => {
      for (const listener of topic.listeners) listener(ref);
    };
    const logger = endOnUnauthorized(this.#logger, (error) => this.#close(key, topic, error));
    for (const kind of kinds) {
      let isSynced = false;
      const changed = ({ metadata: { name, namespace = '' } }: KubeObject): void => {
        if (isSynced) tell({ kind, namespace, name });
      };
      const path = collectionPath(kind, namespace);
      const handler = { put: changed, remove: changed };
      const reflector = new Reflector<KubeObject>({
        ...{ client, path, resource: kind, namespace, handler, logger },
        transform: nameOnly,
      });
      reflector.synced.then(
        () => {
          isSynced = true;
          // What changed since the page was loaded is part of this first list.
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

/** A reflector asks on through every refusal; this one lasts. */
const endOnUnauthorized = (logger: Logger, end: (error: SourceError) => void): KubeLogger => {
  const look = (fields: object): void => {
    const { err } = fields as { err?: unknown };
    if (err instanceof ApiError && err.status === 401)
      end(new SourceError('Unauthorized', err.message, { cause: err }));
  };
  return {
    debug: (fields, message) => {
      look(fields);
      logger.debug(fields, message);
    },
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => {
      look(fields);
      logger.debug(fields, message);
    },
    error: (fields, message) => logger.error(fields, message),
  };
};

const abortOf = async (signals: readonly AbortSignal[]): Promise<void> => {
  const signal = AbortSignal.any([...signals]);
  if (!signal.aborted) await once(signal, 'abort');
};

const poll = async (onChange: OnChange, signal: AbortSignal): Promise<void> => {
  const timer = setInterval(() => onChange(undefined), POLL_MS);
  await abortOf([signal]);
  clearInterval(timer);
};

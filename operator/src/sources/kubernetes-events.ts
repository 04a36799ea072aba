import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { FairMap, printable, type Events, type SourceEvent } from '@standin/contract';
import { isConflict, isNotFound, microTime, resourcePath, type KubeClient } from '@standin/kube';
import type { Logger } from 'pino';

/** Maximum number of different Events that are remembered to aggregate repeats. */
const REMEMBERED_MAX = 2_000;
/**
 * A repeat within this time belongs to the same series. The time is shorter than an hour, after which the API server drops an
 * Event.
 */
const SERIES_MS_MAX = 30 * 60_000;
/** Minimum interval between writes of a repeat, except the first one. Repeats in between are still counted. */
const REPEAT_WRITE_MS = 10_000;
/** These three maximums keep an Event within the limits of events.k8s.io/v1. */
const NOTE_LENGTH_MAX = 1_024;
const INSTANCE_LENGTH_MAX = 128;
const NAME_PREFIX_LENGTH_MAX = 200;
/** The length of a series' key in hexadecimal digits, for 128 bits. */
const KEY_LENGTH = 32;

const REPORTING_CONTROLLER = 'standin.dev/operator';

/** The subject of an Event: a Standin object, or a Kubernetes object. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion?: string | undefined;
  };
}

interface Series {
  readonly namespace: string;
  readonly name: string;
  readonly startedAt: number;
  count: number;
  writtenAt: number;
}

const seriesKey = (object: EventSubject, event: SourceEvent): string =>
  createHash('sha256')
    .update(JSON.stringify([object.metadata.uid, event.type, event.reason, event.message]))
    .digest('hex')
    .slice(0, KEY_LENGTH);

/** Returns the message as an Event's note: within the length limit, and safe to print on a terminal, where kubectl shows it. */
const eventNote = (message: string): string => {
  const note = printable(message);
  return note.length <= NOTE_LENGTH_MAX ? note : `${note.slice(0, NOTE_LENGTH_MAX - 1)}…`;
};

/**
 * Writes Events (events.k8s.io/v1). Repeats increase the count of the first Event, so that a loop cannot flood the cluster. The
 * name of an Event is derived from its content, so that repeats from another operator are also counted.
 */
export class KubernetesEvents implements Events {
  readonly #client: KubeClient;
  readonly #logger: Logger;
  /** The remembered Events. Their holders are the namespaces. */
  readonly #series = new FairMap<Series>(REMEMBERED_MAX);
  /** When old Events were last forgotten, as `Date.now()`. */
  #sweptAt = Date.now();

  constructor(client: KubeClient, logger: Logger) {
    this.#client = client;
    this.#logger = logger;
  }

  /** Records an Event. A failure is only logged. */
  async record(object: EventSubject, event: SourceEvent): Promise<void> {
    try {
      await this.#record(object, event);
    } catch (error) {
      this.#logger.debug({ err: error, reason: event.reason }, 'cannot write Event');
    }
  }

  async #record(object: EventSubject, event: SourceEvent): Promise<void> {
    const key = seriesKey(object, event);
    const known = this.#series.get(key);
    const now = Date.now();
    if (known === undefined || now - known.startedAt > SERIES_MS_MAX) {
      await this.#create(key, object, event);
      return;
    }
    const isFirstRepeat = known.count === 1;
    if (!isFirstRepeat && now - known.writtenAt < REPEAT_WRITE_MS) {
      known.count += 1;
      return;
    }
    try {
      await this.#repeat(known, now);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#create(key, object, event);
    }
  }

  async #repeat(series: Series, now: number): Promise<void> {
    series.count += 1;
    series.writtenAt = now;
    await this.#client.mergePatch(this.#path(series.namespace, series.name), {
      series: { count: series.count, lastObservedTime: microTime(new Date(now)) },
    });
  }

  async #create(key: string, object: EventSubject, event: SourceEvent): Promise<void> {
    const { namespace, name, uid, resourceVersion } = object.metadata;
    const now = new Date();
    const eventName = `${name.slice(0, NAME_PREFIX_LENGTH_MAX)}.${key}`;
    // The series is stored before the call, because a repeat during the call must not create a second Event.
    const series = { namespace, name: eventName, startedAt: now.getTime(), count: 1, writtenAt: now.getTime() };
    this.#sweep(series.startedAt);
    this.#series.set(key, series, namespace);
    const created = this.#client.create(this.#path(namespace), {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: eventName, namespace },
      eventTime: microTime(now),
      reportingController: REPORTING_CONTROLLER,
      reportingInstance: hostname().slice(0, INSTANCE_LENGTH_MAX) || 'operator',
      action: 'Reconcile',
      type: event.type,
      reason: event.reason,
      note: eventNote(event.message),
      regarding: { apiVersion: object.apiVersion, kind: object.kind, namespace, name, uid, resourceVersion },
    });
    await created.catch((error: unknown) => {
      if (!isConflict(error)) throw error;
      return this.#repeat(series, now.getTime());
    });
  }

  /** Forgets the series that have ended, so that the namespaces with recent ones have more of the places. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < SERIES_MS_MAX) return;
    this.#sweptAt = now;
    for (const [key, { startedAt }] of this.#series) if (now - startedAt > SERIES_MS_MAX) this.#series.delete(key);
  }

  #path(namespace: string, name?: string): string {
    const collection = { group: 'events.k8s.io', version: 'v1', plural: 'events', namespace };
    return resourcePath(name === undefined ? collection : { ...collection, name });
  }
}

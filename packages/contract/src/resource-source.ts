import type { Kind } from './api-group.ts';

/**
 * Where desired state comes from and status goes to: the Kubernetes API, or a directory of manifests. Both implementations pass
 * `test/integration/source-conformance.test.ts`.
 */

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** Grows with every change of `spec`. */
  readonly generation: number;
  /** Opaque; changes with every write. */
  readonly resourceVersion: string;
  /** RFC 3339. Directory: when the object was first seen. Decides who is oldest, with `uid` for ties. */
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An object as it came: `spec` and `status` are unchecked until `crds` parses them. */
export interface ResourceObject {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
  readonly spec: unknown;
  readonly status?: unknown;
}

export interface ObjectRef {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

/** Something that is wrong with a source's input before it is an object: a file that is not YAML, a kind that is not ours. */
export interface SourceProblem {
  /** `orders.yaml:12` */
  readonly where: string;
  /** What to change. */
  readonly message: string;
}

export interface SourceListener {
  /** Called for each object of the first list, and after every change; never throws. Same object twice is legal. */
  put(object: ResourceObject): void;
  remove(object: ResourceObject): void;
  /** All problems of the input as a whole, each time they change. The Kubernetes source has none. */
  problems(problems: readonly SourceProblem[]): void;
}

/** What to write: metadata that the source itself owns (uid, generation, …) is left out. */
export interface DesiredObject {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: unknown;
}

export interface SourceEvent {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, from `CONDITION_REASONS` where one fits. */
  readonly reason: string;
  readonly message: string;
}

/** Thrown by reads and writes: what the caller can do about it is in `kind`. `Unauthorized`: the credential is not valid (any more). */
export type SourceErrorKind = 'NotFound' | 'Conflict' | 'Invalid' | 'Unauthorized' | 'Forbidden' | 'Unavailable';

/** What of a Service decides whether `serviceRef` may name it. */
export interface ServiceObject {
  readonly namespace: string;
  readonly name: string;
  /** `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`. */
  readonly type: string;
  /** Kubernetes fills in its addresses, with those of pods in its namespace. Without a selector people do. */
  readonly hasSelector: boolean;
  /** Its name resolves to the addresses of its pods, and every port of theirs is reached. */
  readonly isHeadless: boolean;
  /** TCP. */
  readonly ports: readonly number[];
}

export interface ServiceListener {
  putService(service: ServiceObject): void;
  removeService(service: ServiceObject): void;
  /**
   * Services of a namespace cannot be read; undefined: of any. `problem` is what is missing, in a sentence with a full stop, or undefined:
   * they can be read by now, and the listener has all of them.
   */
  servicesIn(namespace: string | undefined, problem: string | undefined): void;
}

/** Where Services are, as people and Kubernetes keep them. A directory of manifests has none. */
export interface ServiceSource {
  /**
   * Lists and watches until `signal` aborts. Resolves when the listener has every Service, or knows why not; rejects only when `signal`
   * aborts.
   */
  start(listener: ServiceListener, signal: AbortSignal): Promise<void>;
}

export interface ResourceSource {
  /**
   * Lists and watches all kinds until `signal` aborts, and survives every failure in between. Resolves when the first full list
   * of each kind was handed to `listener`; rejects only when that can never succeed (unreadable directory, forbidden).
   */
  start(listener: SourceListener, signal: AbortSignal): Promise<void>;

  /** Reads past any cache. `undefined` if it does not exist. */
  get(ref: ObjectRef): Promise<ResourceObject | undefined>;

  /** Creates the object, or replaces its spec, labels and annotations. Never called by the operator on people's objects. */
  apply(object: DesiredObject): Promise<ResourceObject>;

  /** Rejects with `NotFound` if there is nothing to delete. */
  delete(ref: ObjectRef): Promise<void>;

  /**
   * Merge patch of `status` with the operator's field manager; `null` removes a field. With `resourceVersion`: `Conflict` if the
   * object changed since.
   */
  writeStatus(
    ref: ObjectRef,
    status: Readonly<Record<string, unknown>>,
    resourceVersion?: string,
  ): Promise<ResourceObject>;

  /** The value of one data key, or `undefined` when the Secret or the key is not there. */
  readSecret(namespace: string, name: string, dataKey: string): Promise<Uint8Array | undefined>;

  /** Creates a Secret that dies with `owner`. Rejects with `Conflict` if one of that name exists. */
  createSecret(owner: ResourceObject, name: string, data: Readonly<Record<string, string>>): Promise<void>;

  /**
   * Replaces the data of a Secret that `createSecret` made, or makes it anew, and marks it in the same write. One that bears this mark
   * already is left as it is: so the same call, repeated after a crash, writes once. Rejects with `Conflict` if somebody else wrote it
   * meanwhile.
   */
  replaceSecret(
    owner: ResourceObject,
    name: string,
    data: Readonly<Record<string, string>>,
    mark: string,
  ): Promise<void>;

  /** Best effort: never rejects. Kubernetes: an Event (repeats are aggregated). Directory: a log line. */
  recordEvent(object: ResourceObject, event: SourceEvent): Promise<void>;
}

import type { Kind, SecretUse } from './api-group.ts';
import type { ConditionReason } from './conditions.ts';

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  /**
   * The object's identity. An Account or a Project that is deleted and created again keeps its uid (ADR 024). Any other object gets
   * a new uid.
   */
  readonly uid: string;
  /** Increases with every change to `spec`. */
  readonly generation: number;
  /** Opaque. Changes with every write. */
  readonly resourceVersion: string;
  /**
   * RFC 3339. For a directory, the time at which the object was first seen. Determines which object is oldest; `uid` breaks ties.
   */
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An object as received. `spec` and `status` are unchecked until `crds` parses them. */
export interface ResourceObject {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
  readonly spec: unknown;
  readonly status?: unknown;
  /** Set if the object cannot be used under its identity. The uid of such an object differs from that of every other object. */
  readonly identityFault?: IdentityFault;
  /** Set if the objects of the namespace are too large. Such an object has no spec. See `LIMITS.namespaceBytesMax`. */
  readonly isBeyondLimit?: true;
}

export interface IdentityFault {
  readonly reason: ConditionReason & `Identity${string}`;
  /** What to change, as a sentence. */
  readonly message: string;
}

export interface ObjectRef {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

/** A problem with a source's input that is not tied to an object, for example a file that is not YAML, or an unknown kind. */
export interface SourceProblem {
  /** For example `orders.yaml:12`. */
  readonly where: string;
  /** What to change. */
  readonly message: string;
}

/** The certificates in a value of a ConfigMap, in PEM, or why the value cannot be used, as the rest of a sentence about it. */
export type CertificatesValue = { readonly certificates: string } | { readonly problem: string };

/** A ConfigMap with the label `UPSTREAM_CA_LABEL`. */
export interface ConfigMapObject {
  readonly namespace: string;
  readonly name: string;
  /** By data key. Undefined if the objects of the namespace are too large. See `LIMITS.namespaceBytesMax`. */
  readonly data: Readonly<Record<string, CertificatesValue>> | undefined;
}

/** Receives ConfigMaps with the label `UPSTREAM_CA_LABEL`. */
export interface ConfigMapListener {
  put(configMap: ConfigMapObject): void;
  remove(configMap: Pick<ConfigMapObject, 'namespace' | 'name'>): void;
  /** Like `ServiceListener.servicesIn`. A directory of manifests can always be read. */
  readable(namespace: string | undefined, problem: string | undefined): void;
}

export interface SourceListener {
  /** Called for each object of the first list and after every change. Must not throw. The same object may be passed twice. */
  put(object: ResourceObject): void;
  remove(object: ResourceObject): void;
  /** Receives all problems with the input each time any of them changes. The Kubernetes source has none. */
  problems(problems: readonly SourceProblem[]): void;
  readonly configMaps: ConfigMapListener;
}

/** One version of one object. A write with it affects neither a later version nor another object with the same name. */
export type ObjectVersion = Pick<ObjectMeta, 'uid' | 'resourceVersion'>;

/** The object to write, without the metadata that the source owns (uid, generation, …). */
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
  /** A reason in CamelCase, from `CONDITION_REASONS` if one applies. */
  readonly reason: string;
  readonly message: string;
}

/**
 * The reasons why a read or write failed, grouped by what the caller can do. `Unauthorized` means that the credential is not valid,
 * or is no longer valid.
 */
export type SourceErrorKind = 'NotFound' | 'Conflict' | 'Invalid' | 'Unauthorized' | 'Forbidden' | 'Unavailable';

/** The properties of a Service that determine whether `serviceRef` may name it. */
export interface ServiceObject {
  readonly namespace: string;
  readonly name: string;
  /** `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`. */
  readonly type: string;
  /**
   * Whether Kubernetes fills in the addresses of pods in the Service's namespace. Without a selector, users set the addresses.
   */
  readonly hasSelector: boolean;
  /** Whether the name resolves to the pod addresses, so that every port of the pods is reachable. */
  readonly isHeadless: boolean;
  /** TCP ports. */
  readonly ports: readonly number[];
}

export interface ServiceListener {
  putService(service: ServiceObject): void;
  removeService(service: ServiceObject): void;
  /**
   * Reports whether the Services in a namespace can be read (`namespace` is undefined for all namespaces). `problem` is a sentence,
   * with a full stop, about what is missing. `problem` is undefined if the Services can be read again and the listener has all of
   * them.
   */
  servicesIn(namespace: string | undefined, problem: string | undefined): void;
}

/** A Secret whose data Endpoints may use. */
export interface LabelledSecret {
  /** What its labels allow (`SECRET_LABELS`). */
  readonly uses: readonly SecretUse[];
  /** The annotation `UPSTREAM_ORIGINS_ANNOTATION`. Empty if there is none. */
  readonly upstreamOrigins: string;
  /** Changes with every write of the Secret. Does not reveal the data. */
  readonly version: string;
  /** The values by data key. Empty without a label. */
  readonly data: ReadonlyMap<string, Uint8Array>;
}

/** Reads Services. A directory of manifests has none. */
export interface ServiceSource {
  /**
   * Lists and watches until `signal` aborts. Resolves when the listener has received every Service, or the reason why it has not.
   * Rejects only when `signal` aborts.
   */
  start(listener: ServiceListener, signal: AbortSignal): Promise<void>;
}

/** The objects in the Kubernetes API, or in a directory of manifests. */
export interface Objects {
  /**
   * Lists and watches all kinds until `signal` aborts, and recovers from every failure in between. Resolves when `listener` has
   * received the first full list of each kind. Rejects if `signal` aborts before that, or if the directory cannot be read at the
   * start. In a cluster, a missing permission is retried, because it may be granted later.
   */
  start(listener: SourceListener, signal: AbortSignal): Promise<void>;

  /** Reads an object, bypassing all caches. Resolves with `undefined` if the object does not exist. */
  get(ref: ObjectRef): Promise<ResourceObject | undefined>;

  /**
   * Creates the object, or replaces its spec, labels and annotations. The operator never calls this method for objects that users
   * own.
   */
  apply(object: DesiredObject): Promise<ResourceObject>;

  /**
   * Rejects with `NotFound` if there is nothing to delete. With `version`, rejects with `Conflict` if the object has changed since
   * that version. Without `version`, deletes the object that now has the name.
   */
  delete(ref: ObjectRef, version?: ObjectVersion): Promise<void>;

  /**
   * Sends a merge patch of `status` with the operator's field manager; `null` removes a field. With `resourceVersion`, rejects with
   * `Conflict` if the object has changed since that version.
   */
  writeStatus(
    ref: ObjectRef,
    status: Readonly<Record<string, unknown>>,
    resourceVersion?: string,
  ): Promise<ResourceObject>;
}

/** The Secrets that objects refer to. They are read by name, and never listed or watched. */
export interface Secrets {
  /** Resolves with the value of one data key, or with `undefined` if the Secret or the key does not exist. */
  read(namespace: string, name: string, dataKey: string): Promise<Uint8Array | undefined>;

  /** Resolves with a Secret that an Endpoint refers to, or with `undefined` if the Secret does not exist. */
  readLabelled(namespace: string, name: string): Promise<LabelledSecret | undefined>;

  /** Creates a Secret for `owner`. The Secret outlives its owner. Rejects with `Conflict` if a Secret with that name exists. */
  create(owner: ResourceObject, name: string, data: Readonly<Record<string, string>>): Promise<void>;

  /**
   * Replaces the data of a Secret that `create` created, or creates the Secret again, and marks the Secret in the same write. Does
   * not change a Secret that already has this mark, so a call that is repeated after a crash writes only once. Rejects with
   * `Invalid` for a Secret that `create` did not create, and with `Conflict` if another client wrote the Secret in the meantime.
   */
  replace(owner: ResourceObject, name: string, data: Readonly<Record<string, string>>, mark: string): Promise<void>;
}

export interface Events {
  /**
   * Records an event on a best-effort basis. Never rejects. In Kubernetes, the record is an Event, and repeats are aggregated. For
   * a directory, it is a log line.
   */
  record(object: ResourceObject, event: SourceEvent): Promise<void>;
}

/**
 * The source of desired state and the destination of status: the Kubernetes API, or a directory of manifests. Both pass
 * `test/integration/source-conformance.test.ts`.
 */
export interface ResourceSource {
  readonly objects: Objects;
  readonly secrets: Secrets;
  readonly events: Events;
}

import { isConfigKind, type Kind, type ResourceObject } from '@standin/contract';
import type { KubeObject, ReflectorHandler } from '@standin/kube';
import type { Logger } from 'pino';

export type KubeResource = KubeObject & ResourceObject;

/** An object that counts towards the limit. The `spec` of a ConfigMap is what is kept of its data. */
export type LimitedObject = KubeObject & Omit<ResourceObject, 'kind'> & { readonly kind: Kind | 'ConfigMap' };

export interface NamespaceLimitOptions {
  /** See `LIMITS.namespaceBytesMax`. */
  readonly bytesMax: number;
  /** Reads an object again. Resolves with undefined if it does not exist. */
  readonly read: (object: LimitedObject) => Promise<LimitedObject | undefined>;
  readonly logger: Logger;
  /** Ends all reads when it aborts. */
  readonly signal: AbortSignal;
  /** Default: `ROOM_MS`. */
  readonly roomMs?: number;
}

/**
 * Objects are read again when a namespace has had room for this long, so that an object that grows and shrinks repeatedly does not
 * cause reads each time.
 */
const ROOM_MS = 5_000;
/** What the smallest object costs: its metadata, its verdict, and its place in tables. */
const OBJECT_BYTES = 8 * 1024;
/** Of a status, only what is beyond this size counts. Otherwise, the operator's own writes could exceed the limit. */
const STATUS_BYTES = 16 * 1024;

/** What a gateway needs for each byte of certificates that it connects with: up to 9 in TLS, as measured, and the certificates. */
const BYTES_PER_CERTIFICATE_BYTE = 10;

const jsonBytes = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

const sizeIn = ({ kind, metadata, spec, status }: LimitedObject): number =>
  OBJECT_BYTES +
  jsonBytes([metadata, spec]) * (kind === 'ConfigMap' ? BYTES_PER_CERTIFICATE_BYTE : 1) +
  Math.max(0, jsonBytes(status) - STATUS_BYTES);

/** Returns whether an object beyond the limit is passed on, without its content, so that the reason can be shown. */
const isShown = (kind: LimitedObject['kind']): boolean => kind === 'ConfigMap' || isConfigKind(kind);

/**
 * Returns an object without its spec, labels and annotations, and without a large status, which only someone else can have written. The
 * operator writes the status of Accounts, Projects and Endpoints again.
 */
export const withoutContent = <T extends LimitedObject>({ apiVersion, kind, metadata, status }: T): T => {
  const isKept = isShown(kind) && jsonBytes(status) <= STATUS_BYTES;
  return {
    apiVersion,
    kind,
    metadata: { ...metadata, labels: {}, annotations: {} },
    spec: undefined,
    ...(isKept && { status }),
    isBeyondLimit: true,
  } as LimitedObject as T;
};

interface Member {
  readonly handler: ReflectorHandler<LimitedObject>;
  readonly createdAt: string;
  readonly uid: string;
  /** Without its content if the object is beyond the limit. */
  object: LimitedObject;
  bytes: number;
}

type Age = Pick<Member, 'createdAt' | 'uid'>;

interface Namespace {
  /** All objects, the oldest first. The first `within` of them are within the limit, and have `bytes` in total. */
  readonly members: Member[];
  within: number;
  bytes: number;
  /** Runs while there is room for an object that is beyond the limit. */
  timer: NodeJS.Timeout | undefined;
}

/** The index of a member with this age, or the index at which to insert it. Times of the API server sort like text. */
const indexIn = (members: readonly Member[], { createdAt, uid }: Age): number => {
  let [low, high] = [0, members.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { createdAt: other, uid: otherUid } = members[middle] as Member;
    if (other < createdAt || (other === createdAt && otherUid < uid)) low = middle + 1;
    else high = middle;
  }
  return low;
};

/**
 * Passes on the objects of a namespace, the oldest first, up to a limit, because the operator and all gateways keep them in memory.
 * Of an Account, a Project, an Endpoint or a ConfigMap beyond the limit, only what statuses need is passed on. Other kinds, which are
 * one-time operations, wait until there is room.
 */
export class NamespaceLimit {
  readonly #options: NamespaceLimitOptions;
  readonly #namespaces = new Map<string, Namespace>();

  constructor(options: NamespaceLimitOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => {
      for (const { timer } of this.#namespaces.values()) clearTimeout(timer);
    });
  }

  /** Returns a handler that passes on the objects of one kind. */
  limit<T extends LimitedObject>(handler: ReflectorHandler<T>): ReflectorHandler<T> {
    const own = handler as ReflectorHandler<KubeObject> as ReflectorHandler<LimitedObject>;
    return { put: (object) => this.#put(object, own), remove: (object) => this.#remove(object) };
  }

  #put(object: LimitedObject, handler: ReflectorHandler<LimitedObject>): void {
    const { namespace: name, uid, creationTimestamp: createdAt } = object.metadata;
    const namespace = this.#namespaces.get(name) ?? { members: [], within: 0, bytes: 0, timer: undefined };
    this.#namespaces.set(name, namespace);
    const { members } = namespace;
    const at = indexIn(members, { createdAt, uid });
    const known = members[at]?.uid === uid ? members[at] : undefined;
    const wasWithin = at < namespace.within;
    const wasOver = namespace.within < members.length;
    const member = known ?? { handler, createdAt, uid, object, bytes: 0 };
    if (known === undefined) members.splice(at, 0, member);
    const before = member.bytes;
    member.object = object;
    member.bytes = sizeIn(object);
    if (wasWithin) {
      namespace.bytes += member.bytes - before;
      if (known === undefined) namespace.within += 1;
    } else if (at === namespace.within && namespace.bytes + member.bytes <= this.#options.bytesMax) {
      namespace.bytes += member.bytes;
      namespace.within += 1;
    }
    this.#evict(namespace, member);
    if (at < namespace.within) handler.put(object);
    else this.#withhold(member, wasWithin && known !== undefined);
    if (!wasOver && namespace.within < members.length)
      this.#options.logger.warn(
        { namespace: name },
        'the objects of a namespace are too large: the newest are not used',
      );
    this.#awaitRoom(name, namespace);
  }

  #remove({ metadata }: LimitedObject): void {
    const { namespace: name, uid, creationTimestamp: createdAt } = metadata;
    const namespace = this.#namespaces.get(name);
    const at = namespace === undefined ? 0 : indexIn(namespace.members, { createdAt, uid });
    const member = namespace?.members[at];
    if (namespace === undefined || member?.uid !== uid) return;
    const isWithin = at < namespace.within;
    namespace.members.splice(at, 1);
    if (isWithin) {
      namespace.within -= 1;
      namespace.bytes -= member.bytes;
    }
    if (isWithin || isShown(member.object.kind)) member.handler.remove(member.object);
    if (namespace.members.length === 0) this.#namespaces.delete(name);
    this.#awaitRoom(name, namespace);
  }

  /** Withholds the newest objects until the others are within the limit. The caller reports `changed`. */
  #evict(namespace: Namespace, changed: Member): void {
    const before = namespace.within;
    while (namespace.bytes > this.#options.bytesMax) {
      namespace.within -= 1;
      const member = namespace.members[namespace.within] as Member;
      namespace.bytes -= member.bytes;
      if (member !== changed) this.#withhold(member, true);
    }
    if (namespace.within === before) return;
    clearTimeout(namespace.timer);
    namespace.timer = undefined;
  }

  #withhold(member: Member, wasPassed: boolean): void {
    const { object, handler } = member;
    member.object = withoutContent(object);
    if (isShown(object.kind)) handler.put(member.object);
    else if (wasPassed) handler.remove(object);
  }

  /** The oldest object beyond the limit, if there is room for it. */
  #next({ members, within, bytes }: Namespace): Member | undefined {
    const member = members[within];
    return member !== undefined && bytes + member.bytes <= this.#options.bytesMax ? member : undefined;
  }

  #awaitRoom(name: string, namespace: Namespace): void {
    if (this.#next(namespace) === undefined || this.#options.signal.aborted) return;
    namespace.timer ??= setTimeout(() => {
      this.#fill(namespace)
        .catch((error: unknown) =>
          this.#options.logger.warn({ namespace: name, err: error }, 'cannot read objects again'),
        )
        .finally(() => {
          namespace.timer = undefined;
          this.#awaitRoom(name, namespace);
        });
    }, this.#options.roomMs ?? ROOM_MS).unref();
  }

  /** Reads the objects for which there is room now. */
  async #fill(namespace: Namespace): Promise<void> {
    for (;;) {
      const next = this.#next(namespace);
      if (next === undefined || this.#options.signal.aborted) return;
      const object = await this.#options.read(next.object);
      // While it was read, the object may have been deleted, which the watch reports, or the room may be gone.
      if (this.#next(namespace) !== next) continue;
      if (object?.metadata.uid !== next.uid) return;
      this.#put(object, next.handler);
    }
  }
}

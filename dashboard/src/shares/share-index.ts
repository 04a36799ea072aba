import { FairMap, objectKey, objectRef, type ObjectRef, type ResourceObject } from '@standin/contract';
import { parseObject, type ShareSpec, type ShareSurroundings } from '@standin/crds';

const shareSpec = (share: ResourceObject): ShareSpec | undefined => {
  const parsed = parseObject(share);
  return parsed.ok && parsed.value.kind === 'Share' ? parsed.value.spec : undefined;
};

const isOlder = ({ metadata: a }: ResourceObject, { metadata: b }: ResourceObject): boolean =>
  a.creationTimestamp === b.creationTimestamp ? a.uid < b.uid : a.creationTimestamp < b.creationTimestamp;

/** Each takes up to 1.7 kB of memory. */
const OBJECTS_MAX = 50_000;

/**
 * Shares by token hash, and Projects and Accounts by name. If there are too many, the namespace with the most loses the one that was used least
 * recently, so that the links of other namespaces still open.
 */
export class ShareIndex implements ShareSurroundings {
  readonly #shares: FairMap<ResourceObject>;
  readonly #byToken = new Map<string, Set<string>>();
  /** By kind, namespace and name. */
  readonly #surroundings: FairMap<ResourceObject>;

  constructor(objectsMax = OBJECTS_MAX) {
    this.#shares = new FairMap(objectsMax);
    this.#surroundings = new FairMap(objectsMax);
  }

  /** Adds or replaces a Share, a Project or an Account. Ignores objects of other kinds. */
  put(object: ResourceObject): void {
    const { kind } = object;
    const ref = objectRef(object);
    const key = objectKey(ref);
    if (kind === 'Project' || kind === 'Account') this.#surroundings.set(key, object, ref.namespace);
    if (kind !== 'Share') return;
    this.remove(ref);
    const forgotten = this.#shares.set(key, object, ref.namespace);
    const token = shareSpec(object)?.tokenSha256;
    if (token !== undefined) this.#byToken.set(token, (this.#byToken.get(token) ?? new Set<string>()).add(key));
    if (forgotten !== undefined) this.#forgetToken(forgotten);
  }

  remove(ref: ObjectRef): void {
    const key = objectKey(ref);
    this.#surroundings.delete(key);
    const share = this.#shares.get(key);
    this.#shares.delete(key);
    if (share !== undefined) this.#forgetToken(share);
  }

  #forgetToken(share: ResourceObject): void {
    const token = shareSpec(share)?.tokenSha256;
    const known = token === undefined ? undefined : this.#byToken.get(token);
    if (token === undefined || known === undefined) return;
    known.delete(objectKey(objectRef(share)));
    if (known.size === 0) this.#byToken.delete(token);
  }

  /**
   * Returns the Share with this hash. If there are several, returns the oldest one, so that copying a Share cannot take over its
   * link.
   */
  find(tokenSha256: string): ResourceObject | undefined {
    const shares = [...(this.#byToken.get(tokenSha256) ?? [])].flatMap((key) => this.#shares.get(key) ?? []);
    return shares.reduce<ResourceObject | undefined>(
      (oldest, share) => (oldest === undefined || isOlder(share, oldest) ? share : oldest),
      undefined,
    );
  }

  findProject(share: ResourceObject): ResourceObject | undefined {
    const name = shareSpec(share)?.projectRef.name;
    return name === undefined ? undefined : this.object('Project', share.metadata.namespace, name);
  }

  object(kind: 'Project' | 'Account', namespace: string, name: string): ResourceObject | undefined {
    return this.#surroundings.get(objectKey({ kind, namespace, name }));
  }
}

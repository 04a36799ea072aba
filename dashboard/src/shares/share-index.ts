import { objectKey, objectRef, type ObjectRef, type ResourceObject } from '@standin/contract';
import { parseObject, type ShareSpec, type ShareSurroundings } from '@standin/crds';

const shareSpec = (share: ResourceObject): ShareSpec | undefined => {
  const parsed = parseObject(share);
  return parsed.ok && parsed.value.kind === 'Share' ? parsed.value.spec : undefined;
};

const isOlder = ({ metadata: a }: ResourceObject, { metadata: b }: ResourceObject): boolean =>
  a.creationTimestamp === b.creationTimestamp ? a.uid < b.uid : a.creationTimestamp < b.creationTimestamp;

/** Shares by token hash, and Projects and Accounts by name. */
export class ShareIndex implements ShareSurroundings {
  readonly #shares = new Map<string, ResourceObject>();
  readonly #byToken = new Map<string, Set<string>>();
  /** By kind, namespace and name. */
  readonly #surroundings = new Map<string, ResourceObject>();

  /** Adds or replaces a Share, a Project or an Account. Ignores objects of other kinds. */
  put(object: ResourceObject): void {
    const { kind } = object;
    const ref = objectRef(object);
    const key = objectKey(ref);
    if (kind === 'Project' || kind === 'Account') this.#surroundings.set(key, object);
    if (kind !== 'Share') return;
    this.remove(ref);
    this.#shares.set(key, object);
    const token = shareSpec(object)?.tokenSha256;
    if (token === undefined) return;
    const known = this.#byToken.get(token) ?? new Set();
    this.#byToken.set(token, known.add(key));
  }

  remove(ref: ObjectRef): void {
    const key = objectKey(ref);
    this.#surroundings.delete(key);
    if (ref.kind !== 'Share') return;
    const share = this.#shares.get(key);
    this.#shares.delete(key);
    const token = share === undefined ? undefined : shareSpec(share)?.tokenSha256;
    if (token === undefined) return;
    const known = this.#byToken.get(token);
    known?.delete(key);
    if (known?.size === 0) this.#byToken.delete(token);
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

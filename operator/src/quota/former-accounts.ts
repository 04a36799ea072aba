/** Maximum number of deleted accounts that are remembered for each namespace. The oldest ones are forgotten first. */
const IN_NAMESPACE_MAX = 1_000;

/** The namespaces of deleted accounts, so that the permits that they give back are recorded in the turns of their namespaces. */
export class FormerAccounts {
  readonly #namespaces = new Map<string, string>();
  /** The uids by namespace, in order of deletion. */
  readonly #uids = new Map<string, Set<string>>();

  add(uid: string, namespace: string): void {
    this.#forget(uid);
    const uids = this.#uids.get(namespace) ?? new Set();
    this.#uids.set(namespace, uids.add(uid));
    this.#namespaces.set(uid, namespace);
    const [oldest] = uids;
    if (oldest !== undefined && uids.size > IN_NAMESPACE_MAX) this.#forget(oldest);
  }

  /** Returns undefined if the account is not known. */
  namespace(uid: string): string | undefined {
    return this.#namespaces.get(uid);
  }

  #forget(uid: string): void {
    const namespace = this.#namespaces.get(uid);
    if (namespace === undefined) return;
    this.#namespaces.delete(uid);
    const uids = this.#uids.get(namespace);
    uids?.delete(uid);
    if (uids?.size === 0) this.#uids.delete(namespace);
  }
}

/** Requests whose project is not known yet count for every project. */
const ANY_PROJECT = '';

/** The oldest request of a project, and the namespace of the project. */
interface OldestRequest {
  readonly receivedMs: number;
  readonly namespace: string;
}

/** When the oldest request of each project was received, among some requests. Times are those of `performance.now()`. */
export class OldestRequests {
  readonly #oldest = new Map<string, OldestRequest>();

  /** Without a project, the request may belong to any project. */
  add(receivedMs: number, projectUid = ANY_PROJECT, namespace = ''): void {
    const known = this.#oldest.get(projectUid);
    if (known === undefined || receivedMs < known.receivedMs) this.#oldest.set(projectUid, { receivedMs, namespace });
  }

  addAll(others: OldestRequests): void {
    for (const [projectUid, { receivedMs, namespace }] of others.#oldest) this.add(receivedMs, projectUid, namespace);
  }

  /** Returns only the requests of these projects. */
  of(projectUids: Iterable<string>): OldestRequests {
    const some = new OldestRequests();
    for (const projectUid of projectUids) {
      const oldest = this.#oldest.get(projectUid);
      if (oldest !== undefined) some.#oldest.set(projectUid, oldest);
    }
    return some;
  }

  /** The oldest request that may belong to any project. Infinity if there is none. */
  get ofAnyProject(): number {
    return this.#oldest.get(ANY_PROJECT)?.receivedMs ?? Infinity;
  }

  /** The oldest request of each known project that has one, by its uid. */
  get byProject(): ReadonlyMap<string, OldestRequest> {
    return new Map([...this.#oldest].filter(([projectUid]) => projectUid !== ANY_PROJECT));
  }
}

/** Requests whose project is not known yet count for every project. */
const ANY_PROJECT = '';

/** When the oldest request of each project was received, among some requests. Times are those of `performance.now()`. */
export class OldestRequests {
  readonly #receivedMs = new Map<string, number>();

  /** Without a project, the request may belong to any project. */
  add(receivedMs: number, projectUid = ANY_PROJECT): void {
    const known = this.#receivedMs.get(projectUid);
    if (known === undefined || receivedMs < known) this.#receivedMs.set(projectUid, receivedMs);
  }

  addAll(others: OldestRequests): void {
    for (const [projectUid, receivedMs] of others.#receivedMs) this.add(receivedMs, projectUid);
  }

  /** Returns only the requests of these projects. */
  of(projectUids: Iterable<string>): OldestRequests {
    const some = new OldestRequests();
    for (const projectUid of projectUids) {
      const receivedMs = this.#receivedMs.get(projectUid);
      if (receivedMs !== undefined) some.add(receivedMs, projectUid);
    }
    return some;
  }

  /** The oldest request that may belong to any project. Infinity if there is none. */
  get ofAnyProject(): number {
    return this.#receivedMs.get(ANY_PROJECT) ?? Infinity;
  }

  /** The oldest request of each known project that has one, by its uid. */
  get byProject(): ReadonlyMap<string, number> {
    return new Map([...this.#receivedMs].filter(([projectUid]) => projectUid !== ANY_PROJECT));
  }
}

interface Counted {
  readonly project: string | undefined;
  readonly ready: boolean;
}

/** Which endpoints are Ready, and the project of each. The counts in a Project's status derive from it. */
export class EndpointCounts {
  readonly #endpoints = new Map<string, Counted>();

  isReady(endpoint: string): boolean {
    return this.#endpoints.get(endpoint)?.ready ?? false;
  }

  /** Records an endpoint. Returns the projects whose counts change. All arguments are uids. */
  set(endpoint: string, now: Counted): readonly string[] {
    const before = this.#endpoints.get(endpoint);
    if (before?.project === now.project && before?.ready === now.ready) return [];
    this.#endpoints.set(endpoint, now);
    return projectsOf(before, now);
  }

  delete(endpoint: string): readonly string[] {
    const before = this.#endpoints.get(endpoint);
    this.#endpoints.delete(endpoint);
    return projectsOf(before);
  }
}

const projectsOf = (...counted: readonly (Counted | undefined)[]): readonly string[] => [
  ...new Set(counted.flatMap((one) => one?.project ?? [])),
];

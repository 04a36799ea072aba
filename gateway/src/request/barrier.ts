/** The requests that have entered between two calls of `passed`. */
interface Group {
  running: number;
  onEmpty: (() => void) | undefined;
}

const newGroup = (): Group => ({ running: 0, onEmpty: undefined });

/** A set of requests that enter and leave. Callers can wait for the current members without waiting for later ones. */
export class Barrier {
  #group = newGroup();
  #earlier: Promise<unknown> = Promise.resolve();

  /** Returns a function that must be called exactly once, when the request leaves. */
  enter(): () => void {
    const group = this.#group;
    group.running++;
    return () => {
      group.running--;
      if (group.running === 0) group.onEmpty?.();
    };
  }

  /** Resolves when every request that has entered so far has left. */
  async passed(): Promise<void> {
    const group = this.#group;
    if (group.running > 0) {
      this.#group = newGroup();
      const empty = new Promise<void>((resolve) => (group.onEmpty = resolve));
      this.#earlier = Promise.all([this.#earlier, empty]);
    }
    await this.#earlier;
  }
}

/** Gives one turn of the event loop to each waiting task, to those of one namespace after those of another. */
export class Turns {
  /** The tasks of each namespace, that of the next turn first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves in a turn of its own. */
  next(namespace: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.size === 0) setImmediate(() => this.#take());
      const own = this.#waiting.get(namespace);
      if (own === undefined) this.#waiting.set(namespace, [resolve]);
      else own.push(resolve);
    });
  }

  #take(): void {
    for (const [namespace, own] of this.#waiting) {
      const resolve = own.shift();
      this.#waiting.delete(namespace);
      if (own.length > 0) this.#waiting.set(namespace, own);
      if (this.#waiting.size > 0) setImmediate(() => this.#take());
      resolve?.();
      return;
    }
  }
}

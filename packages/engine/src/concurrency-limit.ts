/** Runs up to `runningMax` tasks at once and lets up to `waitingMax` others wait, in order of arrival. */
export interface Gate {
  /** Runs the task when a slot is free, or rejects with a `GateFullError`. */
  run<T>(task: () => Promise<T>): Promise<T>;
}

export class GateFullError extends Error {
  override readonly name = 'GateFullError';
}

export const createGate = (runningMax: number, waitingMax: number): Gate => {
  const waiting: (() => void)[] = [];
  let running = 0;

  const enter = (): Promise<void> | undefined => {
    if (running < runningMax) {
      running++;
      return undefined;
    }
    if (waiting.length >= waitingMax)
      throw new GateFullError(`${running} are running and ${waiting.length} are waiting, which is the limit`);
    return new Promise((resolve) => waiting.push(resolve));
  };

  const leave = (): void => {
    const next = waiting.shift();
    // The next task takes over the slot.
    if (next) next();
    else running--;
  };

  return {
    async run(task) {
      await enter();
      try {
        return await task();
      } finally {
        leave();
      }
    },
  };
};

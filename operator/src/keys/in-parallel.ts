/** Maximum number of concurrent reads of Accounts and Secrets. */
export const READERS = 16;

/** Does `work` for all items, for at most `READERS` of them at a time. Starts no further items after `signal` aborts. */
export const inParallel = async <T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T) => Promise<unknown>,
): Promise<void> => {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: READERS }, async () => {
      for (const item of queue) {
        if (signal.aborted) return;
        await work(item);
      }
    }),
  );
};

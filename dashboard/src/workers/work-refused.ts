/**
 * `Busy` means that too much work is waiting and a retry may succeed. After `TooSlow` or `TooLarge`, the same work would fail
 * again.
 */
export type WorkRefusal = 'Busy' | 'TooSlow' | 'TooLarge';

const MESSAGES: Readonly<Record<WorkRefusal, string>> = {
  Busy: 'Too many large requests are being processed. Try again shortly.',
  TooSlow: 'This request takes too long to process. Download its bodies instead.',
  TooLarge: 'This request needs too much memory to process. Download its bodies instead.',
};

/** Thrown if work is rejected, or fails because it needs too much time or memory. `message` is shown to users. */
export class WorkRefused extends Error {
  override readonly name = 'WorkRefused';
  readonly reason: WorkRefusal;

  constructor(reason: WorkRefusal, options?: ErrorOptions) {
    super(MESSAGES[reason], options);
    this.reason = reason;
  }
}

/** Compares the name, because the bundled pages have their own copy of the class. */
export const isWorkRefused = (error: unknown): error is WorkRefused =>
  error instanceof Error && error.name === 'WorkRefused';

/** `Busy`: too much work is waiting; try again. `TooSlow` and `TooLarge`: the same work fails again. */
export type WorkRefusal = 'Busy' | 'TooSlow' | 'TooLarge';

const MESSAGES: Readonly<Record<WorkRefusal, string>> = {
  Busy: 'Too many large requests are being processed. Try again shortly.',
  TooSlow: 'This request takes too long to process. Download its bodies instead.',
  TooLarge: 'This request needs too much memory to process. Download its bodies instead.',
};

/** A worker refuses the work. `message` is for users. */
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

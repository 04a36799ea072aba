/** Something that the person at the terminal can mend: shown as one line, without a stack. */
export class PlainError extends Error {
  override readonly name = 'PlainError';
  readonly exitCode: number;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? 1;
  }
}

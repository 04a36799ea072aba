/** A problem in a search. The text to underline is `text.slice(from, to)`. The message explains what to write instead. */
export interface FilterProblem {
  readonly message: string;
  readonly from: number;
  readonly to: number;
}

/** Carries a problem out of the lexer and the parser. `parseFilter` returns the problem. */
export class FilterSyntaxError extends Error {
  override readonly name = 'FilterSyntaxError';
  readonly problem: FilterProblem;

  constructor(message: string, { from, to }: { readonly from: number; readonly to: number }) {
    super(message);
    this.problem = { message, from, to };
  }
}

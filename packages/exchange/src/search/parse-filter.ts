import { FILTER_LIMITS } from './filter.ts';
import type { Condition, Conditions, Filter } from './filter.ts';
import { tokenize } from './lexer.ts';
import type { Token } from './lexer.ts';
import { parseTerm } from './parse-term.ts';
import { FilterSyntaxError } from './problem.ts';
import type { FilterProblem } from './problem.ts';

export type ParseResult =
  | {
      readonly kind: 'parsed';
      readonly filter: Filter;
      /** The ranges of the terms in the text, in the order in which they occur in the tree. Includes a minus directly before a term. */
      readonly terms: readonly TextRange[];
    }
  | { readonly kind: 'invalid'; readonly problem: FilterProblem };

interface TextRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Parses a search (docs/reference/search.md describes the grammar). Never throws. An empty search matches everything. Groups of one, and
 * groups inside groups of the same kind, are flattened, so that equal searches result in equal trees.
 */
export const parseFilter = (text: string): ParseResult => {
  try {
    return { kind: 'parsed', ...parse(text) };
  } catch (error) {
    if (error instanceof FilterSyntaxError) return { kind: 'invalid', problem: error.problem };
    throw error;
  }
};

const parse = (text: string): { readonly filter: Filter; readonly terms: readonly TextRange[] } => {
  if (text.length > FILTER_LIMITS.textLengthMax) {
    const from = FILTER_LIMITS.textLengthMax;
    throw new FilterSyntaxError(`A search can have at most ${from} characters.`, { from, to: text.length });
  }
  const parser = new Parser(text, tokenize(text));
  return { filter: parser.parse(), terms: parser.terms };
};

/**
 * Parses by recursive descent: alternatives (OR) of conjunctions (AND, or nothing in between) of terms and groups, which may be
 * negated.
 */
class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  readonly terms: TextRange[] = [];

  constructor(text: string, tokens: readonly Token[]) {
    this.#text = text;
    this.#tokens = tokens;
  }

  parse(): Filter {
    if (this.#tokens.length === 0) return { kind: 'everything' };
    const condition = this.#any();
    const rest = this.#tokens[this.#at];
    // Only a closing parenthesis can end the search before the end of the text.
    if (rest !== undefined) {
      throw new FilterSyntaxError('This parenthesis has no opening parenthesis. To search for it, write ")".', rest);
    }
    return condition;
  }

  #any(): Condition {
    const found = [this.#all()] as [Condition, ...Condition[]];
    while (this.#takes('or')) found.push(this.#all());
    return join('or', found);
  }

  #all(): Condition {
    const found = [this.#one()] as [Condition, ...Condition[]];
    for (;;) {
      const next = this.#tokens[this.#at]?.kind;
      if (next === undefined || next === 'close' || next === 'or') return join('and', found);
      if (next === 'and') this.#at++;
      found.push(this.#one());
    }
  }

  #one(): Condition {
    const token = this.#tokens[this.#at];
    if (token === undefined || token.kind === 'and' || token.kind === 'or' || token.kind === 'close') {
      throw this.#missing(token);
    }
    this.#at++;
    if (token.kind === 'term') return this.#term(token);
    if (++this.#depth > FILTER_LIMITS.depthMax) {
      throw new FilterSyntaxError(`A search can be nested at most ${FILTER_LIMITS.depthMax} levels deep.`, token);
    }
    const condition: Condition = token.kind === 'not' ? { kind: 'not', condition: this.#one() } : this.#group(token);
    this.#depth--;
    return condition;
  }

  #term(token: Extract<Token, { kind: 'term' }>): Condition {
    const before = this.#tokens[this.#at - 2];
    const isNegated = before?.kind === 'not' && before.to === token.from;
    this.terms.push({ from: isNegated ? before.from : token.from, to: token.to });
    if (this.terms.length > FILTER_LIMITS.termsMax) {
      throw new FilterSyntaxError(`A search can have at most ${FILTER_LIMITS.termsMax} conditions.`, token);
    }
    return parseTerm(token, this.#text);
  }

  #group(open: Token): Condition {
    const condition = this.#any();
    if (!this.#takes('close')) {
      throw new FilterSyntaxError('This parenthesis is not closed. To search for it, write "(".', open);
    }
    return condition;
  }

  #takes(kind: Token['kind']): boolean {
    if (this.#tokens[this.#at]?.kind !== kind) return false;
    this.#at++;
    return true;
  }

  #missing(token: Token | undefined): FilterSyntaxError {
    const before = this.#tokens[this.#at - 1];
    if (before === undefined || (token !== undefined && token.kind !== 'close')) {
      const shown = token === undefined ? '' : this.#text.slice(token.from, token.to);
      const message =
        token?.kind === 'close'
          ? 'This parenthesis has no opening parenthesis. To search for it, write ")".'
          : `${shown} needs a condition on both sides. To search for the word, write "${shown}".`;
      return new FilterSyntaxError(message, token ?? { from: 0, to: this.#text.length });
    }
    const shown = this.#text.slice(before.from, before.to);
    if (before.kind === 'open') {
      const to = token?.to ?? before.to;
      return new FilterSyntaxError('There is nothing between the parentheses.', { from: before.from, to });
    }
    return new FilterSyntaxError(`A condition is missing after ${shown}.`, before);
  }
}

/** Joins conditions. Returns a single condition unchanged, and merges groups of the same kind into this one. */
const join = (kind: 'and' | 'or', conditions: Conditions): Condition => {
  if (conditions.length === 1) return conditions[0];
  const flat = conditions.flatMap((condition) => (condition.kind === kind ? condition.conditions : [condition]));
  return { kind, conditions: flat as [Condition, ...Condition[]] };
};

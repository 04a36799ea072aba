import { celMap, CelScalar, listType, mapType, objectType, type CelType, type CelValue } from '@bufbuild/cel';
import { Budget } from './budget.ts';
import { compileExpression, evaluate, type Expression, type SyntaxTree } from './cel/compile-expression.ts';
import { AbsentError, ExpressionError, ExpressionProblem } from './cel/expression-error.ts';
import { convertValue } from './cel/functions.ts';
import { RandomSequence } from './cel/random-sequence.ts';
import { readJson } from './cel/read-json.ts';
import { isNumber } from './cel/program.ts';
import { withRun, type Run } from './cel/run.ts';
import { RequestBody } from './request-body.ts';
import { valuesByName, type RequestFacts, type ValuesByName } from './request-facts.ts';

const { DYN, STRING } = CelScalar;
const TEXTS = mapType(STRING, STRING);
const TEXT_LISTS = mapType(STRING, listType(STRING));

const VARIABLES: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ['request.method', STRING],
  ['request.path', STRING],
  ['request.headers', TEXTS],
  ['request.headersAll', TEXT_LISTS],
  ['request.query', TEXTS],
  ['request.queryAll', TEXT_LISTS],
  ['request.body', STRING],
  ['request.json', DYN],
  ['request.form', TEXTS],
  ['request.formAll', TEXT_LISTS],
  ['request.cookies', TEXTS],
  ['project', STRING],
  ['endpoint', STRING],
  ['now', objectType('google.protobuf.Timestamp')],
  ['requestId', STRING],
  ['url.project', STRING],
]);

/** The parts of a request that only expressions can depend on. */
export interface ExpressionInput {
  readonly id: string;
  /** The time of acceptance, in microseconds since 1970. */
  readonly receivedAtUs: number;
  readonly method: string;
  /** The path after the project URI, without the query (latin1, as received). */
  readonly path: string;
  readonly body: Uint8Array;
  /** The names of the Project and of the Endpoint. */
  readonly project: string;
  readonly endpoint: string;
  /** The public URL of the Project: scheme, host and project URI. */
  readonly projectUrl: string;
}

/** An error in an expression. */
export interface Mistake {
  /** The index of a character. */
  readonly offset: number;
  /** What is wrong and what to change, as a phrase without a full stop. */
  readonly message: string;
}

export type ParsedExpression =
  { readonly ok: true; readonly expression: Expression } | ({ readonly ok: false } & Mistake);

/** Checks a CEL expression for requests to an endpoint whose slug has these parameters, and prepares it. */
export const parseExpression = (source: string, parameters: readonly string[], tree?: SyntaxTree): ParsedExpression => {
  const variables = new Map([...VARIABLES, ...parameters.map((name) => [`path.${name}`, STRING] as const)]);
  try {
    return { ok: true, expression: compileExpression(source, { variables, tree }) };
  } catch (error) {
    if (!(error instanceof ExpressionProblem)) throw error;
    return { ok: false, offset: error.offset, message: error.message };
  }
};

/** Returns what is wrong with an expression, where, and what to change, as a phrase without a full stop. */
export const describeMistake = (source: string, { offset, message }: Mistake): string => {
  const before = source.slice(0, offset).split(/\r\n|\r|\n/);
  const line = before.length;
  const column = (before.at(-1)?.length ?? 0) + 1;
  const start = Math.max(0, offset - EXCERPT_LENGTH / 2);
  const excerpt = source.slice(start, start + EXCERPT_LENGTH).toWellFormed();
  const shown = `${start > 0 ? '…' : ''}${excerpt}${start + EXCERPT_LENGTH < source.length ? '…' : ''}`;
  return `is not valid at line ${line}, column ${column} of ${JSON.stringify(shown)}: ${message}`;
};
const EXCERPT_LENGTH = 120;

/** Evaluates the expressions of a response for one request. All of them share one budget and one sequence of random values. */
export class RequestExpressions implements Run {
  readonly budget = new Budget();
  written: string | undefined;
  #random: RandomSequence | undefined;
  readonly facts: RequestFacts;
  readonly #input: ExpressionInput;
  readonly #body: RequestBody;
  readonly #values = new Map<string, CelValue | AbsentError>();

  constructor(facts: RequestFacts, input: ExpressionInput) {
    this.facts = facts;
    this.#input = input;
    this.#body = new RequestBody(input.body, facts, this.budget);
  }

  get id(): string {
    return this.#input.id;
  }

  get random(): RandomSequence {
    this.#random ??= new RandomSequence(this.#input.id);
    return this.#random;
  }

  /** Calls an action that evaluates several expressions, which is faster than evaluating them separately. */
  together<T>(action: () => T): T {
    return withRun(this, action);
  }

  evaluate(expression: Expression): CelValue | ExpressionError {
    return evaluate(expression, this);
  }

  /** Returns the value of a variable, or why it is absent. Each variable is computed when an expression needs it. */
  variable(name: string): CelValue | AbsentError {
    let value = this.#values.get(name);
    if (value === undefined) {
      const made = this.#make(name);
      value = made instanceof ExpressionError ? new AbsentError(made.message) : made;
      this.#values.set(name, value);
    }
    // Only a body that is nothing but a number.
    const body = name === 'request.json' && isNumber(value) ? this.variable('request.body') : undefined;
    this.written = typeof body === 'string' ? body.trim() : undefined;
    return value;
  }

  #make(name: string): CelValue | ExpressionError {
    const input = this.#input;
    switch (name) {
      case 'request.method':
        return input.method;
      case 'request.path':
        return input.path;
      case 'request.headers':
        return firstValues(this.facts.headers());
      case 'request.headersAll':
        return celMap(this.facts.headers());
      case 'request.query':
        return firstValues(this.facts.queries());
      case 'request.queryAll':
        return celMap(this.facts.queries());
      case 'request.body':
        return this.#body.text();
      case 'request.json': {
        const text = this.variable('request.body');
        return typeof text === 'string' ? readJson(text, this.budget) : text;
      }
      case 'request.form':
        return asMap(this.#body.form(), firstValues);
      case 'request.formAll':
        return asMap(this.#body.form(), celMap);
      case 'request.cookies':
        return firstValues(cookieValues(this.facts.header('cookie'), this.budget));
      case 'project':
        return input.project;
      case 'endpoint':
        return input.endpoint;
      case 'now':
        return celTimestamp(input.receivedAtUs);
      case 'requestId':
        return input.id;
      case 'url.project':
        return input.projectUrl;
      default:
        return this.facts.parameter(name.replace(/^path\./, ''))[0] ?? new ExpressionError(`${name} is absent`);
    }
  }
}

const asMap = (
  values: ValuesByName | ExpressionError,
  toMap: (values: ValuesByName) => CelValue,
): CelValue | ExpressionError => (values instanceof ExpressionError ? values : toMap(values));

const [COOKIE_UNITS, COOKIE_CHARACTER_UNITS] = [50, 1];

/** As Go does, removes quotes and decodes nothing. */
const cookieValues = (headers: readonly string[], budget: Budget): ValuesByName => {
  const pairs: [name: string, value: string][] = [];
  for (const pair of headers.flatMap((header) => header.split(';'))) {
    budget.charge(COOKIE_UNITS + pair.length * COOKIE_CHARACTER_UNITS);
    const at = pair.indexOf('=');
    const name = pair.slice(0, Math.max(0, at)).trim();
    const value = pair.slice(at + 1).trim();
    if (name !== '') pairs.push([name, /^".*"$/.test(value) ? value.slice(1, -1) : value]);
  }
  return valuesByName(pairs);
};

const firstValues = (values: ValuesByName): CelValue =>
  celMap(new Map([...values].map(([name, [first = '']]) => [name, first])));

const celTimestamp = (us: number): CelValue | ExpressionError => {
  const seconds = new Date(Math.floor(us / 1_000_000) * 1_000).toISOString().slice(0, 19);
  const text = `${seconds}.${String(us % 1_000_000).padStart(6, '0')}Z`;
  return convertValue('timestamp', text) ?? new ExpressionError('now is out of range');
};

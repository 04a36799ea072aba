import { ACTIONS, CREDENTIALS, REQUEST_METHODS, OUTCOMES } from '@standin/contract';
import fc from 'fast-check';
import { FIELDS } from './fields.ts';
import type { Comparison, Condition, ContainsField, Filter, Pattern, PatternField, Term } from './filter.ts';

/** Generates any character that text can contain, with a high share of special characters and of bytes that are not UTF-8. */
const character = fc.oneof(
  fc.constantFrom(...Array.from('ab*\\"()-: \t\n.%_Aé\0')),
  fc.constantFrom('\udc80', '\udcff'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
);
export const anyText = fc.array(character, { minLength: 1, maxLength: 8 }).map((characters) => characters.join(''));
const word = fc.constantFrom('AND', 'OR', 'NOT', '-', '-a', 'status:200', 'a:b', 'x-y', '*', 'order', '12:30');
const text = fc.oneof(anyText, word);

const inner = fc.array(text, { maxLength: 2 });
/** Generates patterns as the parser produces them, without an empty piece between two wildcards. */
const pattern: fc.Arbitrary<Pattern> = fc.oneof(
  fc.tuple(fc.oneof(text, fc.constant(''))),
  fc
    .tuple(fc.oneof(text, fc.constant('')), inner, fc.oneof(text, fc.constant('')))
    .map(([first, middle, last]): Pattern => [first, ...middle, last]),
);

/** An id has a pattern of its own. */
const patternFields = Object.entries(FIELDS)
  .filter(([name, { kind }]) => kind === 'pattern' && name !== 'id')
  .map(([name]) => name as PatternField);
const comparisons = ['=', '>', '>=', '<', '<='] as const satisfies readonly Comparison[];
const status = fc.integer({ min: 100, max: 999 });
const count = fc.oneof(
  fc.nat(),
  fc.nat().map((many) => many * 1_000),
  fc.constant(Number.MAX_SAFE_INTEGER),
);
const ends = <T>(value: fc.Arbitrary<number>, make: (from: number, to: number) => T): fc.Arbitrary<T> =>
  fc.tuple(value, value).map(([a, b]) => make(Math.min(a, b), Math.max(a, b)));

const term: fc.Arbitrary<Term> = fc.oneof(
  text.map((value): Term => ({ kind: 'text', text: value })),
  fc
    .tuple(fc.constantFrom<ContainsField>('query', 'body', 'resp.body'), text)
    .map(([field, value]): Term => ({ kind: 'contains', field, text: value })),
  fc
    .tuple(fc.constantFrom(...patternFields), pattern)
    .map(([field, value]): Term => ({ kind: 'matches', field, pattern: value })),
  fc.uuid().map((id): Term => ({ kind: 'matches', field: 'id', pattern: [id] })),
  fc
    .tuple(fc.constantFrom('request' as const, 'response' as const), fc.constantFrom('x-a', "!#$%&'*+.^_`|~0"), pattern)
    .map(([side, name, value]): Term => ({ kind: 'header', side, name, pattern: value })),
  fc.constantFrom(...REQUEST_METHODS).map((method): Term => ({ kind: 'method', method })),
  fc.constantFrom(...OUTCOMES).map((outcome): Term => ({ kind: 'outcome', outcome })),
  fc.constantFrom(...ACTIONS).map((action): Term => ({ kind: 'action', action })),
  fc.constantFrom(...CREDENTIALS).map((credential): Term => ({ kind: 'credential', credential })),
  fc
    .tuple(fc.constantFrom(...comparisons), status)
    .map(([comparison, value]): Term => ({ kind: 'compare', field: 'status', comparison, value })),
  fc.constant<Term>({ kind: 'compare', field: 'status', comparison: '=', value: 0 }),
  ends(status, (from, to): Term => ({ kind: 'range', field: 'status', from, to })),
  fc
    .tuple(fc.constantFrom(...comparisons.slice(1)), count)
    .map(([comparison, value]): Term => ({ kind: 'compare', field: 'dur', comparison, value })),
  ends(count, (from, to): Term => ({ kind: 'range', field: 'dur', from, to })),
  fc
    .tuple(
      fc.constantFrom('size' as const, 'req.size' as const, 'resp.size' as const),
      fc.constantFrom(...comparisons),
      count,
    )
    .map(([field, comparison, value]): Term => ({ kind: 'compare', field, comparison, value })),
  ends(count, (from, to): Term => ({ kind: 'range', field: 'size', from, to })),
);

const { condition } = fc.letrec<{ condition: Condition; term: Condition }>((tie) => ({
  term,
  condition: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('term'),
    tie('condition').map((inside): Condition => ({ kind: 'not', condition: inside })),
    ...(['and', 'or'] as const).map((kind) =>
      fc.array(tie('condition'), { minLength: 2, maxLength: 3 }).map((parts): Condition => {
        // Flattens a group in a group of the same kind, like the parser does.
        const flat = parts.flatMap((part) => (part.kind === kind ? part.conditions : [part]));
        return { kind, conditions: flat as [Condition, ...Condition[]] };
      }),
    ),
  ),
}));

/** Generates any search that the parser could produce. */
export const anyFilter: fc.Arbitrary<Filter> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Filter>({ kind: 'everything' }) },
  { weight: 20, arbitrary: condition },
);

import { hasParameters, parsePathPattern, PatternTable } from '@standin/responses';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildGoProgram } from '../cluster/go-program.ts';
import { runCommand } from '../cluster/run-command.ts';

interface PatternSet {
  readonly patterns: readonly string[];
  readonly paths: readonly string[];
}

const SETS = 10_000;
const SEED = 20_261_123;

const word = fc.constantFrom('a', 'b', 'c~', '-d');
const slug = fc
  .tuple(
    fc.array(fc.oneof(word, fc.constant('{}')), { minLength: 1, maxLength: 4 }),
    fc.constantFrom([], ['{...}'], ['']),
  )
  .map(([segments, end]) =>
    [...segments, ...end].map((segment, index) => `/${segment.replace('{', `{p${index}`)}`).join(''),
  );
const path = fc
  .tuple(fc.array(word, { minLength: 1, maxLength: 5 }), fc.constantFrom('', '/'))
  .map(([segments, end]) => `/${segments.join('/')}${end}`);
const patternSet: fc.Arbitrary<PatternSet> = fc.record({
  patterns: fc.uniqueArray(slug, { minLength: 1, maxLength: 5 }),
  paths: fc.array(path, { minLength: 3, maxLength: 6 }),
});

/** Returns the set in the syntax of ServeMux, for which a slash at the end matches all paths below it. */
const forServeMux = ({ patterns, paths }: PatternSet): PatternSet => ({
  patterns: patterns.map((pattern) => pattern.replace(/\/$/, '/{$}')),
  paths,
});

/**
 * The result of test/cluster/servemux for a path that ServeMux redirects: `/a` to `/a/`, if it has the pattern `/a/` or `/a/{rest...}`.
 * Standin never redirects, so the test does not compare these paths.
 */
const REDIRECT = -2;

/** Returns, for each path, the index of the pattern that Standin chooses, or -1 if no pattern matches. */
const chosenPatterns = ({ patterns, paths }: PatternSet): number[] => {
  const table = new PatternTable<number>();
  for (const [index, text] of patterns.entries()) {
    const parsed = parsePathPattern(text);
    if (!parsed.ok) throw new Error(`${text} ${parsed.message}`);
    table.set(parsed.pattern, index);
  }
  return paths.map((one) => table.matches(one)[0] ?? -1);
};

test(`${SETS} sets of patterns choose as Go's net/http.ServeMux, which accepts the patterns`, async () => {
  const sets = fc.sample(patternSet, { numRuns: SETS, seed: SEED });
  const program = await buildGoProgram('servemux', console.log);
  const { code, stdout, stderr } = await runCommand(program, [], { input: JSON.stringify(sets.map(forServeMux)) });
  expect([code, stderr]).toEqual([0, '']);
  const choices = JSON.parse(stdout) as (readonly number[] | null)[];
  const compared = sets.flatMap((set, index) => {
    const expected = choices[index] ?? undefined;
    return expected === undefined ? [] : [{ set, expected }];
  });
  for (const { set, expected } of compared) {
    const found = chosenPatterns(set).map((choice, index) => (expected[index] === REDIRECT ? REDIRECT : choice));
    expect(found, JSON.stringify(set)).toEqual(expected);
  }

  // Checks that enough sets are compared, because ServeMux rejects a set in which two patterns conflict and neither is more
  // specific.
  const decided = compared.flatMap(({ set, expected }) => expected.map((choice) => set.patterns[choice] ?? 'none'));
  expect(compared.length).toBeGreaterThan(SETS / 4);
  expect(decided.filter((text) => text === 'none').length).toBeGreaterThan(SETS / 4);
  expect(decided.filter((text) => hasParameters(text)).length).toBeGreaterThan(SETS / 4);
});

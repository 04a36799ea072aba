import { LIMITS } from '@standin/contract';
import { LazyExpression } from '@standin/responses';
import { expect, test, vi } from 'vitest';
import { Preparation, type Prepared } from './preparation.ts';

/** An expression that counts how often it is compiled. */
class CountedExpression extends LazyExpression {
  compiled = 0;

  override compile(parameters: readonly string[]) {
    this.compiled += 1;
    return super.compile(parameters);
  }
}

/** What is prepared for an endpoint whose responses take `responseBytes`. */
const prepared =
  (expressions: readonly LazyExpression[], responseBytes = 0) =>
  (): Prepared<never> => ({ responses: [], expressions, responseBytes });

const expressions = (count: number, source: string): CountedExpression[] =>
  Array.from({ length: count }, () => new CountedExpression(source));

/** Returns how many expressions were compiled at the end of each turn of the event loop until all are. */
const countsByTurn = async (all: readonly CountedExpression[]): Promise<number[]> => {
  const counts: number[] = [];
  let isDone = false;
  const watch = () => {
    counts.push(all.reduce((sum, { compiled }) => sum + compiled, 0));
    if (!isDone) setImmediate(watch);
  };
  const preparation = new Preparation(prepared(all), ['id']);
  const finishing = [preparation.finish() ?? Promise.resolve(), preparation.finish() ?? Promise.resolve()];
  watch();
  await Promise.all(finishing);
  isDone = true;
  expect(preparation.finish()).toBeUndefined();
  return counts;
};

test('compiles each long expression in a turn of its own, once for all requests', async () => {
  const counts = await countsByTurn(expressions(5, `path.id == "${'a'.repeat(1_000)}"`));
  expect([...new Set(counts)]).toEqual([0, 1, 2, 3, 4, 5]);
});

test('compiles short expressions in one turn', async () => {
  const counts = await countsByTurn(expressions(100, '1'));
  expect([...new Set(counts)]).toEqual([0, 100]);
});

test('has nothing to do without responses and expressions', () => {
  const preparation = new Preparation(undefined, []);
  expect([preparation.finish(), preparation.responses]).toEqual([undefined, []]);
});

test('keeps a limited number of responses compiled, and compiles the others again', async () => {
  vi.resetModules();
  const fresh = await import('./preparation.ts');
  let compiled = 0;
  const all = Array.from({ length: 4 }, () => {
    const prepare = () => {
      compiled += 1;
      return prepared([], LIMITS.compiledBytesMax / 2)();
    };
    return new fresh.Preparation(prepare, []);
  });
  for (const preparation of all) await preparation.finish();
  expect(all[3]?.finish()).toBeUndefined();
  expect(all[3]?.responses).toEqual([]);
  expect(compiled).toBe(4);
  // A request for which the responses were compiled may still be running.
  expect(all[0]?.responses).toEqual([]);
  await all[0]?.finish();
  expect(compiled).toBe(6);
});

/** Compiling so many expressions would take a long time. */
class InstantExpression extends LazyExpression {
  compiled = 0;

  override compile() {
    this.compiled += 1;
    return { ok: false, offset: 0, message: 'not compiled' } as const;
  }
}

test('keeps a limited number of expressions compiled, those that are used', async () => {
  const source = 'a'.repeat(LIMITS.compiledBytesMax / 100 / 50);
  const all = Array.from({ length: 110 }, () => {
    const expression = new InstantExpression(source);
    return { expression, preparation: new Preparation(prepared([expression]), []) };
  });
  const [used, unused] = all;
  for (const { preparation } of all) {
    await preparation.finish();
    await used?.preparation.finish();
  }
  await unused?.preparation.finish();
  expect([used?.expression.compiled, unused?.expression.compiled]).toEqual([1, 2]);
  expect(all.filter(({ expression }) => expression.compiled > 1)).toHaveLength(1);
});

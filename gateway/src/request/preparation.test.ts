import { LIMITS } from '@standin/contract';
import { LazyExpression } from '@standin/responses';
import { expect, test } from 'vitest';
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

/** Preparations of which each takes a tenth of the memory, and how often each was compiled. */
const tenths = (count: number, namespace: string) =>
  Array.from({ length: count }, () => {
    const counted = { compiled: 0 };
    const prepare = () => {
      counted.compiled += 1;
      return prepared([], LIMITS.compiledBytesMax / 10)();
    };
    return Object.assign(counted, { preparation: new Preparation(prepare, [], namespace) });
  });

const useInTurn = async (all: ReturnType<typeof tenths>, rounds: number): Promise<number> => {
  const before = all.reduce((sum, { compiled }) => sum + compiled, 0);
  for (let round = 0; round < rounds; round += 1) for (const { preparation } of all) await preparation.finish();
  return all.reduce((sum, { compiled }) => sum + compiled, 0) - before;
};

test('a namespace keeps what its share has room for, however many endpoints are used in turn', async () => {
  const theirs = tenths(2, 'theirs');
  const many = tenths(40, 'many');
  expect(await useInTurn(theirs, 1)).toBe(2);
  expect(await useInTurn(many, 1)).toBe(40);
  // Of ten places, two belong to the other namespace, and half of the others to this one.
  expect([Preparation.pool.heldBy('theirs'), Preparation.pool.heldBy('many')]).toEqual(
    [2, 4].map((count) => (count * LIMITS.compiledBytesMax) / 10),
  );
  expect(await useInTurn(many, 5)).toBe(5 * 36);
  expect(await useInTurn(theirs, 1)).toBe(0);
  // An endpoint that is used more than others takes the place of one.
  const last = many.slice(-1);
  expect(await useInTurn(last, 20)).toBe(0);
  expect(await useInTurn(many.slice(0, 20), 1)).toBe(16);
  expect(await useInTurn(last, 1)).toBe(1);
  expect(await useInTurn(many.slice(4, 20), 1)).toBe(16);
  expect(await useInTurn(last, 1)).toBe(0);
});

test('what is not kept stays compiled for the requests that wait for it', async () => {
  const [kept, ...others] = tenths(3, 'waiting');
  await kept?.preparation.finish();
  const use = async ({ preparation }: (typeof others)[number]) => {
    await preparation.finish();
    return preparation.responses;
  };
  await Promise.all(others.map(use));
  expect(others.map(({ compiled }) => compiled)).toEqual([1, 1]);
});

test('the endpoints of one namespace do not keep those of another from being compiled', async () => {
  const long = `path.id == "${'a'.repeat(1_000)}"`;
  const order: string[] = [];
  const finish = async (namespace: string): Promise<void> => {
    await new Preparation(prepared(expressions(3, long)), ['id'], namespace).finish();
    order.push(namespace);
  };
  await Promise.all([...Array.from({ length: 20 }, () => finish('many')), finish('other')]);
  expect(order.indexOf('other')).toBe(0);
});

test('expressions that are compiled again are not parsed again, as long as there is room for their syntax trees', async () => {
  const source = Array.from({ length: 20 }, (_, index) => `request.json.a${index} == "${index}"`).join(' || ');
  const all = Array.from({ length: 40 }, () => {
    const prepare = (): Prepared<never> =>
      // So large that only one of them is kept compiled.
      prepared(expressions(8, source), LIMITS.compiledBytesMax / 3)();
    return new Preparation(prepare, [], 'trees');
  });
  const useAll = async (): Promise<number> => {
    const { user, system } = process.threadCpuUsage();
    for (const preparation of all) await preparation.finish();
    const after = process.threadCpuUsage();
    return after.user + after.system - user - system;
  };
  const parsing = await useAll();
  expect(Preparation.treePool.heldBy('trees')).toBeGreaterThan(40 * 8 * source.length);
  const decoding = Math.min(await useAll(), await useAll());
  expect(decoding).toBeLessThan(parsing / 2);
});

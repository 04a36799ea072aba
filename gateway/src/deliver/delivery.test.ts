import { LogStoreError, type InsertBatch } from '@standin/logstore';
import { afterEach, describe, expect, test } from 'vitest';
import { quiet } from '../gateway.testing.ts';
import { ByteBudget } from '../receive/byte-budget.ts';
import { Delivery } from './delivery.ts';
import type { LogSink } from './log-sink.ts';

/** Takes rows of one byte each as they are; a batch that holds `poison` is refused for good. */
class ByteSink implements LogSink {
  readonly attempts: { readonly rows: string; readonly token: string }[] = [];
  readonly taken: string[] = [];
  failures = 0;
  poison = '';
  migrations = 0;
  migrationFailures = 0;
  #onAttempt: () => void = () => undefined;

  migrate(): Promise<void> {
    this.migrations++;
    return this.migrationFailures-- > 0 ? Promise.reject(new Error('no rights')) : Promise.resolve();
  }

  insert({ rows, rowCount, token }: InsertBatch): Promise<void> {
    const text = rows.toString();
    this.attempts.push({ rows: text, token });
    this.#onAttempt();
    expect(rowCount).toBe(text.length);
    if (this.failures-- > 0)
      return Promise.reject(new LogStoreError('away', { kind: 'retryable', code: '1', cause: undefined }));
    if (this.poison !== '' && text.includes(this.poison)) {
      return Promise.reject(new LogStoreError('bad', { kind: 'permanent', code: '33', cause: undefined }));
    }
    this.taken.push(text);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async untilAttempts(count: number): Promise<void> {
    while (this.attempts.length < count) await new Promise<void>((resolve) => (this.#onAttempt = resolve));
  }
}

const deliveries: Delivery[] = [];
afterEach(async () => {
  await Promise.all(deliveries.splice(0).map((delivery) => delivery.stop(0)));
});

const setUp = ({ migrate = false } = {}) => {
  const sink = new ByteSink();
  const budget = new ByteBudget(1_000_000);
  const delivery = new Delivery({ sink, budget, migrate, logger: quiet });
  deliveries.push(delivery);
  const add = (text: string): void => {
    for (const letter of text) {
      delivery.add(1, (block, offset) => block.write(letter, offset));
    }
  };
  return { sink, budget, delivery, add };
};

describe('rows', () => {
  test('that come together are delivered together, within the flush interval', async () => {
    const { sink, budget, delivery, add } = setUp();
    add('abc');
    await sink.untilAttempts(1);
    expect(sink.taken).toEqual(['abc']);
    await delivery.stop(1_000);
    expect([budget.undeliveredBytes, delivery.deliveredRows, delivery.deliveredBatches]).toEqual([0, 3, 1]);
  });

  test('keep their bytes and their token over all retries; later ones go in a batch of their own', async () => {
    const { sink, delivery, add } = setUp();
    sink.failures = 2;
    add('ab');
    await sink.untilAttempts(1);
    add('c');
    await sink.untilAttempts(3);
    expect(await delivery.stop(1_000)).toBe(0);
    expect(sink.taken).toEqual(['ab', 'c']);
    const [first, second, third, fourth] = sink.attempts;
    expect(first?.rows).toBe('ab');
    expect(new Set([first, second, third].map((attempt) => attempt?.token)).size).toBe(1);
    expect(fourth?.token).not.toBe(first?.token);
    expect([delivery.failedAttempts, delivery.failingSinceMs]).toEqual([2, undefined]);
  });

  test('that ClickHouse never takes are left out alone; the halves’ tokens follow from the batch’s', async () => {
    const { sink, budget, delivery, add } = setUp();
    sink.poison = 'X';
    add('abXcd');
    expect(await delivery.stop(1_000)).toBe(0);
    expect(sink.taken.join('')).toBe('abcd');
    expect([delivery.refusedRows, delivery.deliveredRows, budget.undeliveredBytes]).toEqual([1, 4, 0]);
    const token = sink.attempts[0]?.token ?? '?';
    for (const attempt of sink.attempts) expect(attempt.token.startsWith(token)).toBe(true);
    expect(new Set(sink.attempts.map((attempt) => attempt.token)).size).toBe(sink.attempts.length);
  });

  test('wait for the tables, which are tried until they are there', async () => {
    const { sink, delivery, add } = setUp({ migrate: true });
    sink.migrationFailures = 1;
    delivery.start();
    add('a');
    expect(await delivery.stop(1_000)).toBe(0);
    expect([sink.migrations, sink.taken]).toEqual([2, ['a']]);
  });
});

test('stopping gives up after its time, and says how many rows are left', async () => {
  const { sink, delivery, add } = setUp();
  sink.failures = Infinity;
  add('abc');
  expect(await delivery.stop(50)).toBe(3);
});

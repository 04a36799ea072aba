import { expect, test } from 'vitest';
import type { Exchange } from '../request/exchange.ts';
import { UnauthenticatedBudget } from './unauthenticated-budget.ts';

test('a request that has made room for another one gives nothing back twice, and hides none from those that follow', () => {
  const budget = new UnauthenticatedBudget(100, 1);
  const refused: string[] = [];
  const enter = (name: string) => {
    const arriving = { refuse: () => refused.push(name) };
    return budget.enter({ connection: { arriving } } as unknown as Exchange, 'team', 10);
  };
  {
    using first = enter('first');
    expect(first?.memory.amount).toBe(10);
    enter('second');
  }
  using third = enter('third');
  expect([refused, third?.memory.amount]).toEqual([['first', 'second'], 10]);
  expect([budget.used, budget.requests.used, budget.displaced]).toEqual([10, 1, 2]);
});

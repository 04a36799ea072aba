import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EachCount } from '@standin/logstore';
import { decide, type Decision, type ExpectedCount } from './decide.ts';

const count = (certain: number, withoutResponse = 0, inProgress = 0) => ({
  certain,
  withoutResponse,
  inProgress,
  ids: [],
});
const MIN = { min: 2, max: Infinity };
const MAX = { min: 0, max: 2 };
const NEVER = { min: 0, max: 0 };
const BOTH = { min: 1, max: 2 };

describe('decide', () => {
  it.each(
    (
      [
        ['a minimum that is not reached', MIN, count(1), false, 'open'],
        ['a minimum that is reached before the deadline', MIN, count(2), false, 'met'],
        ['a minimum that is exceeded before the deadline', MIN, count(3), false, 'met'],
        ['a minimum that requests without a response may not keep', MIN, count(1, 1, 1), false, 'open'],
        ['a minimum that is not reached in a complete log', MIN, count(1), true, 'unmet'],
        ['a minimum that a request of a gateway that ended reaches', MIN, count(1, 1), true, 'met'],
        ['a minimum that a request in progress may reach', MIN, count(1, 0, 1), true, 'open'],
        ['a minimum that requests in progress cannot reach', MIN, count(0, 0, 1), true, 'unmet'],
        ['a maximum before the deadline', MAX, count(2), false, 'open'],
        ['a maximum that is exceeded before the deadline', MAX, count(3), false, 'unmet'],
        ['a maximum in a complete log', MAX, count(2), true, 'met'],
        ['a maximum that a request in progress may exceed', MAX, count(2, 0, 1), true, 'open'],
        ['a maximum that a request of a gateway that ended exceeds', MAX, count(2, 1), true, 'unmet'],
        ['no request before the deadline', NEVER, count(0), false, 'open'],
        ['one request where there must be none', NEVER, count(1), false, 'unmet'],
        ['no request in a complete log', NEVER, count(0), true, 'met'],
        ['too few of a range before the deadline', BOTH, count(0), false, 'open'],
        ['enough of a range before the deadline', BOTH, count(1), false, 'open'],
        ['too many of a range before the deadline', BOTH, count(3), false, 'unmet'],
        ['too few of a range in a complete log', BOTH, count(0), true, 'unmet'],
        ['the lower end of a range in a complete log', BOTH, count(1), true, 'met'],
        ['the upper end of a range in a complete log', BOTH, count(2), true, 'met'],
        ['a million requests', BOTH, count(1_000_000), false, 'unmet'],
      ] satisfies [string, ExpectedCount, EachCount, boolean, Decision['kind']][]
    ).map(([name, expected, counted, isComplete, kind]) => ({ name, expected, counted, isComplete, kind })),
  )('with $name', ({ expected, counted, isComplete, kind }) => {
    expect(decide(expected, counted, isComplete).kind).toBe(kind);
  });

  it('never decides what a later count contradicts', () => {
    const numbers = fc.nat({ max: 5 });
    fc.assert(
      fc.property(
        fc.record({ min: numbers, more: fc.option(numbers) }),
        fc.array(numbers, { minLength: 5 }),
        (range, rest) => {
          const expected = { min: range.min, max: range.more === null ? Infinity : range.min + range.more };
          const [certain = 0, ended = 0, running = 0, matching = 0, unseen = 0] = rest;
          // How many of the requests in progress match in the end. Before the log is complete, others are still missing.
          const late = Math.min(matching, running);
          for (const isComplete of [false, true]) {
            const { kind } = decide(expected, count(certain, ended, running), isComplete);
            const truth = certain + (isComplete ? ended : 0) + late + (isComplete ? 0 : unseen);
            const isMet = truth >= expected.min && truth <= expected.max;
            if (kind !== 'open') expect(kind).toBe(isMet ? 'met' : 'unmet');
          }
        },
      ),
    );
  });

  it('always decides a complete log without requests in progress', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), (min, more, certain) => {
        expect(decide({ min, max: min + more }, count(certain), true).kind).not.toBe('open');
      }),
    );
  });
});

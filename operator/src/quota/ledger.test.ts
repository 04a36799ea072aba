import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { committed, grant, inPeriod, newLedger, settle, type Ledger } from './ledger.ts';

const ask = (
  instance: string,
  serial: number,
  more: { want?: number; held?: string[]; closed?: [string, number][] },
) => ({
  gateway: instance,
  instance,
  serial,
  want: more.want ?? 0,
  held: more.held ?? [],
  closed: (more.closed ?? []).map(([block, used]) => ({ block, used })),
});

const granted = (ledger: Ledger, limit: number, want: number, { gateways = 1, id = 'b', serial = 1 } = {}) => {
  const result = grant(ledger, ask('a', serial, { want }), { limit, gateways, id, nowMs: 0 });
  if (result === undefined) throw new Error('nothing was granted');
  return result;
};

describe('a grant', () => {
  test.each([
    // limit, gateways, want, permits
    [1_000, 1, 10, 100],
    [1_000, 1, 200, 200],
    [1_000, 1, 10_000, 500],
    [1_000, 5, 10_000, 100],
    [3, 5, 10_000, 1],
    [1, 1, 1, 1],
  ])(
    'for a quota of %i, %i gateways and a request for %i permits contains %i permits',
    (limit, gateways, want, permits) => {
      expect(granted(newLedger('2026-11'), limit, want, { gateways }).block.permits).toBe(permits);
    },
  );

  test('is refused when all permits are granted, even after the quota is lowered', () => {
    const { ledger } = granted(newLedger('2026-11'), 10, 5);
    for (const limit of [5, 4, 0]) {
      expect(grant(ledger, ask('c', 1, { want: 1 }), { limit, gateways: 1, id: 'x', nowMs: 0 })).toBeUndefined();
    }
    expect(granted(ledger, 6, 5, { id: 'c' }).block.permits).toBe(1);
  });
});

describe('a block', () => {
  test('gives back its unspent permits once, when it is closed', () => {
    const { ledger } = granted(newLedger('2026-11'), 100, 10);
    const closing = ask('a', 2, { closed: [['b', 3]] });
    const once = settle(ledger, closing);
    expect(once).toEqual({ period: '2026-11', used: 3, blocks: [] });
    expect(settle(once, closing)).toBe(once);
  });

  test('never gives back more permits than it had, and only its holder can close it', () => {
    const { ledger } = granted(newLedger('2026-11'), 100, 10);
    expect(settle(ledger, ask('a', 2, { closed: [['b', 99]] })).used).toBe(10);
    expect(settle(ledger, ask('other', 2, { closed: [['b', 0]] }))).toBe(ledger);
  });

  test('is removed by the holder’s next request, not by an earlier one, if it never reached the holder', () => {
    const { ledger } = granted(newLedger('2026-11'), 100, 10, { serial: 5 });
    expect(settle(ledger, ask('a', 5, {}))).toBe(ledger);
    expect(settle(ledger, ask('a', 4, {}))).toBe(ledger);
    expect(settle(ledger, ask('a', 6, { held: ['b'] }))).toBe(ledger);
    expect(settle(ledger, ask('a', 6, {}))).toEqual({ period: '2026-11', used: 0, blocks: [] });
  });

  test('counts as used when its process has stopped', () => {
    const { ledger } = granted(newLedger('2026-11'), 100, 10);
    expect(committed(settle(ledger, ask('a-again', 9, {})))).toBe(10);
  });
});

test('a new month starts with an empty ledger, and an earlier month never starts over', () => {
  const { ledger } = granted(newLedger('2026-11'), 100, 10);
  const next = inPeriod(ledger, '2026-12');
  expect(next).toEqual(newLedger('2026-12'));
  expect(inPeriod(next, '2026-11')).toBe(next);
});

interface Holder {
  instance: string;
  serial: number;
  readonly held: Map<string, { permits: number; spent: number }>;
  closed: { block: string; used: number }[];
}
type Request = ReturnType<typeof ask>;
interface Late {
  readonly holder: Holder;
  readonly request: Request;
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      who: fc.nat(3),
      want: fc.integer({ min: 0, max: 60 }),
      fate: fc.constantFrom('done', 'done', 'done', 'answer-lost', 'late'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('spend' as const),
      who: fc.nat(3),
      count: fc.integer({ min: 1, max: 40 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('close' as const), who: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('arrive' as const), index: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), who: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('limit' as const), limit: fc.integer({ min: 0, max: 300 }) }) },
);

/**
 * Models four gateways under any conditions. Requests are lost before the ledger is written, and responses are lost after the
 * write. Requests arrive late and out of order. Processes crash while they hold blocks, and are replaced. Leaders change and know
 * only the ledger. The quota changes.
 */
class World {
  ledger = newLedger('2026-11');
  limit: number;
  highest: number;
  accepted = 0;
  readonly holders: Holder[] = [];
  readonly late: Late[] = [];
  #ids = 0;

  constructor(limit: number) {
    this.limit = this.highest = limit;
    for (let who = 0; who < 4; who++) this.holders.push(this.#newHolder());
  }

  #newHolder(): Holder {
    return { instance: `i${++this.#ids}`, serial: 0, held: new Map(), closed: [] };
  }

  holder(who: number): Holder {
    const holder = this.holders[who];
    if (holder === undefined) throw new Error('no such gateway');
    return holder;
  }

  ask(holder: Holder, want: number, fate: string): void {
    const { instance, held, closed } = holder;
    const request: Request = {
      ...ask(instance, ++holder.serial, { want, held: [...held.keys()] }),
      closed: [...closed],
    };
    if (fate === 'late') this.late.push({ holder, request });
    else this.take(holder, request, fate === 'done');
  }

  take(holder: Holder, request: Request, isAnswered: boolean): void {
    this.ledger = settle(this.ledger, request);
    const result = grant(this.ledger, request, { limit: this.limit, gateways: 4, id: `b${++this.#ids}`, nowMs: 0 });
    this.ledger = result?.ledger ?? this.ledger;
    if (!isAnswered) return;
    holder.closed = holder.closed.filter(({ block }) => !request.closed.some((one) => one.block === block));
    if (result !== undefined) holder.held.set(result.block.id, { permits: result.block.permits, spent: 0 });
  }

  spend(holder: Holder, count: number): void {
    for (const block of holder.held.values()) {
      const taken = Math.min(count, block.permits - block.spent);
      block.spent += taken;
      this.accepted += taken;
      count -= taken;
    }
  }

  close(holder: Holder): void {
    for (const [block, { spent }] of holder.held) holder.closed.push({ block, used: spent });
    holder.held.clear();
  }

  run(one: typeof step extends fc.Arbitrary<infer T> ? T : never): void {
    switch (one.kind) {
      case 'ask':
        this.ask(this.holder(one.who), one.want, one.fate);
        return;
      case 'spend':
        this.spend(this.holder(one.who), one.count);
        return;
      case 'close':
        this.close(this.holder(one.who));
        return;
      case 'crash':
        this.holders[one.who] = this.#newHolder();
        return;
      case 'limit':
        this.limit = one.limit;
        this.highest = Math.max(this.highest, one.limit);
        return;
      case 'arrive': {
        // The sender of this late request stopped waiting long ago.
        const [late] = this.late.splice(one.index % Math.max(1, this.late.length), 1);
        if (late !== undefined) this.take(late.holder, late.request, false);
      }
    }
  }
}

test('the number of accepted requests never exceeds the highest quota', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 300 }), fc.array(step, { maxLength: 120 }), (limit, steps) => {
      const world = new World(limit);
      for (const one of steps) {
        world.run(one);
        expect(world.accepted).toBeLessThanOrEqual(world.highest);
        expect(committed(world.ledger)).toBeLessThanOrEqual(world.highest);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('without crashes, every permit can be spent in the end', () => {
  const harmless = step.filter(({ kind }) => kind !== 'crash' && kind !== 'limit');
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.array(harmless, { maxLength: 80 }), (limit, steps) => {
      const world = new World(limit);
      for (const one of steps) world.run(one);
      // All requests in flight arrive. Then each process gives back all its permits, and the first process uses the remaining
      // permits.
      for (const { holder, request } of world.late.splice(0)) world.take(holder, request, false);
      for (const holder of world.holders) {
        world.close(holder);
        world.ask(holder, 0, 'done');
      }
      const last = world.holder(0);
      for (let round = 0; world.accepted < limit && round < 2 * limit; round++) {
        world.ask(last, limit, 'done');
        world.spend(last, limit);
      }
      expect(world.accepted).toBe(limit);
    }),
    { numRuns: 300 },
  );
});

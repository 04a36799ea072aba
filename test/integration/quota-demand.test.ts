import { LIMITS, type AccountConfig } from '@standin/contract';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QuotaGate } from '../../gateway/src/admit/quota-gate.ts';
import { account, KEY } from '../../gateway/src/gateway.testing.ts';
import { Refusal } from '../../gateway/src/request/refusal.ts';
import { MemoryLedgers } from '../../operator/src/quota/memory-ledgers.testing.ts';
import { QuotaController } from '../../operator/src/quota/quota-controller.ts';

/**
 * Tests gateways and the leader's quota controller without a network and with a simulated clock, so that simulated weeks take only
 * moments.
 */

const STEP_MS = 100;
const logger = pino({ level: 'silent' });

/** A pause without requests, followed by requests at a constant rate, spread over all gateways. */
interface Phase {
  readonly quietMs: number;
  readonly perSecond: number;
  readonly ms: number;
}

class Simulation {
  readonly refusals: string[] = [];
  /** The times of ledger writes. */
  readonly writtenAtMs: number[] = [];
  isOperatorDown = false;
  #nowMs = Date.UTC(2026, 10, 2);
  readonly #account: AccountConfig;
  readonly #gates: readonly QuotaGate[];
  #due = 0;
  #sent = 0;

  constructor(quota: number, gateways: number) {
    this.#account = { ...account('own', KEY), quota };
    const store = new MemoryLedgers();
    store.disturb = (when) => {
      if (when === 'after') this.writtenAtMs.push(this.#nowMs);
    };
    const clock = (): number => this.#nowMs;
    const controller = new QuotaController({
      store,
      cache: new Map(),
      logger,
      clock,
      limit: () => quota,
      gatewayCount: () => gateways,
      isConnected: () => true,
      recall: () => this.refusals.push('a recall'),
      countPermits: undefined,
      onUsage: () => undefined,
    });
    this.#gates = Array.from({ length: gateways }, (_, index) => {
      const names = { gateway: `gateway-${index}`, instance: `process-${index}` };
      const gate = new QuotaGate({
        ask: (request) =>
          this.isOperatorDown ? Promise.reject(new Error('away')) : controller.request({ ...names, ...request }),
        reportUsage: () => Promise.resolve(),
        logger,
        clock,
        uptime: clock,
      });
      gate.start();
      return gate;
    });
  }

  async run({ quietMs, perSecond, ms }: Phase): Promise<void> {
    this.#nowMs += quietMs;
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      this.#nowMs += STEP_MS;
      vi.advanceTimersByTime(STEP_MS);
      this.#due += (perSecond * STEP_MS) / 1_000;
      const outcomes: Promise<unknown>[] = [];
      for (; this.#due >= 1; this.#due--) {
        const gate = this.#gates[this.#sent++ % this.#gates.length];
        outcomes.push(Promise.resolve(gate?.admit(this.#account)));
      }
      await new Promise(setImmediate);
      for (const outcome of await Promise.all(outcomes)) {
        if (outcome instanceof Refusal) this.refusals.push(outcome.code);
      }
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#gates.map((gate) => gate.close()));
  }

  /** Returns the largest number of ledger writes in any period of this length. */
  writesWithin(ms: number): number {
    const times = this.writtenAtMs;
    return Math.max(0, ...times.map((from, index) => times.filter((at, n) => n >= index && at < from + ms).length));
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const phase = fc.record({
  quietMs: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 60_000 }),
    fc.integer({ min: 0, max: 5 * 24 * 3_600_000 }),
  ),
  perSecond: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 100, max: 2_000 })),
  ms: fc.integer({ min: 200, max: 20_000 }),
});

test('accepts any traffic pattern within the quota and writes the ledger at most once a second', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(phase, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 10 }),
      fc.double({ min: 1.5, max: 100, noNaN: true }),
      async (phases, gateways, plenty) => {
        const requests = phases.reduce(
          (sum, { perSecond, ms }) => sum + (perSecond * Math.ceil(ms / STEP_MS) * STEP_MS) / 1_000,
          0,
        );
        const simulation = new Simulation(Math.ceil(requests * plenty) + 20 * gateways, gateways);
        for (const one of phases) await simulation.run(one);
        expect(new Set(simulation.refusals)).toEqual(new Set());
        expect(simulation.writesWithin(60_000)).toBeLessThanOrEqual(60);
        await simulation.stop();
      },
    ),
    { numRuns: 60 },
  );
});

test('writes the ledger at most once a second while five gateways use up a quota with 2,000 requests per second each', async () => {
  // Uses nearly all of the quota, because blocks get smaller towards the end.
  const simulation = new Simulation(620_000, 5);
  await simulation.run({ quietMs: 0, perSecond: 10_000, ms: 60_000 });
  expect(simulation.refusals).toEqual([]);
  expect(simulation.writesWithin(60_000)).toBeLessThanOrEqual(60);
  await simulation.stop();
});

/** The length of the operator's outage. It is longer than the failover to another operator. */
const OUTAGE_MS = 20_000;
const SEEN_MS = 2 * LIMITS.quotaReportMs;

test('accepts a burst from an idle account just before the operator fails', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 10 * 24 * 3_600_000 }),
      fc.integer({ min: 100, max: 2_000 }),
      fc.integer({ min: 1, max: 5 }),
      async (quietMs, perSecond, gateways) => {
        const requests = (perSecond * (SEEN_MS + OUTAGE_MS)) / 1_000;
        // The block of the first request is too small for the burst, so gateways must ask for more permits as soon as they notice
        // the burst.
        const simulation = new Simulation(6 * requests, gateways);
        await simulation.run({ quietMs: 0, perSecond: 1, ms: 5_000 });
        await simulation.run({ quietMs, perSecond, ms: SEEN_MS });
        simulation.isOperatorDown = true;
        await simulation.run({ quietMs: 0, perSecond, ms: OUTAGE_MS });
        expect(new Set(simulation.refusals)).toEqual(new Set());
        await simulation.stop();
      },
    ),
    { numRuns: 15 },
  );
});

import { LIMITS } from '@standin/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Cut } from './gateway-record.ts';
import type { Effects } from './gateway-record.ts';
import { GatewayStates } from './gateway-states.ts';

const FORGET_MS = 20_000;
const STALE_MS = 5_000;
const KEY = 'Account/t';
const OTHER = 'Endpoint/e';

/** A gateway's pod, with at most one running process. */
interface Pod {
  readonly name: string;
  /** Greater than 0 for pods with odd numbers, which reject requests after this time without the operator. */
  readonly maxStalenessMs: number;
  /** Undefined if no process is running. */
  instance: string | undefined;
  /** Number of the revision that the process uses to answer. Undefined if the process has no revision. */
  held: number | undefined;
  /** Number of the revision whose copy remains after a crash. */
  disk: number | undefined;
  /** The time until which the process answers, if the pod has a `maxStalenessMs`. */
  answersUntil: number;
  stream: Cut | undefined;
  isDeleted: boolean;
  /** Whether the operator has heard of the pod's requests, which may not be in the log. */
  hasRequests: boolean;
}

const who = fc.nat(3);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('connect' as const), who }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('take' as const), who }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('ack' as const), who, isAnswered: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cut off' as const), who }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('crash' as const), who, isNoticed: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop' as const), who }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), who }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('revoke' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('look up' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 700, STALE_MS - 50, FORGET_MS, 70_000),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/**
 * A simulated set of gateways, a network and a cluster. A term begins while some gateways from the previous term are disconnected.
 */
class World {
  readonly states = new GatewayStates({ epoch: 1, forgetMs: FORGET_MS });
  readonly pods: readonly Pod[];
  now = 0;
  /** Number of the last revision that revoked a key. */
  since = 1;
  #instances = 0;
  /** The open streams, as the operator sees them. */
  readonly #streams = new Map<Cut, { readonly name: string; readonly instance: string }>();

  constructor(remembered: readonly number[]) {
    this.pods = [0, 1, 2, 3].map((index) => ({
      name: `g${index}`,
      maxStalenessMs: index % 2 === 0 ? 0 : STALE_MS,
      stream: undefined,
      isDeleted: false,
      ...(remembered.includes(index)
        ? { instance: 'before', held: 0, disk: 0, answersUntil: STALE_MS, hasRequests: true }
        : { instance: undefined, held: undefined, disk: undefined, answersUntil: 0, hasRequests: false }),
    }));
    this.states.remember(
      this.pods.filter(({ instance }) => instance !== undefined),
      0,
    );
    this.states.revoke(KEY, this.since);
  }

  mayAnswer({ instance, held, maxStalenessMs, answersUntil }: Pod): boolean {
    return instance !== undefined && held !== undefined && (maxStalenessMs === 0 || this.now < answersUntil);
  }

  run(one: Step): void {
    if (one.kind === 'pass') this.pass(one.ms);
    else if (one.kind === 'look up') this.lookUp();
    else if (one.kind === 'revoke') this.states.revoke(KEY, (this.since += 1));
    else {
      const pod = this.pods[one.who];
      if (pod !== undefined) this.#runPod(pod, one);
    }
  }

  pass(ms: number): void {
    const until = this.now + ms;
    while (this.states.wakeAt <= until) {
      this.now = this.states.wakeAt;
      this.#apply(this.states.advance(this.now));
    }
    this.now = until;
  }

  lookUp(): void {
    for (const { name, isDeleted } of this.pods) if (isDeleted) this.#apply(this.states.gone(name));
  }

  #runPod(pod: Pod, one: Extract<Step, { readonly who: number }>): void {
    const { states, now, since } = this;
    const { name, instance, maxStalenessMs, held, stream } = pod;
    switch (one.kind) {
      case 'connect': {
        // A starting process answers with the copy on its disk, unless it has a `maxStalenessMs`.
        if (instance === undefined) Object.assign(pod, { instance: `i${(this.#instances += 1)}`, held: pod.disk });
        if (instance === undefined) Object.assign(pod, { answersUntil: 0, isDeleted: false });
        if (stream !== undefined) break;
        const cut: Cut = () => this.#end(cut);
        Object.assign(pod, { stream: cut, hasRequests: true });
        this.#streams.set(cut, { name, instance: pod.instance ?? '' });
        this.#apply(states.connected({ name, maxStalenessMs }, pod.instance ?? '', cut, now));
        break;
      }
      case 'take':
        if (stream !== undefined) Object.assign(pod, { held: since, disk: since });
        break;
      case 'ack': {
        if (stream === undefined || held === undefined || instance === undefined) break;
        const revision = `1.${held}`;
        const effects = states.acknowledged({ gateway: name, instance, revision, rejected: [] }, now);
        if (effects === undefined) this.#end(stream);
        else {
          if (one.isAnswered) pod.answersUntil = now + maxStalenessMs;
          this.#apply(effects);
        }
        break;
      }
      case 'cut off':
        if (stream !== undefined) this.#end(stream);
        break;
      case 'crash':
        Object.assign(pod, { instance: undefined, held: undefined, stream: undefined });
        // If the operator does not notice the crash, the connection still looks open to it.
        if (stream !== undefined && one.isNoticed) this.#end(stream);
        break;
      case 'stop':
        if (stream === undefined || instance === undefined) break;
        Object.assign(pod, { instance: undefined, held: undefined, disk: undefined, hasRequests: false });
        this.#apply(states.goodbye(name, instance));
        this.#end(stream);
        break;
      case 'delete':
        if (instance === undefined) Object.assign(pod, { disk: undefined, isDeleted: true, hasRequests: false });
    }
  }

  #apply({ cut }: Effects): void {
    for (const end of cut) end();
  }

  #end(cut: Cut): void {
    const found = this.#streams.get(cut);
    if (found === undefined) return;
    this.#streams.delete(cut);
    for (const pod of this.pods) if (pod.stream === cut) pod.stream = undefined;
    this.#apply(this.states.disconnected(found.name, found.instance, cut, this.now));
  }
}

/** The gateways known from the previous term, and the steps of this term. */
const TERMS = [fc.subarray([0, 1, 2, 3]), fc.array(step, { maxLength: 60 })] as const;

const waitingAt = (state: ReturnType<GatewayStates['programmed']>): readonly string[] =>
  state.kind === 'waiting' ? state.gateways : [];

test('a revocation waits for every gateway that may answer with the old key, and the next leader learns about it', () => {
  fc.assert(
    fc.property(...TERMS, (remembered, steps) => {
      const world = new World(remembered);
      const { states } = world;
      for (const one of steps) {
        world.run(one);
        const answering = world.pods.filter((pod) => world.mayAnswer(pod));
        const members = new Map(states.members.map(({ name, maxStalenessMs }) => [name, maxStalenessMs]));
        for (const { name, maxStalenessMs } of answering) expect([maxStalenessMs, 0]).toContain(members.get(name));
        const old = answering.filter(({ held = 0 }) => held < world.since).map(({ name }) => name);
        expect(waitingAt(states.revoked(KEY, world.since))).toEqual(expect.arrayContaining(old));
        expect(waitingAt(states.programmed(KEY, world.since))).toEqual(expect.arrayContaining(old));
      }
    }),
    { numRuns: 1_000 },
  );
});

test('a Purge waits for every gateway that may have undelivered requests, and the next leader learns about it', () => {
  fc.assert(
    fc.property(...TERMS, (remembered, steps) => {
      const world = new World(remembered);
      for (const one of steps) {
        world.run(one);
        const holding = world.pods.filter(({ hasRequests }) => hasRequests).map(({ name }) => name);
        const named = world.states
          .undelivered({ projectUid: 'p', namespace: 'a', before: Infinity })
          .map((text) => text.slice('gateway '.length).split(',')[0]);
        expect(named).toEqual(expect.arrayContaining(holding));
        expect(world.states.members.map(({ name }) => name)).toEqual(expect.arrayContaining(holding));
      }
    }),
    { numRuns: 1_000 },
  );
});

test('Programmed does not wait for lost gateways, and a revocation does not wait for gateways that no longer exist', () => {
  fc.assert(
    fc.property(...TERMS, (remembered, steps) => {
      const world = new World(remembered);
      const { states } = world;
      for (const one of steps) {
        world.run(one);
        const waiting = waitingAt(states.programmed(OTHER, world.since));
        expect(waiting.filter((name) => states.isLost(name))).toEqual([]);
      }
      const beat = (ms: number): void => {
        for (let left = ms; left > 0; left -= LIMITS.streamHeartbeatMs) {
          for (const who of [0, 1, 2, 3]) {
            world.run({ kind: 'take', who });
            world.run({ kind: 'ack', who, isAnswered: true });
          }
          world.pass(LIMITS.streamHeartbeatMs);
        }
      };
      const isDone = (key: string): boolean =>
        ['programmed', 'no-gateway'].includes(states.programmed(key, world.since).kind);
      // Silent streams end, and gateways without a stream become lost.
      beat(60_000 + FORGET_MS);
      expect(isDone(OTHER)).toBe(true);
      for (const [who, { stream }] of world.pods.entries()) {
        if (stream !== undefined) continue;
        world.run({ kind: 'crash', who, isNoticed: true });
        world.run({ kind: 'delete', who });
      }
      world.lookUp();
      expect(isDone(KEY)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

import type { RejectedObject } from '@standin/contract';
import { cpuMs } from '@standin/contract/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newProcess, type Process } from './gateway-record.ts';
import { revokedState, Revocations } from './revocations.ts';

const GATEWAYS = 2;
const KEYS = ['Account/a', 'Account/b', 'Endpoint/c'];

const processesAt = (...numbers: readonly number[]): Process[] =>
  numbers.map((number, index) => {
    const process = newProcess(`gateway-${index}`, 'instance', 0);
    process.acked = { epoch: 1, number };
    return process;
  });

const gateway = fc.nat(GATEWAYS - 1);
const key = fc.constantFrom(...KEYS);
const number = fc.nat(6);
const step = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), key, number }),
  fc.record({ kind: fc.constant('cancel' as const), key }),
  fc.record({ kind: fc.constant('ack' as const), gateway, number }),
  fc.record({ kind: fc.constant('restart' as const), gateway }),
  fc.record({ kind: fc.constant('reject' as const), gateway, key }),
  fc.record({ kind: fc.constant('accept' as const), gateway, key }),
  fc.record({ kind: fc.constant('lose' as const) }),
  fc.record({ kind: fc.constant('find' as const) }),
);

test('the complete revocations are those that a check of all of them finds', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const revocations = new Revocations();
      const all = new Map<string, number>();
      const processes = processesAt(...Array.from({ length: GATEWAYS }, () => 0));
      const lost = new Set<string>();
      for (const one of steps) {
        const process = 'gateway' in one ? processes[one.gateway] : undefined;
        const changed: string[] = [];
        const setRejected = (of: string, rejected: RejectedObject | undefined): void => {
          if (process === undefined) return;
          const others = new Map(process.rejected);
          others.delete(of);
          if (rejected !== undefined) others.set(of, rejected);
          process.rejected = others;
          changed.push(of);
        };
        if (one.kind === 'add') {
          revocations.add(one.key, one.number);
          all.set(one.key, one.number);
        }
        if (one.kind === 'cancel') {
          revocations.cancel(one.key);
          all.delete(one.key);
        }
        if (one.kind === 'ack' && process !== undefined) {
          process.acked = { epoch: 1, number: Math.max(process.acked?.number ?? 0, one.number) };
        }
        if (one.kind === 'restart' && process !== undefined) {
          changed.push(...process.rejected.keys());
          Object.assign(process, { acked: undefined, rejected: new Map() });
        }
        if (one.kind === 'reject') setRejected(one.key, { key: one.key, message: 'no' });
        if (one.kind === 'accept') setRejected(one.key, undefined);
        if (one.kind === 'lose') lost.add('lost');
        if (one.kind === 'find') lost.delete('lost');
        const answering = { processes, lost };
        const expected = [...all].filter(([of, since]) =>
          ['programmed', 'no-gateway'].includes(revokedState(answering, of, since).kind),
        );
        for (const [of] of expected) all.delete(of);
        expect([...revocations.takeComplete(answering, changed)].sort()).toEqual(expected.map(([of]) => of).sort());
        for (const of of KEYS) expect(revocations.since(of)).toBe(all.get(of));
      }
    }),
    { numRuns: 1_000 },
  );
});

test('an acknowledgement takes the same time with any number of revocations that wait', () => {
  const COUNT = 50_000;
  const revocations = new Revocations();
  for (let index = 0; index < COUNT; index += 1) revocations.add(`Account/${index}`, COUNT + (index % 1_000));
  const [processes, lost] = [processesAt(0, 3 * COUNT), new Set(['lost'])];
  const acknowledge = (): void => {
    for (let index = 0; index < 100; index += 1) {
      revocations.takeComplete({ processes, lost: new Set() }, []);
      revocations.takeComplete({ processes, lost }, []);
    }
  };
  expect(cpuMs(acknowledge, 50)).toBeLessThan(50);
  for (const process of processes) process.acked = { epoch: 1, number: 3 * COUNT };
  expect(revocations.takeComplete({ processes, lost: new Set() }, [])).toHaveLength(COUNT);
});

import { clientFor, FakeApiServer, json } from '@standin/kube/testing';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { KubernetesEvents } from './kubernetes-events.ts';

const EVENT = { type: 'Warning', reason: 'LimitReached', message: 'The limit is reached.' } as const;
const subject = (namespace: string, name: string) => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Account',
  metadata: { namespace, name, uid: `uid of ${name}` },
});

const setUp = async () => {
  const server = new FakeApiServer((_, response) => json(response, 201, {}));
  await server.start();
  onTestFinished(() => server.stop());
  const client = clientFor(server, { writeRate: { qps: 100_000, burst: 100_000 } });
  onTestFinished(() => client.close());
  return { server, events: new KubernetesEvents(client, pino({ level: 'silent' })) };
};

test('the Events of one namespace do not displace those of others, whose repeats are only counted', async () => {
  const { server, events } = await setUp();
  const repeat = () => events.record(subject('quiet', 'team'), EVENT);
  // Only the first repeat is written immediately.
  for (let time = 0; time < 2; time += 1) await repeat();
  const busy = Array.from({ length: 2_500 }, (_, index) => events.record(subject('busy', `a-${index}`), EVENT));
  await Promise.all(busy);
  const before = server.requests.length;
  await repeat();
  expect(server.requests.length).toBe(before);
}, 30_000);

test('repeats in a new namespace are only counted, even if other namespaces have filled the memory', async () => {
  const { server, events } = await setUp();
  for (let team = 0; team < 12; team += 1) {
    const record = (_: unknown, index: number) => events.record(subject(`team-${team}`, `${team}-${index}`), EVENT);
    await Promise.all(Array.from({ length: 1_000 }, record));
  }
  const before = server.requests.length;
  for (let time = 0; time < 10; time += 1) await events.record(subject('new', 'shop'), EVENT);
  expect(server.requests.slice(before).map(({ method }) => method)).toEqual(['POST', 'PATCH']);
}, 60_000);

test('Events of half an hour ago do not take places from new ones', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { server, events } = await setUp();
  const old = Array.from({ length: 2_000 }, (_, index) => events.record(subject(`old-${index}`, `${index}`), EVENT));
  await Promise.all(old);
  vi.advanceTimersByTime(31 * 60_000);
  const before = server.requests.length;
  for (let time = 0; time < 4; time += 1)
    for (const name of ['cart', 'shop']) await events.record(subject('new', name), EVENT);
  expect(server.requests.slice(before).map(({ method }) => method)).toEqual(['POST', 'POST', 'PATCH', 'PATCH']);
}, 30_000);

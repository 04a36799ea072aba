import { clientFor, FakeApiServer, json } from '@standin/kube/testing';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { KubernetesEvents } from './kubernetes-events.ts';

const EVENT = { type: 'Warning', reason: 'LimitReached', message: 'The limit is reached.' } as const;
const subject = (namespace: string, name: string) => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Account',
  metadata: { namespace, name, uid: `uid of ${name}` },
});

test('the Events of one namespace do not displace those of others, whose repeats are only counted', async () => {
  const server = new FakeApiServer((_, response) => json(response, 201, {}));
  await server.start();
  onTestFinished(() => server.stop());
  const client = clientFor(server, { writeRate: { qps: 100_000, burst: 100_000 } });
  onTestFinished(() => client.close());
  const events = new KubernetesEvents(client, pino({ level: 'silent' }));
  const repeat = () => events.record(subject('quiet', 'team'), EVENT);
  // Only the first repeat is written immediately.
  for (let time = 0; time < 2; time += 1) await repeat();
  const busy = Array.from({ length: 2_500 }, (_, index) => events.record(subject('busy', `a-${index}`), EVENT));
  await Promise.all(busy);
  const before = server.requests.length;
  await repeat();
  expect(server.requests.length).toBe(before);
}, 30_000);

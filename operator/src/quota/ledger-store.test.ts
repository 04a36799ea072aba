import { ApiError, type KubeClient, type KubeObject } from '@standin/kube';
import { clientFor, FakeApiServer, json } from '@standin/kube/testing';
import { expect, test } from 'vitest';
import { ledgerConfigMaps } from './ledger-store.ts';
import { newLedger } from './ledger.ts';

const failure = (status: number, reason: string): ApiError => new ApiError(reason, { status, reason, request: '' });

/** Its API server gives this response to reads and removals. */
const respondingStore = (respond: () => Promise<unknown>) =>
  ledgerConfigMaps({ get: respond, remove: respond } as Partial<KubeClient> as KubeClient, 'standin-system');
const configMap = (data: Record<string, string>): KubeObject & { data: object } => ({
  metadata: { name: 'standin-quota-a', uid: 'uid', resourceVersion: '1' },
  data,
});
const reading = (respond: () => Promise<unknown>) => respondingStore(respond).read('a');

test('an account without a ledger has had no permits', async () => {
  expect(await reading(() => Promise.reject(failure(404, 'NotFound')))).toBeUndefined();
});

// An empty ledger would grant all permits again.
test.each([
  ['the API server refuses the read', () => Promise.reject(failure(403, 'Forbidden'))],
  ['the API server fails', () => Promise.reject(failure(500, 'InternalError'))],
  ['the API server is unreachable', () => Promise.reject(failure(0, 'Unreachable'))],
  ['the ledger has no content', () => Promise.resolve(configMap({}))],
  ['the ledger has other content', () => Promise.resolve(configMap({ ledger: '{"used":1}' }))],
])('a ledger is not empty if %s', async (_, respond) => {
  await expect(reading(respond)).rejects.toThrow();
});

test.each([
  ['is gone', 404, 'NotFound', true],
  ['is in use again', 409, 'Conflict', true],
  ['must not be removed', 403, 'Forbidden', false],
])('the removal of a ledger that %s', async (_, status, reason, isDone) => {
  const removing = respondingStore(() => Promise.reject(failure(status, reason))).remove('a', 'uid/1');
  await (isDone ? removing : expect(removing).rejects.toThrow(reason));
});

test('a ledger is written while statuses wait for their write rate', async () => {
  const server = new FakeApiServer((_, response) => json(response, 200, configMap({})));
  await server.start();
  const client = clientFor(server, { writeRate: { qps: 0.001, burst: 2 } });
  const aborting = new AbortController();
  const statuses = Array.from({ length: 10 }, (_, index) =>
    client.mergePatch(`/status-${index}`, {}, { signal: aborting.signal }),
  );
  const store = ledgerConfigMaps(client, 'standin-system');
  const version = await store.write('a', newLedger('2026-11'), undefined);
  await store.write('a', newLedger('2026-12'), version);
  aborting.abort();
  const written = (await Promise.allSettled(statuses)).filter(({ status }) => status === 'fulfilled');
  expect(written.length).toBeLessThanOrEqual(2);
  await client.close();
  await server.stop();
});

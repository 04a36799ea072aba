import { SharedPool } from '@standin/contract';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { collectProcessMetrics, exposeCertificateExpiry, exposeLogStore, exposeShares } from './process-metrics.ts';

test('the metrics of a process contain its component and version', async () => {
  const registry = new Registry();
  collectProcessMetrics(registry, 'gateway');
  const text = await registry.metrics();
  expect(text).toContain(`standin_build_info{component="gateway",version="${packageJson.version}"} 1`);
  expect(text).toContain('process_resident_memory_bytes');
});

test.each(['no certificate', new Error('no file')])(
  'a certificate that cannot be read has no expiry: %s',
  async (found) => {
    const registry = new Registry();
    exposeCertificateExpiry(registry, () => (typeof found === 'string' ? found : Promise.reject(found)));
    // A value of 0 would be an expired certificate.
    expect(await registry.metrics()).not.toMatch(/^standin_stream_certificate_expiry_timestamp_seconds/m);
  },
);

test.each([
  [1, () => Promise.resolve()],
  [0, () => Promise.reject(new Error('refused'))],
  [0, () => new Promise<never>(() => undefined)],
])('the log store is reported as %i', async (expected, ping) => {
  const registry = new Registry();
  exposeLogStore(registry, ping, pino({ level: 'silent' }));
  expect(await registry.metrics()).toContain(`standin_log_store_up ${expected}\n`);
});

test('a log store that stops responding is logged once with the reason, and so is its return', async () => {
  const lines: { readonly msg: string; readonly err?: { readonly message: string } }[] = [];
  const logger = pino({ base: null }, { write: (line) => lines.push(JSON.parse(line) as (typeof lines)[number]) });
  const registry = new Registry();
  let failure: Error | undefined;
  exposeLogStore(registry, () => (failure === undefined ? Promise.resolve() : Promise.reject(failure)), logger);
  for (const next of [undefined, new Error('wrong password'), new Error('wrong password'), undefined, undefined]) {
    failure = next;
    await registry.metrics();
  }
  expect(lines.map(({ msg, err }) => [msg, err?.message])).toEqual([
    ['log store unavailable', 'wrong password'],
    ['log store available', undefined],
  ]);
});

test('pools are reported without their holders', async () => {
  const registry = new Registry();
  const pool = new SharedPool(10);
  exposeShares(registry, new Map([['requests', pool]]));
  pool.take('ada', 4);
  pool.take('ada', 4);
  pool.take('bob');
  const text = await registry.metrics();
  for (const [name, value] of [
    ['capacity', 10],
    ['used', 5],
    ['largest', 4],
    ['refused_total', 1],
  ] as const)
    expect(text).toContain(`standin_shares_${name}{pool="requests"} ${value}\n`);
  expect(text).not.toContain('ada');
});

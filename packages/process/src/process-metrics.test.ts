import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { collectProcessMetrics, exposeCertificateExpiry, exposeLogStore } from './process-metrics.ts';

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
  exposeLogStore(registry, ping);
  expect(await registry.metrics()).toContain(`standin_log_store_up ${expected}\n`);
});

import { expect, test } from 'vitest';
import { readValues } from '../secrets/secret-values.ts';
import type { EndpointSpec } from '@standin/crds';
import { evaluateUpstreamSecrets } from './upstream-secrets.ts';

const HEADERS = ['a', 'b', 'c', 'd'];
const ENDPOINTS = 2_000;
/** As long as the API server allows all annotations of an object to be. */
const ORIGINS = 'https://api.example.com '.repeat(256 * 1024).slice(0, 256 * 1024 - 30);

// An operator that is busy for longer than `LIMITS.leaseRenewDeadlineMs` stops leading.
test('the number of origins of a Secret does not change how long its Endpoints take', () => {
  const upstream = { kind: 'Forward', url: 'https://api.example.net/v1', timeoutMs: 1, viaService: false } as const;
  const spec = {
    action: 'Forward',
    forward: {
      requestHeaders: { set: HEADERS.map((name) => ({ name, valueFrom: { secretRef: { name: 'up', key: 'k' } } })) },
    },
  } as unknown as EndpointSpec;
  const { state } = readValues('team', 'up', {
    uses: ['Upstream'],
    upstreamOrigins: `${ORIGINS} https://api.example.net`,
    version: '1',
    data: new Map([['k', Buffer.from('value')]]),
  });
  const begun = process.cpuUsage();
  for (let at = 0; at < ENDPOINTS; at++)
    expect(
      evaluateUpstreamSecrets({ namespace: 'team' }, spec, { upstream, states: () => state }).fault,
    ).toBeUndefined();
  expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(500);
});

import { SharedPool } from '@standin/contract';
import pino from 'pino';
import { Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { localAccess } from './access.ts';
import { backendWith } from './api/api-server.testing.ts';
import { runDashboard } from './run-dashboard.ts';

it('reports the pools that users share, including those from outside', async () => {
  const registry = new Registry();
  const dashboard = await runDashboard({
    settings: { host: '127.0.0.1', port: 0 },
    access: localAccess(backendWith({})),
    shares: { source: { find: () => Promise.resolve(undefined) }, store: {} as never },
    buildDir: undefined,
    logger: pino({ level: 'silent' }),
    registry,
    pools: new Map([['log_queries', new SharedPool(10)]]),
  });
  onTestFinished(() => dashboard.stop());
  const text = await registry.metrics();
  for (const pool of [
    'log_queries 10',
    'request_bodies 33554432',
    'readers 100',
    'connections 4096',
    'worker_threads 2',
    'worker_calls 8',
  ]) {
    const [name = '', capacity = ''] = pool.split(' ');
    expect(text).toContain(`standin_shares_capacity{pool="${name}"} ${capacity}\n`);
  }
});

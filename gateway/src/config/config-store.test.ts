import { expect, test } from 'vitest';
import { BASIC_OBJECTS, quiet } from '../gateway.testing.ts';
import { ConfigStore } from './config-store.ts';

test.each([
  ['served within maxStalenessMs', { uptimeMs: 5_000, wallMs: 5_000 }, true],
  ['refused after that time on both clocks', { uptimeMs: 5_001, wallMs: 5_001 }, false],
  ['refused after the machine has been suspended', { uptimeMs: 10, wallMs: 3_600_000 }, false],
  ['served after the clock was set back', { uptimeMs: 10, wallMs: -3_600_000 }, true],
  ['refused after that time, although the clock was set back', { uptimeMs: 5_001, wallMs: -3_600_000 }, false],
])('requests are %s', (_name, passed, isServing) => {
  let atMs = Date.UTC(2026, 10, 22);
  const store = new ConfigStore({ logger: quiet, maxStalenessMs: 5_000, clock: () => atMs });
  store.restore({ epoch: 1, number: 1 }, BASIC_OBJECTS);
  const uptimeMs = 60_000;
  store.confirmed({ uptimeMs, atMs });
  atMs += passed.wallMs;
  expect(store.tableAt(uptimeMs + passed.uptimeMs) !== undefined).toBe(isServing);
});

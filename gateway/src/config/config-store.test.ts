import { expect, test } from 'vitest';
import { BASIC_OBJECTS, quiet } from '../gateway.testing.ts';
import { ConfigStore } from './config-store.ts';

test.each([
  ['within maxStaleness', { uptimeMs: 5_000, wallMs: 5_000 }, true],
  ['too late by both clocks', { uptimeMs: 5_001, wallMs: 5_001 }, false],
  ['after its machine was suspended', { uptimeMs: 10, wallMs: 3_600_000 }, false],
  ['with a clock that was set back', { uptimeMs: 10, wallMs: -3_600_000 }, true],
  ['with a clock that was set back, too late', { uptimeMs: 5_001, wallMs: -3_600_000 }, false],
])('a gateway %s', (_name, passed, isServing) => {
  let atMs = Date.UTC(2026, 10, 22);
  const store = new ConfigStore({ logger: quiet, maxStalenessMs: 5_000, clock: () => atMs });
  store.restore({ epoch: 1, number: 1 }, BASIC_OBJECTS);
  const uptimeMs = 60_000;
  store.confirmed({ uptimeMs, atMs });
  atMs += passed.wallMs;
  expect(store.tableAt(uptimeMs + passed.uptimeMs) !== undefined).toBe(isServing);
});

import { LIMITS } from '@standin/contract';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { Endpoint, Responder } from '../request/route.ts';
import { ResponseCounts } from './response-counts.ts';

test('the responses of one namespace do not take all series', async () => {
  const counts = new ResponseCounts();
  const registry = new Registry();
  const endpoint = (namespace: string, name: string) =>
    ({ config: { uid: `${namespace}/${name}`, namespace, name }, responseNames: ['gold'] }) as unknown as Endpoint;
  const all = new Map<string, Endpoint>();
  counts.expose(registry, (uid) => all.get(uid));
  const add = (namespace: string, name: string): void => {
    const added = endpoint(namespace, name);
    all.set(added.config.uid, added);
    counts.add(added, { kind: 'JSON', name: 'gold' } as unknown as Responder);
  };
  for (let index = 0; index < LIMITS.responseSeriesMax; index += 1) add('busy', `busy-${index}`);
  add('quiet', 'quiet');
  const text = await registry.metrics();
  expect([...text.matchAll(/exported_namespace="busy"/g)]).toHaveLength(LIMITS.responseSeriesMax / 2);
  expect(text).toMatch(/exported_namespace="quiet",exported_endpoint="quiet",response="\w*"\} 1$/m);
});

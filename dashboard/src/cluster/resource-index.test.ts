import { once } from 'node:events';
import type { KubeClient } from '@standin/kube';
import pino from 'pino';
import { afterEach, expect, it } from 'vitest';
import { followResourceIndex } from './resource-index.ts';

let stopping = new AbortController();
afterEach(() => {
  stopping.abort();
  stopping = new AbortController();
});

const project = (namespace: string, name: string, resourceVersion = '1') => ({
  metadata: { namespace, name, uid: `${namespace}/${name}`, resourceVersion },
});

/** Follows a cluster with a list of projects, which then changes. */
const startIndex = (items: readonly object[], changes: readonly object[]) => {
  const client = {
    get: (path: string) =>
      Promise.resolve({ metadata: { resourceVersion: '1' }, items: path.includes('mockprojects') ? items : [] }),
    watch: (path: string, _: unknown, { signal }: { signal: AbortSignal }) =>
      Promise.resolve(
        (async function* () {
          for (const change of path.includes('mockprojects') ? changes : [])
            yield Buffer.from(`${JSON.stringify(change)}\n`);
          await once(signal, 'abort').catch(() => undefined);
        })(),
      ),
  } as unknown as KubeClient;
  const view = { client, namespaces: [], logger: pino({ level: 'silent' }), signal: stopping.signal };
  return followResourceIndex(view);
};

it('gives a namespace a new number when a project is added to it, and forgets empty namespaces', async () => {
  const index = startIndex(
    ['a', 'b', 'c'].map((namespace) => project(namespace, 'shop')),
    [
      { type: 'MODIFIED', object: project('a', 'shop', '2') },
      { type: 'ADDED', object: project('b', 'pay', '3') },
      { type: 'DELETED', object: project('c', 'shop', '4') },
    ],
  );
  await expect
    .poll(() => [...(index.namespaces() ?? [])].map(([namespace, { number }]) => `${namespace} ${number}`))
    .toEqual(['a 1', 'b 4']);
  expect([...(index.namespaces()?.get('b')?.projects ?? [])]).toEqual(['shop', 'pay']);
});

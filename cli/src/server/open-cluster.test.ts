import { expect, test } from 'vitest';
import { refindingFetch } from './open-cluster.ts';

test('another pod is looked for after a failure, and then used', async () => {
  const found: string[] = [];
  const gone = () => Promise.reject(new Error('the pod is gone'));
  const get = refindingFetch(gone, () => {
    found.push('pod');
    return Promise.resolve(() => Promise.resolve(new Response('from another pod')));
  });
  await expect(get('http://pod/')).rejects.toThrow('the pod is gone');
  for (let count = 0; count < 2; count += 1) expect(await (await get('http://pod/')).text()).toBe('from another pod');
  expect(found).toEqual(['pod']);
});

import { expect, test } from 'vitest';
import { REJECTIONS } from './rejections.ts';

test('every detail also applies without a cluster, so kubectl is never the only way', () => {
  const details = Object.values(REJECTIONS).map(({ detail }) => detail);
  const onlyForClusters = details.filter(
    (detail) =>
      /kubectl|Secret/.test(detail) && !(/dashboard|standin dev/.test(detail) && detail.includes('on a cluster')),
  );
  expect(onlyForClusters).toEqual([]);
});

import { expect, test } from 'vitest';
import { EndpointCounts } from './endpoint-counts.ts';

test('the projects whose counts change are told, and no others', () => {
  const counts = new EndpointCounts();
  expect(counts.set('e', { project: 'p', ready: false })).toEqual(['p']);
  expect(counts.set('e', { project: 'p', ready: false })).toEqual([]);
  expect(counts.set('e', { project: 'p', ready: true })).toEqual(['p']);
  expect(counts.isReady('e')).toBe(true);
  // Its Project was deleted and created again.
  expect(counts.set('e', { project: 'q', ready: true })).toEqual(['p', 'q']);
  expect(counts.set('orphan', { project: undefined, ready: false })).toEqual([]);
  expect(counts.delete('e')).toEqual(['q']);
  expect(counts.delete('e')).toEqual([]);
  expect(counts.isReady('e')).toBe(false);
});

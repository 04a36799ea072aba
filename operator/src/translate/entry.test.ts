import { expect, it } from 'vitest';
import { readEntry } from './entry.ts';
import { endpoint, SETTINGS } from './translator.testing.ts';
import type { ConfigResource } from './types.ts';

it.each([
  ['with the longest name', endpoint('a'.repeat(253), { later: 1 })],
  ['without a display name', endpoint('a', { displayName: undefined, later: 1 })],
  ['with further mistakes', endpoint('a', { json: { status: 1_000 }, responses: [], later: 1 })],
  ['with an unknown field beside its spec', { ...endpoint('a', { later: 1 }), later: 1 }],
])('an Endpoint for a later version keeps its place %s', (_, object) => {
  expect(readEntry(object as ConfigResource, SETTINGS)).toMatchObject({
    keepsPlace: true,
    parsed: { spec: { slug: '/v1', method: 'GET', projectRef: { name: 'shop' } } },
  });
});

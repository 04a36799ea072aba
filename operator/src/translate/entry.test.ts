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

it('a suggestion at the end of the problems ends with its question mark', () => {
  const object = endpoint('a', {
    json: undefined,
    jsno: { body: '{}' },
    action: 'Forward',
    forward: { url: 'http://a.example' },
  });
  const { fault } = readEntry(object as ConfigResource, SETTINGS);
  expect(fault?.message).toMatch(/unknown field "spec\.jsno": did you mean json\? If it is written/);
});

it.each([
  ['slg', '/v1/{id}/{rest...}'],
  ['slug', 1],
  ['slug', '/v1/{id}/{rest...'],
])('a mistake in the slug (%s: %j) is not reported for its parameters, too', (field, slug) => {
  const object = endpoint('a', {
    slug: undefined,
    [field]: slug,
    json: { template: 'CEL', body: '{"id": ${path.id}, "of": ${\n"x" + path.rest}}' },
    responses: [
      {
        name: 'one',
        when: {
          pathParams: [
            { name: 'id', value: '1' },
            { name: 'rest', value: '' },
          ],
          cel: 'path.id == "1" && reqest == 1',
        },
      },
    ],
  });
  const { fault } = readEntry(object as ConfigResource, SETTINGS);
  const paths = new Set(fault?.problems?.map(({ path }) => path));
  expect(paths).toEqual(new Set([...(field === 'slg' ? ['spec.slg'] : []), 'spec.slug', 'spec.responses[0].when.cel']));
});

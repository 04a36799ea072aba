import { expect, test } from 'vitest';
import { EMPTY_ENDPOINT, toEndpointValues, type EndpointValues } from './endpoint-values.ts';
import { manifestPath, mergeEndpoint } from './merge-endpoint.ts';

const responses = (...names: string[]) =>
  names.map((name) => ({ name, when: { cel: 'true' }, status: 200, bodyBase64: btoa(name) }));
const endpoint = (...names: string[]): EndpointValues => toEndpointValues('orders', { responses: responses(...names) });

test('responses refer to the saved ones of the newer version, so that hidden fields are kept', () => {
  const base = endpoint('one', 'two');
  const mine = { ...base, responses: base.responses.map((response) => ({ ...response, status: '201' })) };
  const theirs = endpoint('new', 'two', 'one');
  const { merged, collisions } = mergeEndpoint(base, mine, theirs);
  expect(collisions).toEqual([]);
  expect(merged.responses.map(({ name, from, status }) => [name, from, status])).toEqual([
    ['new', '0', '200'],
    ['two', '1', '201'],
    ['one', '2', '201'],
  ]);
});

test('a renamed response keeps the hidden fields of the response that it was', () => {
  const base = endpoint('one', 'two');
  const mine = {
    ...base,
    responses: base.responses.map((response) => ({ ...response, name: `${response.name}-new` })),
  };
  const theirs = { ...base, 'spec.slug': '/theirs' };
  const { merged } = mergeEndpoint(base, mine, theirs);
  expect(merged['spec.slug']).toBe('/theirs');
  expect(merged.responses.map(({ name, from, binaryBytes }) => [name, from, binaryBytes])).toEqual([
    ['one-new', '0', '3'],
    ['two-new', '1', '3'],
  ]);
});

test.each([
  ['spec.slug', 'spec.slug'],
  ['headers', 'spec.json.headers'],
  ['headers[x-a].value', 'spec.json.headers[x-a].value'],
  ['responses[one].delay.type', 'spec.responses[one].delay.type'],
  ['upstream', 'spec.forward'],
])('%s is %s in the manifest', (path, expected) => {
  expect(manifestPath(path)).toBe(expected);
});

test('every value of an endpoint has a path in the manifest', () => {
  expect(
    Object.keys(EMPTY_ENDPOINT)
      .map(manifestPath)
      .filter((path) => !/^(spec|metadata)\./.test(path)),
  ).toEqual([]);
});

import { LIMITS } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import type { EndpointSpec } from '@standin/crds';
import { responseProblems } from './responses.ts';

const MAX = LIMITS.responseBodiesBytesMax;
const binary = (bytes: number) => ({
  name: `binary-${bytes}`,
  headers: [{ name: 'content-type', value: 'application/octet-stream' }],
  bodyBase64: Buffer.alloc(bytes).toString('base64'),
});
const text = (bytes: number) => ({
  name: `text-${bytes}`,
  headers: [{ name: 'content-type', value: 'text/plain' }],
  // A character of two bytes.
  body: 'ü'.repeat(bytes / 2),
});
const problems = (spec: object) => responseProblems({ slug: '/a', ...spec } as EndpointSpec, []);

describe('the limit of all bodies together', () => {
  it.each([
    ['bytes in base64', (extra: number) => ({ responses: [binary(MAX + extra)] })],
    ['bytes in UTF-8', (extra: number) => ({ responses: [text(MAX + 2 * extra)] })],
    ['several responses', (extra: number) => ({ responses: [text(100_000), binary(MAX - 100_000 + extra)] })],
    [
      'spec.json.body',
      (extra: number) => ({ json: { body: 'ü'.repeat(50_000) }, responses: [binary(100_000 + extra)] }),
    ],
  ])('counts %s', (_, spec) => {
    expect(problems(spec(0))).toEqual([]);
    expect(problems(spec(1))).toMatchObject([{ path: 'spec.responses' }]);
  });

  it('names the number of bytes', () => {
    expect(problems({ responses: [binary(MAX + 1)] })).toEqual([
      {
        path: 'spec.responses',
        message: `must have bodies of no more than ${MAX} bytes together with spec.json.body, not ${MAX + 1}`,
      },
    ]);
  });

  it('does not apply to spec.json.body alone, which has its own limit', () => {
    expect(problems({ json: { body: 'x'.repeat(MAX + 1) } })).toEqual([]);
  });
});

it('an empty value is possible only for the rest of a path', () => {
  const responses = [{ name: 'x', body: '{}', when: { pathParams: [{ name: 'id', value: '' }] } }];
  const found = (slug: string) => responseProblems({ slug, responses } as EndpointSpec, ['id']);
  expect(found('/a/{id...}')).toEqual([]);
  expect(found('/a/{id}')).toMatchObject([{ path: 'spec.responses[0].when.pathParams[0].value' }]);
});

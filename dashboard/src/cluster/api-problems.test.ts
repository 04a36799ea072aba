import { ApiError, type ApiCause } from '@standin/kube';
import { expect, it } from 'vitest';
import { objectProblems } from './api-problems.ts';

const refusal = (status: number, message: string, causes: readonly ApiCause[] = []): ApiError =>
  new ApiError(message, { status, reason: 'Invalid', request: 'POST /x', causes });

it.each([
  ['Required value', 'Required value'],
  ['Invalid value: "no-slash": must begin with a slash', 'must begin with a slash'],
  ['Invalid value: "a \\"quoted\\" one: with colons": must be a path', 'must be a path'],
  ['Invalid value: 7: should be less than or equal to 5', 'should be less than or equal to 5'],
  ['Invalid value: action JSON needs a json block', 'action JSON needs a json block'],
  ['Invalid value: "object": action JSON needs a json block', 'action JSON needs a json block'],
  [
    'Unsupported value: "PUSH": supported values: "GET", "POST"',
    'Unsupported value: "PUSH": supported values: "GET", "POST"',
  ],
])('%s is shown next to its field', (message, said) => {
  const error = refusal(422, 'MockEndpoint "a" is invalid', [{ field: 'spec.slug', message }]);
  expect(objectProblems(error)).toEqual([{ path: 'spec.slug', message: said }]);
});

it('omits problems that result from another one', () => {
  const error = refusal(422, 'invalid', [
    { field: 'spec.method', message: 'Unsupported value: "X"' },
    {
      field: '<nil>',
      message: 'Invalid value: null: some validation rules were not checked because the object was invalid',
    },
  ]);
  expect(objectProblems(error)).toEqual([{ path: 'spec.method', message: 'Unsupported value: "X"' }]);
});

it('reports unknown fields', () => {
  const message = 'Endpoint in version "v1alpha1" cannot be handled: strict decoding error: unknown field "spec.foo"';
  expect(objectProblems(refusal(400, message))).toEqual([{ path: 'spec.foo', message: 'unknown field "spec.foo"' }]);
});

it('keeps an unknown message', () => {
  expect(objectProblems(refusal(400, 'the body is too strange'))).toEqual([
    { path: '', message: 'the body is too strange' },
  ]);
});

it.each([401, 403, 404, 409, 500])('returns undefined for status %i', (status) => {
  expect(objectProblems(refusal(status, 'no'))).toBeUndefined();
});

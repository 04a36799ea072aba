import { ResponseBodyError } from 'openid-client';
import { expect, it } from 'vitest';
import { isRejection } from './oidc.ts';

const response = (status: number): ResponseBodyError =>
  new ResponseBodyError('', { cause: { error: 'invalid_grant' }, response: new Response('', { status }) });

it.each([
  ['a provider that does not accept the refresh token', response(400), true],
  ['a provider that does not accept the client', response(401), true],
  ['a provider that limits the rate', response(429), false],
  ['a provider that fails', response(500), false],
  ['a provider that is unreachable', new TypeError('fetch failed'), false],
])('a session ends only if the provider rejects it: %s', (_, error, isRejected) => {
  expect(isRejection(error)).toBe(isRejected);
});

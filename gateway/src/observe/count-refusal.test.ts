import type { RejectionCode } from '@standin/contract';
import { cpuMs } from '@standin/contract/testing';
import { expect, test } from 'vitest';
import { BASIC_OBJECTS, compileTable, endpoint, PATH, URI } from '../gateway.testing.ts';
import { countRefusal } from './count-refusal.ts';
import { RefusalCounts } from './refusal-counts.ts';

const table = compileTable([...BASIC_OBJECTS, endpoint('/users/{id}'), endpoint('/users/{id}', {}, { method: 'GET' })]);

const counted = (code: RejectionCode, target: string, rawHeaders: readonly string[] = [], method = 'POST') => {
  const counts = new RefusalCounts();
  countRefusal(counts, code, { request: { method, rawHeaders: [...rawHeaders] }, target }, table);
  const { counts: found, unknownProject } = counts.report('project-shop');
  return {
    found: found.map(({ count, lastAt, ...rest }) => ({ ...rest, isNow: count === 1 && lastAt > 0 })),
    unknownProject,
  };
};

test.each([
  ['endpoint_not_found', { method: 'POST', path: '/secret' }],
  ['method_not_allowed', { method: 'POST', path: '/secret' }],
  ['quota_exceeded', { method: 'POST', path: '/secret' }],
  ['rate_limited', { method: 'POST', path: '/secret' }],
  ['api_key_missing', { sender: 'other' }],
  ['api_key_other_account', { sender: 'other' }],
  ['request_timeout', { sender: 'other' }],
  ['overloaded', { sender: 'other' }],
] as const)('%s keeps %j', (code, expected) => {
  expect(counted(code, `/${URI}/secret?token=x`).found).toEqual([{ code, ...expected, isNow: true }]);
});

test('a body that is too large keeps the path only if the request has a key', () => {
  const withKey = counted('body_too_large', `/${URI}/secret`, ['X-Api-Key', 'k']);
  expect(withKey.found).toMatchObject([{ method: 'POST', path: '/secret' }]);
  const [signed] = counted('body_too_large', `/${URI}/users/secret`, ['stripe-signature', 'x']).found;
  expect(signed).toEqual({ code: 'body_too_large', sender: 'Stripe', slug: '/users/{id}', isNow: true });
});

test('a path has the slug of the endpoint for its method, or else of any method', () => {
  expect(counted('api_key_missing', `/${URI}/users/7`, [], 'GET').found).toMatchObject([{ slug: '/users/{id}' }]);
  expect(counted('api_key_missing', `/${URI}/users/7`, [], 'PUT').found).toMatchObject([{ slug: '/users/{id}' }]);
});

test.each(['', '/', '*', '//x', '/unknown/v1', `/${URI}x/v1`])('the target %j has no project', (target) => {
  expect(counted('api_key_missing', target)).toEqual({ found: [], unknownProject: 1 });
});

test.each([
  ['api_key_missing', PATH],
  ['endpoint_not_found', `${PATH}/other`],
  ['project_not_found', '/unknown/path'],
] as const)('counting %s takes at most 2 µs', (code, target) => {
  const counts = new RefusalCounts();
  const headers = Array.from({ length: 15 }, (_, index) => [`x-header-${index}`, 'value']).flat();
  const request = { method: 'POST', rawHeaders: [...headers, 'User-Agent', 'PostmanRuntime/7'] };
  const count = (times: number): void => {
    for (let index = 0; index < times; index++) countRefusal(counts, code, { request, target }, table);
  };
  count(20_000);
  expect(cpuMs(() => count(100_000), 200)).toBeLessThan(200);
});

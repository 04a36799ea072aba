import { describe, expect, it } from 'vitest';
import { checkRequest } from './request-guards.ts';

const request = (method: string, headers: Record<string, string>) => checkRequest({ method, headers }, 'local')?.status;

describe('a request in local mode', () => {
  it.each([
    ['localhost:3000', undefined],
    ['127.0.0.1:3000', undefined],
    ['[::1]:3000', undefined],
    ['LOCALHOST:3000', undefined],
    ['rebound.example:3000', 421],
    ['localhost.example.com', 421],
    ['127.0.0.1.nip.io', 421],
    ['', 421],
    ['evil.example/@localhost', 421],
    ['evil.example#localhost', 421],
  ])('for the host "%s" gets %s', (host, status) => {
    expect(request('GET', { host })).toBe(status);
  });

  it('is refused without a host', () => {
    expect(request('GET', {})).toBe(421);
  });

  it.each([
    ['http://localhost:3000', undefined],
    ['http://localhost:8080', 403],
    ['http://localhost', 403],
    ['http://127.0.0.1:3000', 403],
    ['https://evil.example', 403],
    ['null', 403],
    ['', 403],
  ])('that makes a change from the origin "%s" gets %s', (origin, status) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect(request(method, { host: 'localhost:3000', origin })).toBe(status);
  });

  it('that makes a change without an origin is refused', () => {
    expect(request('POST', { host: 'localhost:3000' })).toBe(403);
  });
});

it('a request in a cluster may have any host, but must have the same origin to make a change', () => {
  const headers = { host: 'standin.example.com' };
  expect(checkRequest({ method: 'GET', headers }, 'cluster')).toBeUndefined();
  const origin = 'https://standin.example.com';
  expect(checkRequest({ method: 'POST', headers: { ...headers, origin } }, 'cluster')).toBeUndefined();
  expect(checkRequest({ method: 'POST', headers }, 'cluster')?.status).toBe(403);
});

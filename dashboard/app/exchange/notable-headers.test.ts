import { expect, it } from 'vitest';
import { notableHeaders } from './notable-headers.ts';

it('omits what almost every message has, and keeps order, case and repetitions', () => {
  const headers = [
    ['Host', 'a'],
    ['X-Trace', 'one'],
    ['accept', '*/*'],
    ['x-trace', 'two'],
    ['Content-Type', 'application/json'],
    ['Sec-Fetch-Mode', 'cors'],
    ['X-API-Key', 'fingerprint'],
    ['User-Agent', 'curl/8'],
  ] as const;
  expect(notableHeaders(headers).map(([name]) => name)).toEqual(['X-Trace', 'x-trace', 'Content-Type', 'User-Agent']);
});

it('returns at most eight headers', () => {
  const headers = Array.from({ length: 80 }, (_, index) => [`x-header-${index}`, ''] as const);
  expect(notableHeaders(headers)).toEqual(headers.slice(0, 8));
});

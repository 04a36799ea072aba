import fc from 'fast-check';
import type { HeaderPair } from '@standin/contract';
import { expect, test } from 'vitest';
import type { RequestHead } from '../request/request-head.ts';
import { frameResponse, passableTrailers, upstreamHeaders } from './upstream-headers.ts';

const name = fc.constantFrom(
  ...['x-a', 'X-A', 'x-b', 'server-timing', 'Standin-Rejected', 'standin-rejected', 'Connection', 'Keep-Alive'],
  ...['Transfer-Encoding', 'Trailer', 'TE', 'Upgrade', 'Content-Length', 'Proxy-Authenticate', 'proxy-connection'],
);
const lines = fc.array(fc.tuple(name, fc.constantFrom('1', 'x-a', 'close, X-B'))) as fc.Arbitrary<HeaderPair[]>;
const LENGTH = /^content-length$/i;

test('trailers lose exactly the fields that the head would lose', () => {
  fc.assert(
    fc.property(lines, lines, (headers, trailers) => {
      const connection = headers.filter(([header]) => /^connection$/i.test(header));
      // The same fields in the head, without Content-Length, which the gateway would replace with its own.
      const head = [...connection, ...trailers.filter(([trailer]) => !LENGTH.test(trailer))];
      const asHead = frameResponse(200, head, 'now')?.headers.filter(([header]) => header !== 'date');
      expect(passableTrailers(trailers, headers)).toEqual(asHead);
    }),
  );
});

test('the upstream receives neither the key nor the headers with secrets', () => {
  const headers: HeaderPair[] = [
    ['x-api-key', 'sha256:01234567'],
    ['X-Gitlab-Token', 'sha256:89abcdef'],
    ['X-Gitlab-Event', 'Push Hook'],
  ];
  const head = { headers, keyIndex: 0, host: 'gateway' } as unknown as RequestHead;
  const names = upstreamHeaders(head, '10.0.0.1', { secretHeaders: ['x-gitlab-token'], prefix: '/p' }).map(
    ([header]) => header,
  );
  expect(names).toEqual([
    'X-Gitlab-Event',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-forwarded-prefix',
  ]);
});

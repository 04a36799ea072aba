import { expect, test } from 'vitest';
import type { HeaderPair } from '@standin/contract';
import { areValidLines, decodeLines, requestHeaders, stripHopByHop } from './headers.ts';

test('hop-by-hop headers are removed, including those that Connection names, and the others keep their order, case and duplicates', () => {
  const headers: HeaderPair[] = [
    ['X-A', '1'],
    ['Connection', 'close, X-Secret'],
    ['connection', ' x-other ,'],
    ['Keep-Alive', 'timeout=5'],
    ['Proxy-Authorization', 'Basic x'],
    ['Proxy-Connection', 'keep-alive'],
    ['TE', 'trailers'],
    ['Trailer', 'x-sum'],
    ['Transfer-Encoding', 'chunked'],
    ['Upgrade', 'h2c'],
    ['x-secret', 's'],
    ['X-Other', 'o'],
    ['Set-Cookie', 'a=1'],
    ['set-cookie', 'b=2'],
    ['Proxy-Status', 'cdn; hit'],
    ['x-a', '2'],
  ];
  expect(stripHopByHop(headers)).toEqual([
    ['X-A', '1'],
    ['Set-Cookie', 'a=1'],
    ['set-cookie', 'b=2'],
    ['Proxy-Status', 'cdn; hit'],
    ['x-a', '2'],
  ]);
});

test('a request omits the headers that undici writes or rejects', () => {
  const headers: HeaderPair[] = [
    ['Host', 'gateway'],
    ['Content-Length', '3'],
    ['Expect', '100-continue'],
    ['Authorization', 'Bearer x'],
  ];
  expect(requestHeaders(headers)).toEqual(['Authorization', 'Bearer x']);
});

test('lines are latin1 in wire order', () => {
  const lines = [Buffer.from('X-A'), Buffer.from([0xe9]), Buffer.from('x-a'), Buffer.from('')];
  expect(decodeLines(lines)).toEqual([
    ['X-A', 'é'],
    ['x-a', ''],
  ]);
});

test.each([
  ['x-a', 'b', true],
  ['x-a', 'caf\u00e9\t', true],
  ['x-a', 'b\r\nc: d', false],
  ['x-a', 'b\u0000', false],
  ['x-a', '\u007f', false],
  ['x a', 'b', false],
  ['', 'b', false],
])('%j: %j can be forwarded: %s', (name, value, expected) => {
  expect(areValidLines([[name, value]])).toBe(expected);
});

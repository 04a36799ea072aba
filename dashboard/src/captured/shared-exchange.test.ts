import { testEntry } from '@standin/exchange/entry-testing';
import { expect, it } from 'vitest';
import { sharedExchange } from './shared-exchange.ts';

const NONE = { headers: [], query: [], jsonPaths: [] };

it.each([
  ['text', 'aü€', 'utf8', 6],
  ['binary', Buffer.alloc(1_000, 0xff).toString('base64'), 'base64', 1_000],
  ['nothing', '', 'utf8', 0],
] as const)('the size of a request is its captured bytes: %s', (_, body, bodyEncoding, bytes) => {
  const entry = testEntry({ body });
  const { request } = sharedExchange({ ...entry, request: { ...entry.request, bodyEncoding } }, NONE);
  expect(request.bytes).toBe(bytes);
});

it('the sizes are those before redaction, formatting and truncation', () => {
  const entry = testEntry({ body: '{"cookie":"a-long-value"}', responseBody: '{"a":', truncated: true });
  const { request, response } = sharedExchange(
    { ...entry, response: { ...entry.response, bodyBytes: 20_000_000 } },
    NONE,
  );
  expect([request.body, request.bytes]).toEqual(['{\n  "cookie": "[redacted]"\n}', 25]);
  expect([response.bytes, response.state.isCut]).toEqual([20_000_000, true]);
});

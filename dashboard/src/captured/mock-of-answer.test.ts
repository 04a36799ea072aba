import { LIMITS } from '@standin/contract';
import type { HeaderPair } from '@standin/contract';
import { parseObject } from '@standin/crds';
import type { LogEntry } from '@standin/exchange';
import fc from 'fast-check';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { mockOfAnswer } from './mock-of-answer.ts';

interface Answer {
  readonly status?: number;
  readonly headers?: readonly HeaderPair[];
  readonly body?: string | Buffer;
  readonly truncated?: boolean;
  readonly outcome?: LogEntry['outcome'];
}

const JSON_TYPE: HeaderPair = ['content-type', 'application/json'];

const entry = ({ status = 200, headers = [JSON_TYPE], body = '{}', truncated = false, outcome }: Answer): LogEntry => {
  const isText = typeof body === 'string';
  return {
    ...({} as LogEntry),
    ...{ outcome: outcome ?? 'forwarded', status, upstreamError: '' },
    response: {
      ...{ status, headers, truncated, trailers: [] },
      body: isText ? body : body.toString('base64'),
      bodyEncoding: isText ? 'utf8' : 'base64',
      bodyBytes: body.length,
    },
  };
};
const made = (answer: Answer) => {
  const result = mockOfAnswer(entry(answer));
  if (!result.ok) throw new Error(result.reason);
  return result;
};
const reason = (answer: Answer): string => {
  const result = mockOfAnswer(entry(answer));
  return result.ok ? 'it can' : result.reason;
};

describe('a mock made from a response', () => {
  it('keeps the status, the body and the headers, except those that the gateway writes', () => {
    const body = '{"id": 12345678901234567890, "total": 1.0}\r\n';
    const headers: HeaderPair[] = [
      ['Date', 'Sat, 21 Nov 2026 09:00:00 GMT'],
      ['Content-Type', 'application/json'],
      ['Set-Cookie', 'a=1'],
      ['Set-Cookie', 'b=2'],
      ['Connection', 'keep-alive, X-Hop'],
      ['X-Hop', '1'],
      ['Content-Length', '44'],
      ['Transfer-Encoding', 'chunked'],
    ];
    const { mock, dropped, decoded } = made({ status: 201, headers, body });
    expect(mock).toEqual({
      status: 201,
      headers: [
        { name: 'Content-Type', value: 'application/json' },
        { name: 'Set-Cookie', value: 'a=1' },
        { name: 'Set-Cookie', value: 'b=2' },
      ],
      body,
    });
    expect(dropped).toEqual(['date', 'connection', 'x-hop', 'content-length', 'transfer-encoding']);
    expect(decoded).toEqual([]);
  });

  it.each([
    ['gzip', gzipSync('{"a":1}')],
    ['br', brotliCompressSync('{"a":1}')],
  ])('contains the body decompressed from %s, and reports it', (coding, body) => {
    const { mock, decoded } = made({ headers: [JSON_TYPE, ['content-encoding', coding]], body });
    expect(mock.body).toBe('{"a":1}');
    expect(mock.headers).toEqual([{ name: 'content-type', value: 'application/json' }]);
    expect(decoded).toEqual([coding]);
  });

  it('can be made from a fallback', () => {
    expect(made({ outcome: 'fallback', body: '{"stale":true}' }).mock.body).toBe('{"stale":true}');
  });

  it('has no body if the response has none', () => {
    expect(made({ status: 204, headers: [], body: '' }).mock).toEqual({ status: 204 });
  });

  it.each<[string, Answer]>([
    ['No response to this request was recorded', { status: 0, outcome: 'response_unknown', body: '' }],
    ['a template could not be rendered', { status: 500, outcome: 'template_failed' }],
    ['The upstream did not return a complete response', { status: 504, outcome: 'upstream_timeout' }],
    ['content type is text/html', { headers: [['content-type', 'text/html']], body: '<p>' }],
    ['content type is missing', { headers: [], body: '{"a":1,}' }],
    ['a JSON document', { body: Buffer.from([0xff]) }],
    ['only part of this response is stored', { body: '{', truncated: true }],
    [
      'must not exceed 200 kB, but the body of this response is larger',
      { body: `"${'x'.repeat(LIMITS.mockBodyBytesMax)}"` },
    ],
    [
      'cannot be decompressed',
      { headers: [['content-encoding', 'gzip']], body: gzipSync(`"${'x'.repeat(10_000_000)}"`) },
    ],
    ['cannot be decompressed', { headers: [['content-encoding', 'own']], body: 'x' }],
    ['This response has no body', { body: '' }],
    ['this response has 101', { status: 101, body: '' }],
  ])('is refused with the reason: %s', (expected, answer) => {
    expect(reason(answer)).toContain(expected);
  });

  it('is valid for any upstream response', () => {
    const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/);
    const value = fc.stringMatching(/^([!-~\x80-\xff]([ -~\x80-\xff]*[!-~\x80-\xff])?)?$/);
    const name = fc.oneof(token, fc.constantFrom('Content-Type', 'content-type', 'TE', 'Trailer', 'Standin-Rejected'));
    const headers = fc.array(fc.tuple(name, value), { maxLength: 80 });
    fc.assert(
      fc.property(headers, fc.jsonValue(), fc.integer({ min: 200, max: 599 }), (pairs, body, status) => {
        const kept = pairs.filter(([header]) => header.toLowerCase() !== 'content-encoding');
        const result = mockOfAnswer(entry({ status, headers: kept, body: JSON.stringify(body) }));
        if (!result.ok) return;
        const parsed = parseObject({
          ...{ apiVersion: 'standin.dev/v1alpha1', kind: 'Endpoint', metadata: { name: 'a', namespace: 'b' } },
          spec: {
            ...{ projectRef: { name: 'p' }, displayName: 'a', slug: '/a', method: 'GET', action: 'JSON' },
            json: result.mock,
          },
        });
        expect(parsed.ok ? [] : parsed.problems).toEqual([]);
      }),
    );
  });
});

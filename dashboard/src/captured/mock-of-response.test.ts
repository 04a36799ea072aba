import { LIMITS } from '@standin/contract';
import type { HeaderPair } from '@standin/contract';
import { parseObject } from '@standin/crds';
import type { LogEntry } from '@standin/exchange';
import fc from 'fast-check';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { mockOfResponse, type MockPlace } from './mock-of-response.ts';

interface Answer {
  readonly status?: number;
  readonly headers?: readonly HeaderPair[];
  readonly body?: string | Buffer;
  readonly truncated?: boolean;
  readonly outcome?: LogEntry['outcome'];
  readonly method?: LogEntry['method'];
}

const JSON_TYPE: HeaderPair = ['content-type', 'application/json'];
const PNG: HeaderPair = ['content-type', 'image/png'];

const entry = (answer: Answer): LogEntry => {
  const { status = 200, headers = [JSON_TYPE], body = '{}', truncated = false, outcome, method = 'POST' } = answer;
  const isText = typeof body === 'string';
  return {
    ...({} as LogEntry),
    method,
    outcome: outcome ?? 'forwarded',
    status,
    upstreamError: '',
    response: {
      status,
      headers,
      truncated,
      trailers: [],
      body: isText ? body : body.toString('base64'),
      bodyEncoding: isText ? 'utf8' : 'base64',
      bodyBytes: body.length,
    },
  };
};
const made = (answer: Answer, place: MockPlace = 'json') => {
  const result = mockOfResponse(entry(answer), place);
  if (!result.ok) throw new Error(result.reason);
  return result;
};
const reason = (answer: Answer, place: MockPlace = 'json'): string => {
  const result = mockOfResponse(entry(answer), place);
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
    const compressed = { status: 201, headers: [['content-encoding', 'gzip']] as const, body: '' };
    expect(made(compressed).mock).toEqual({ status: 201, body: '' });
  });

  it.each<[string, Answer]>([
    ['This request is in progress', { status: 0, outcome: 'in_progress', body: '' }],
    ['No response to this request was recorded', { status: 0, outcome: 'response_unknown', body: '' }],
    ['The caller disconnected before the response was complete', { status: 0, outcome: 'caller_gone', body: '' }],
    ['a template could not be rendered', { status: 500, outcome: 'template_failed' }],
    ['because it took too long', { status: 200, outcome: 'exchange_timeout' }],
    ['The upstream did not return a complete response', { status: 504, outcome: 'upstream_timeout' }],
    ['not a JSON document, but its content type is application/json', { body: '{"a":1,}' }],
    ['not a JSON document', { headers: [['content-type', 'application/problem+json']], body: Buffer.from([0xff]) }],
    ['Add a response instead. The content type is image/png', { headers: [PNG], body: Buffer.from([0xff]) }],
    ['The content type is missing', { headers: [], body: Buffer.from([0xff]) }],
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
    ['A response to HEAD has no body', { method: 'HEAD', body: '' }],
    ['this response has 101', { status: 101, body: '' }],
  ])('is refused with the reason: %s', (expected, answer) => {
    expect(reason(answer)).toContain(expected);
  });

  it('can have no body', () => {
    expect(made({ status: 202, body: '' }).mock).toMatchObject({ status: 202, body: '' });
  });

  it('can be any text if the content type is not JSON', () => {
    const html: HeaderPair = ['Content-Type', 'text/html'];
    expect(made({ headers: [html], body: '<p>' })).toMatchObject({ mock: { body: '<p>' }, addedType: undefined });
    const untyped = made({ headers: [['x-a', 'b']], body: '<p>' });
    expect(untyped.addedType).toBe('text/plain; charset=utf-8');
    expect(untyped.mock.headers).toEqual([
      { name: 'content-type', value: 'text/plain; charset=utf-8' },
      { name: 'x-a', value: 'b' },
    ]);
    // The gateway adds application/json.
    expect(made({ headers: [], body: '[1]' }).mock).toEqual({ status: 200, body: '[1]' });
  });

  it('can be binary or empty as a response with conditions', () => {
    const bytes = Buffer.from([0x89, 0x50, 0xff, 0x00]);
    expect(made({ headers: [PNG], body: bytes }, 'response').mock).toEqual({
      status: 200,
      headers: [{ name: 'content-type', value: 'image/png' }],
      bodyBase64: bytes.toString('base64'),
    });
    expect(made({ headers: [], body: bytes }, 'response').addedType).toBe('application/octet-stream');
    expect(made({ body: '' }, 'response').mock).toMatchObject({ status: 200, body: '' });
    expect(made({ status: 204, headers: [], body: '' }, 'response').mock).toEqual({ status: 204 });
    expect(reason({ body: bytes }, 'response')).toContain('not a JSON document');
  });

  it('keeps the content type if there are more headers than a response can have', () => {
    const many = Array.from({ length: 80 }, (_, index): HeaderPair => [`x-${index}`, '1']);
    const { mock } = made({ headers: [...many, PNG], body: 'x' }, 'response');
    expect(mock.headers).toHaveLength(LIMITS.responseHeadersMax);
    expect(mock.headers?.at(-1)).toEqual({ name: 'content-type', value: 'image/png' });
    const untyped = made({ headers: many, body: 'x' }, 'response').mock.headers;
    expect(untyped).toHaveLength(LIMITS.responseHeadersMax);
    expect(untyped?.[0]?.name).toBe('content-type');
  });

  it.each<MockPlace>(['json', 'response'])('is valid for any upstream response (%s)', (place) => {
    const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/);
    const value = fc.stringMatching(/^([!-~\x80-\xff]([ -~\x80-\xff]*[!-~\x80-\xff])?)?$/);
    const name = fc.oneof(token, fc.constantFrom('Content-Type', 'content-type', 'TE', 'Trailer', 'Standin-Rejected'));
    const headers = fc.array(fc.tuple(name, value), { maxLength: 80 });
    const body = fc.oneof(
      fc.jsonValue().map((json) => JSON.stringify(json)),
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(headers, body, fc.integer({ min: 200, max: 599 }), (pairs, content, status) => {
        const kept = pairs.filter(([header]) => header.toLowerCase() !== 'content-encoding');
        const result = mockOfResponse(entry({ status, headers: kept, body: content }), place);
        if (!result.ok) return;
        const { mock } = result;
        const parsed = parseObject({
          apiVersion: 'standin.dev/v1alpha1',
          kind: 'Endpoint',
          metadata: { name: 'a', namespace: 'b' },
          spec: {
            projectRef: { name: 'p' },
            displayName: 'a',
            slug: '/a',
            method: 'GET',
            action: 'JSON',
            ...(place === 'json' ? { json: mock } : { json: { body: '{}' }, responses: [{ name: 'a', ...mock }] }),
          },
        });
        expect(parsed.ok ? [] : parsed.problems).toEqual([]);
      }),
    );
  });
});

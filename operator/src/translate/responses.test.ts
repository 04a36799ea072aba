import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { LIMITS } from '@standin/contract';
import { cpuMs } from '@standin/contract/testing';
import { describe, expect, it } from 'vitest';
import { responseProblems } from './responses.ts';
import { absentHeader } from './templates.ts';

const MAX = LIMITS.responseBodiesBytesMax;
const binary = (bytes: number) => ({
  name: `binary-${bytes}`,
  headers: [{ name: 'content-type', value: 'application/octet-stream' }],
  bodyBase64: Buffer.alloc(bytes).toString('base64'),
});
const text = (bytes: number) => ({
  name: `text-${bytes}`,
  headers: [{ name: 'content-type', value: 'text/plain' }],
  // A character of two bytes.
  body: 'ü'.repeat(bytes / 2),
});
const problems = (spec: object) => responseProblems({ slug: '/a', ...spec }, []);

describe('the limit of all bodies together', () => {
  it.each([
    ['bytes in base64', (extra: number) => ({ responses: [binary(MAX + extra)] })],
    ['bytes in UTF-8', (extra: number) => ({ responses: [text(MAX + 2 * extra)] })],
    ['several responses', (extra: number) => ({ responses: [text(100_000), binary(MAX - 100_000 + extra)] })],
    [
      'spec.json.body',
      (extra: number) => ({ json: { body: 'ü'.repeat(50_000) }, responses: [binary(100_000 + extra)] }),
    ],
  ])('counts %s', (_, spec) => {
    expect(problems(spec(0))).toEqual([]);
    expect(problems(spec(1))).toMatchObject([{ path: 'spec.responses' }]);
  });

  it('names the number of bytes', () => {
    expect(problems({ responses: [binary(MAX + 1)] })).toEqual([
      {
        path: 'spec.responses',
        message: `must have bodies of no more than ${MAX} bytes together with spec.json.body, not ${MAX + 1}`,
      },
    ]);
  });

  it('does not apply to spec.json.body alone, which has its own limit', () => {
    expect(problems({ json: { body: 'x'.repeat(MAX + 1) } })).toEqual([]);
  });
});

it('an empty value is possible only for the rest of a path', () => {
  const responses = [{ name: 'x', body: '{}', when: { pathParams: [{ name: 'id', value: '' }] } }];
  const found = (slug: string) => responseProblems({ slug, responses }, ['id']);
  expect(found('/a/{id...}')).toEqual([]);
  expect(found('/a/{id}')).toMatchObject([{ path: 'spec.responses[0].when.pathParams[0].value' }]);
});

describe('compressed content in base64', () => {
  const response = (coding: string, bytes: Uint8Array, type = 'application/json') => ({
    responses: [
      {
        name: 'compressed',
        headers: [
          { name: 'Content-Type', value: type },
          { name: 'Content-Encoding', value: coding },
        ],
        bodyBase64: Buffer.from(bytes).toString('base64'),
      },
    ],
  });
  const json = Buffer.from('{"id": 1}');

  it.each<[string, object]>([
    ['gzip', response('gzip', gzipSync(json))],
    ['deflate', response('deflate', deflateSync(json))],
    ['deflate without a header', response('deflate', deflateRawSync(json))],
    ['br after gzip', response('gzip, br', brotliCompressSync(gzipSync(json)))],
    ['zstd', response('zstd', zstdCompressSync(json))],
    ['an unknown coding', response('x-own', Buffer.from([0xff]))],
    // It is sent as it is, and would take long to decode.
    ['a bomb', response('gzip', gzipSync(Buffer.alloc(20 * 1024 * 1024)))],
    ['content that is not JSON', response('gzip', Buffer.from('{'), 'text/plain')],
  ])('is accepted: %s', (_, spec) => {
    expect(problems(spec)).toEqual([]);
  });

  it.each<[string, object, string]>([
    [
      'other bytes',
      response('gzip', json),
      'is not gzip, which content-encoding in headers names: compress it, or remove the header',
    ],
    ['a part', response('br', brotliCompressSync(json).subarray(0, 8)), 'is not br, which'],
    ['text that is not JSON', response('gzip', gzipSync('{')), 'is not a JSON document: '],
    [
      'bytes that are not text',
      response('zstd', zstdCompressSync(Buffer.from([0xff]))),
      'is not UTF-8, which JSON must be',
    ],
  ])('is refused: %s', (_, spec, message) => {
    expect(problems(spec)).toEqual([
      { path: 'spec.responses[0].bodyBase64', message: expect.stringContaining(message) as string },
    ]);
  });

  const several = (contents: readonly string[]) => ({
    responses: contents.flatMap((content) => response('br', brotliCompressSync(content)).responses),
  });
  const manyTimes = ({ responses }: ReturnType<typeof response>) => ({
    responses: Array.from({ length: LIMITS.responsesMax }, () => responses).flat(),
  });

  it('is checked up to the limit of all bodies together', () => {
    const [half, wrong] = [`"${'x'.repeat(MAX / 2 - 2)}"`, 'x'];
    expect(problems(several([half, half, wrong]))).toEqual([]);
    expect(problems(several([half, half.slice(1), wrong]))).toMatchObject([
      { path: 'spec.responses[1].bodyBase64' },
      { path: 'spec.responses[2].bodyBase64' },
    ]);
    // What is too large to check leaves the limit to the others.
    expect(problems(several([`${half}${half} `, wrong]))).toMatchObject([{ path: 'spec.responses[1].bodyBase64' }]);
    const plain = { ...response('identity', Buffer.from(wrong)).responses[0] };
    expect(problems({ responses: [...several([half, half]).responses, plain] })).toMatchObject([
      { path: 'spec.responses[2].bodyBase64' },
    ]);
  });

  it.each([
    ['1 MiB', 1024 * 1024],
    ['the limit', MAX],
    ['the equal share of each', MAX / LIMITS.responsesMax],
  ])('takes a bounded time for responses that each decode to %s', (_, bytes) => {
    const content = `[${'{},'.repeat(bytes / 3)}`.slice(0, bytes - 1) + 'x';
    const spec = manyTimes(several([content]));
    expect(JSON.stringify(spec).length).toBeLessThan(10_000);
    expect(cpuMs(() => problems(spec), 100)).toBeLessThan(100);
  });

  it.each([
    ['codings', gzipSync(gzipSync(Buffer.alloc(MAX)))],
    ['a code that ends too early', gzipSync(gzipSync(Buffer.alloc(MAX))).subarray(0, -1)],
    ['bombs', gzipSync(gzipSync(Buffer.alloc(20 * 1024 * 1024)))],
  ])('takes a bounded time for %s', (_, bytes) => {
    const spec = manyTimes(response('gzip, gzip', bytes));
    expect(cpuMs(() => problems(spec), 100)).toBeLessThan(100);
  });
});

describe('a header name with capitals in an expression', () => {
  const response = (cel: string) => ({ name: 'a', when: { cel }, body: '{}' });

  it.each([
    [`request.headers['X-Plan'] == 'gold'`, 'X-Plan'],
    [`request.headersAll["X-Plan"][0] == 'gold'`, 'X-Plan'],
    [`has(request.headers.Plan)`, 'Plan'],
    [`default(request.headers['Accept'], '') == 'a'`, 'Accept'],
    [`'X-Plan' in request.headers`, 'X-Plan'],
  ])('is pointed out: %s', (cel, name) => {
    expect(absentHeader('spec.responses[0]', response(cel))).toEqual({
      path: 'spec.responses[0].when.cel',
      message: `reads the header ${name}, which is always absent, because header names in expressions are in lower case: write ${name.toLowerCase()}`,
    });
  });

  it.each([
    `request.headers['x-plan'] == 'Gold'`,
    `request.query['X-Plan'] == 'a'`,
    `request.headers.exists(name, name == 'X')`,
    `request.headers.plan == 'X' && 'X' in request.query`,
  ])('is not found in %s', (cel) => {
    expect(absentHeader('spec.json', response(cel))).toBeUndefined();
  });

  it('is pointed out in templates', () => {
    const text = "${request.headers['X-Plan']}";
    expect(absentHeader('spec.json', { body: `"${text}"`, template: 'CEL' })).toMatchObject({ path: 'spec.json.body' });
    expect(absentHeader('spec.json', { headers: [{ name: 'a', value: text }], template: 'CEL' })).toMatchObject({
      path: 'spec.json.headers[0].value',
    });
    expect(absentHeader('spec.json', { body: text })).toBeUndefined();
  });
});

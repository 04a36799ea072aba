import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ComparedResponse, type BodyDiff, isSameResponse } from './response-diff.ts';
import { COMPARED_BYTES_MAX, diffResponses } from './diff-responses.ts';
import { diffHeaders } from './diff-headers.ts';
import { diffJson } from './diff-json.ts';
import { diffLines } from './diff-lines.ts';

const answer = (body: string | Uint8Array, more: Partial<ComparedResponse> = {}): ComparedResponse => {
  const bytes = Buffer.from(body as string);
  return { status: 200, durationMs: 12, headers: [], body: bytes, truncated: false, bodyBytes: bytes.length, ...more };
};
const bodyDiff = (before: ComparedResponse, after: ComparedResponse): BodyDiff => diffResponses(before, after).body;

describe('a JSON diff', () => {
  const changes = (before: string, after: string) =>
    diffJson(before, after)?.changes.map(({ path, before: was, after: is }) => `${path}: ${was ?? '–'} → ${is ?? '–'}`);

  it.each([
    ['{"a":1,"b":2}', '{"b":2, "a":1}', []],
    ['"\\u00e9"', '"é"', []],
    [
      '{"id":12345678901234567890}',
      '{"id":12345678901234567891}',
      ['$.id: 12345678901234567890 → 12345678901234567891'],
    ],
    ['{"a":[1.0,0.5,-0,10,1e3,0.00,1E-2]}', '{"a":[1,5e-1,0,1.0e+1,1000,0e7,0.010]}', []],
    ['1.0', '10', ['$: 1.0 → 10']],
    ['1e999999999999999999999', '1e999999999999999999998', ['$: 1e999999999999999999999 → 1e999999999999999999998']],
    ['0.10000000000000000000001', '0.1', ['$: 0.10000000000000000000001 → 0.1']],
    ['{"a":{"b":[1,2]}}', '{"a":{"b":[1,3]}}', ['$.a.b[1]: 2 → 3']],
    ['[1,2,3,4]', '[1,9,2,3,4]', ['$[1]: – → 9']],
    ['[{"id":1},{"id":2},{"id":3}]', '[{"id":1},{"id":3}]', ['$[1]: {"id":2} → –']],
    ['{"a":null}', '{}', ['$.a: null → –']],
    ['{}', '{"a b":[]}', ['$["a b"]: – → []']],
    ['{"a":1,"a":2}', '{"a":1,"a":3}', ['$.a (2): 2 → 3']],
    ['{"__proto__":1}', '{"__proto__":2}', ['$.__proto__: 1 → 2']],
    ['{"a":1}', '[1]', ['$: {"a":1} → [1]']],
    ['{"a":"1"}', '{"a":1}', ['$.a: "1" → 1']],
  ])('of %s and %s contains %j', (before, after, expected) => {
    expect(changes(before, after)).toEqual(expected);
  });

  it('does not exist for JSON that is invalid or nested too deeply', () => {
    expect(diffJson('{"a":1}', '{"a":1,}')).toBeUndefined();
    expect(diffJson('// no\n1', '1')).toBeUndefined();
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(diffJson(deep, '1')).toBeUndefined();
  });

  it('counts the differences that it does not list', () => {
    const many = (value: number): string => JSON.stringify(Array.from({ length: 2_000 }, () => value));
    const diff = diffJson(many(1), many(2));
    expect(diff?.total).toBe(2_000);
    expect(diff?.changes).toHaveLength(500);
  });

  it('is empty if and only if the values are equal', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const [before, after] = [JSON.stringify(a), JSON.stringify(b)];
        expect(diffJson(before, JSON.stringify(a, null, 3))?.total).toBe(0);
        expect(diffJson(before, after)?.total === 0).toBe(sorted(a) === sorted(b));
      }),
    );
  });
  const sorted = (value: unknown): string =>
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    );
});

describe('headers', () => {
  it('are compared by name and values, regardless of case and of the order of different names', () => {
    expect(
      diffHeaders(
        [
          ['X-A', '1'],
          ['b', '2'],
        ],
        [
          ['B', '2'],
          ['x-a', '1'],
        ],
      ),
    ).toEqual([]);
    expect(
      diffHeaders(
        [['set-cookie', 'a']],
        [
          ['Set-Cookie', 'a'],
          ['Set-Cookie', 'a'],
        ],
      ),
    ).toEqual([{ name: 'Set-Cookie', before: ['a'], after: ['a', 'a'], isPassing: false }]);
    const hops = (...values: string[]) => values.map((value) => ['via', value] as const);
    expect(diffHeaders(hops('1.1 a', '1.1 b'), hops('1.1 b', '1.1 a'))).toEqual([
      { name: 'via', before: ['1.1 a', '1.1 b'], after: ['1.1 b', '1.1 a'], isPassing: false },
    ]);
  });

  it('that change with every response do not make responses different', () => {
    const diff = diffResponses(
      answer('{}', { headers: [['date', 'then']] }),
      answer('{}', { headers: [['date', 'now']] }),
    );
    expect(diff.headers).toEqual([{ name: 'date', before: ['then'], after: ['now'], isPassing: true }]);
    expect(isSameResponse(diff)).toBe(true);
    expect(isSameResponse(diffResponses(answer('{}'), answer('{}', { status: 201 })))).toBe(false);
  });
});

describe('text', () => {
  it('is compared line by line, with the lines around each change', () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index}`);
    const after = before.with(10, 'other');
    expect(diffLines(before.join('\n'), after.join('\n'))).toEqual({
      total: 2,
      lines: [
        { kind: 'skipped', count: 7 },
        ...[7, 8, 9].map((n) => ({ kind: 'same', before: n + 1, after: n + 1, text: `line ${n}` })),
        { kind: 'removed', before: 11, text: 'line 10' },
        { kind: 'added', after: 11, text: 'other' },
        ...[11, 12, 13].map((n) => ({ kind: 'same', before: n + 1, after: n + 1, text: `line ${n}` })),
        { kind: 'skipped', count: 6 },
      ],
    });
  });

  it('differs if only its last line break differs', () => {
    expect(diffLines('a\n', 'a').total).toBe(1);
    expect(diffLines('\na\n', '\n\na\n').total).toBe(1);
    expect(diffLines('', 'a\nb').total).toBeGreaterThan(0);
  });

  it('is shown as replaced from the first to the last difference if there are too many', () => {
    const lines = (letter: string): string => Array.from({ length: 200_000 }, () => letter).join('\n');
    const diff = diffLines(`same\n${lines('a')}\nend`, `same\n${lines('b')}\nend`);
    expect(diff.total).toBe(400_000);
    expect(diff.lines).toHaveLength(400);
    expect(diff.lines.slice(0, 2)).toEqual([
      { kind: 'same', before: 1, after: 1, text: 'same' },
      { kind: 'removed', before: 2, text: 'a' },
    ]);
  });

  it('shows the difference between long lines, and between long values', () => {
    const long = (end: string): string => `${'😀'.repeat(5_000)}${end}${'x'.repeat(5_000)}`;
    const changed = diffLines(`a\n${long('1')}\n${long('3')}`, `a\n${long('2')}\n${long('4')}`).lines.slice(1);
    const { changes } = diffJson(JSON.stringify({ a: long('1') }), JSON.stringify({ a: long('2') })) ?? { changes: [] };
    const texts = [...changed.map((line) => ('text' in line ? line.text : '')), changes[0]?.before, changes[0]?.after];
    expect(texts.map((text = '') => /\d/.exec(text)?.[0])).toEqual(['1', '3', '2', '4', '1', '2']);
    for (const text of texts) expect([text?.isWellFormed(), (text?.length ?? 0) < 500]).toEqual([true, true]);
    const [added] = diffLines('a', `a\n${'x'.repeat(1_000)}`).lines.slice(-1);
    expect(added).toMatchObject({ kind: 'added', text: `${'x'.repeat(400)}…` });
  });

  it('can be restored from the unchanged, removed and added lines', () => {
    const text = fc.array(fc.constantFrom('', 'a', 'b', 'cc', '}'), { maxLength: 12 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { lines } = diffLines(before, after);
        fc.pre(lines.every(({ kind }) => kind !== 'skipped') && before !== after);
        const side = (other: 'added' | 'removed'): string =>
          lines.flatMap((line) => (line.kind === other || line.kind === 'skipped' ? [] : [line.text])).join('\n');
        expect([side('added'), side('removed')]).toEqual([before, after]);
      }),
    );
  });
});

describe('a body', () => {
  it('is the same if its bytes are the same, or if only its compression differs', () => {
    expect(bodyDiff(answer('{"a":1}'), answer('{"a":1}'))).toEqual({ kind: 'same', bytes: 7 });
    const packed = answer(gzipSync('{"a":1}'), { headers: [['Content-Encoding', 'gzip']] });
    expect(bodyDiff(packed, answer('{"a":1}'))).toEqual({ kind: 'same', bytes: 7 });
    expect(bodyDiff(packed, answer('{"a":2}'))).toMatchObject({ kind: 'json', total: 1 });
  });

  it.each([
    ['is not text', answer(Buffer.from([0xff, 0])), answer(Buffer.from([0xff, 1])), 'At least one body is not text.'],
    [
      'is not stored completely',
      answer('ab', { truncated: true, bodyBytes: 20 }),
      answer('ab'),
      'Only the beginning of at least one body is stored.',
    ],
    [
      'has a wrong content-encoding',
      answer('no gzip', { headers: [['content-encoding', 'gzip']] }),
      answer('{}'),
      'At least one body cannot be decompressed.',
    ],
    [
      'decompresses to more than the limit',
      answer(gzipSync(Buffer.alloc(COMPARED_BYTES_MAX + 1)), { headers: [['content-encoding', 'gzip']] }),
      answer('{}'),
      'At least one body cannot be decompressed.',
    ],
    [
      'is too large',
      answer('x'.repeat(COMPARED_BYTES_MAX + 1)),
      answer('y'),
      'At least one body is too large to compare in detail.',
    ],
  ])('is compared by size and digest if it %s', (_, before, after, why) => {
    const diff = bodyDiff(before, after);
    expect(diff).toMatchObject({ kind: 'bytes', why, before: { bytes: before.bodyBytes } });
    expect(diff.kind === 'bytes' && diff.before.sha256 === undefined).toBe(before.truncated);
  });
});

import { describe, expect, test } from 'vitest';
import { MockResponse } from './mock-response.ts';

const mock = (more: Partial<ConstructorParameters<typeof MockResponse>[0]> = {}) =>
  new MockResponse({ status: 200, headers: [], body: '{}', ...more });

describe('headers', () => {
  test('are those of the mock, followed by the missing ones', () => {
    expect(
      mock({
        headers: [
          ['X-A', '1'],
          ['x-a', '2'],
        ],
      }).headers('now'),
    ).toEqual([
      ['X-A', '1'],
      ['x-a', '2'],
      ['content-type', 'application/json'],
      ['content-length', '2'],
      ['date', 'now'],
    ]);
  });

  test('have a default type only with a body, and no second type or date', () => {
    expect(mock({ body: '' }).headers('now')).toEqual([
      ['content-length', '0'],
      ['date', 'now'],
    ]);
    expect(
      mock({
        headers: [
          ['CONTENT-TYPE', 'a/b'],
          ['Date', 'then'],
        ],
      }).headers('now'),
    ).toEqual([
      ['CONTENT-TYPE', 'a/b'],
      ['Date', 'then'],
      ['content-length', '2'],
    ]);
  });

  test('are cached for the same date', () => {
    const one = mock();
    expect(one.headers('a')).toBe(one.headers('a'));
    expect(one.headers('b').at(-1)).toEqual(['date', 'b']);
  });
});

describe('the body', () => {
  test.each([[204], [205], [304]])('is omitted from a %i', (status) => {
    expect([mock({ status }).bytes.length, mock({ status }).wire]).toEqual([0, '']);
  });

  test.each([
    ['ASCII', '{"a": 1.0}'],
    ['latin1', 'é'],
    ['emoji', '💡'],
    ['a lone surrogate', '\ud800'],
    ['large', 'x'.repeat(100_000)],
  ])('has the same bytes on the wire and in the log: %s', (_name, body) => {
    const { wire, bytes } = mock({ body });
    expect(typeof wire === 'string' ? Buffer.from(wire, 'latin1') : wire).toEqual(bytes);
    expect(bytes).toEqual(Buffer.from(body));
  });

  test('in base64 has the decoded bytes', () => {
    const image = mock({ body: 'iVBORw0KGgo=', bodyEncoding: 'base64', headers: [['content-type', 'image/png']] });
    expect([image.bytes, image.wire]).toEqual([Buffer.from('iVBORw0KGgo=', 'base64'), image.bytes]);
    expect(image.headers('now')).toEqual([
      ['content-type', 'image/png'],
      ['content-length', '8'],
      ['date', 'now'],
    ]);
    expect(mock({ body: 'e30=', bodyEncoding: 'base64', status: 204 }).wire).toBe('');
  });
});

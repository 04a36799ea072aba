import { describe, expect, it } from 'vitest';
import { bodyText, supportedViews, decodePair, splitPairs } from './body-views.ts';
import type { BodyView } from './exchange-view.ts';

const body = (contentType: string, content: string | Uint8Array, whole?: number): BodyView => {
  const bytes = Buffer.from(content);
  const isText = typeof content === 'string';
  return {
    contentType,
    body: bytes.toString(isText ? 'utf8' : 'base64'),
    bodyEncoding: isText ? 'utf8' : 'base64',
    bytes: whole ?? bytes.length,
    bytesCaptured: whole ?? bytes.length,
    bytesShown: bytes.length,
  };
};
const BINARY = Uint8Array.of(0xff, 0xfe, 0);

describe('body views', () => {
  it.each<[string, BodyView, readonly string[]]>([
    ['JSON', body('application/json; charset=utf-8', '{"a":1}'), ['pretty', 'raw', 'hex']],
    ['JSON with a suffix', body('application/problem+json', '[1]'), ['pretty', 'raw', 'hex']],
    [
      'JSON with the content type that curl -d sends',
      body('application/x-www-form-urlencoded', '{"a":1}'),
      ['pretty', 'raw', 'hex'],
    ],
    ['invalid JSON', body('application/json', '{a'), ['raw', 'hex']],
    ['truncated JSON', body('application/json', '{"a"', 9), ['pretty', 'raw', 'hex']],
    ['a form', body('application/x-www-form-urlencoded', 'a=1'), ['form', 'raw', 'hex']],
    ['a form with files', body('multipart/form-data; boundary=b', '--b--'), ['parts', 'raw', 'hex']],
    ['a form with binary files', body('multipart/form-data; boundary=b', BINARY), ['parts', 'hex']],
    ['an image', body('image/png', BINARY), ['image', 'hex']],
    ['SVG, which may contain scripts', body('image/svg+xml', '<svg/>'), ['raw', 'hex']],
    ['HTML', body('text/html', '<script></script>'), ['raw', 'hex']],
    ['text with control characters', body('text/plain', 'a\0b'), ['hex', 'raw']],
    ['bytes', body('', BINARY), ['hex']],
    ['nothing', body('application/json', ''), []],
    [
      'compressed JSON',
      { ...body('application/json', BINARY), decoded: { text: '{"a":1}', isCut: false } },
      ['pretty', 'raw', 'hex'],
    ],
    [
      'truncated JSON in another charset',
      { ...body('application/json', BINARY), bytes: 9, decoded: { text: '{"a"', isCut: false } },
      ['pretty', 'raw', 'hex'],
    ],
    [
      'the beginning of compressed JSON',
      { ...body('application/json', BINARY), decoded: { text: '{"a"', isCut: true } },
      ['pretty', 'raw', 'hex'],
    ],
    [
      'a compressed form with files',
      { ...body('multipart/form-data; boundary=b', BINARY), decoded: { text: '--b--', isCut: false } },
      ['raw', 'hex'],
    ],
  ])('match the content: %s', (_, view, views) => {
    expect(supportedViews(view)).toEqual(views);
  });

  it('show the decoded text', () => {
    const text = '{"name":"Zoë"}';
    expect(bodyText({ ...body('text/plain; charset=utf-16', BINARY), decoded: { text, isCut: false } })).toBe(text);
  });

  it('use the declared charset if the body is not UTF-8', () => {
    expect(bodyText(body('text/plain; charset="ISO-8859-1"', Uint8Array.of(0x63, 0xe9)))).toBe('cé');
    expect(bodyText(body('text/plain; charset=made-up', BINARY))).toBeUndefined();
  });
});

describe('form pairs', () => {
  it('keep their order, duplicates and invalid escapes', () => {
    expect(splitPairs('a=1&b=x+y%20z&&a=&c&d=%FF%zz&=e&f=1=2').map(decodePair)).toEqual([
      ['a', '1'],
      ['b', 'x y z'],
      ['a', ''],
      ['c', ''],
      ['d', '%FF%zz'],
      ['', 'e'],
      ['f', '1=2'],
    ]);
  });
});

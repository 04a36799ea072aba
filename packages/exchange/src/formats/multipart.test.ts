import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { multipartBoundary, parseMultipart } from './multipart.ts';

describe('multipartBoundary', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Mixed; charset=x; Boundary="a b;c"', 'a b;c'],
    ['multipart/form-data', undefined],
    ['text/plain; boundary=abc', undefined],
    [`multipart/form-data; boundary=${'a'.repeat(201)}`, undefined],
  ])('reads the boundary of %s', (contentType, expected) => {
    expect(multipartBoundary(contentType)).toBe(expected);
  });
});

const contents = (body: string, boundary = 'b'): string[] =>
  parseMultipart(body, boundary).map(({ start, end }) => body.slice(start, end));

describe('parseMultipart', () => {
  it('finds names, file names and contents unchanged', () => {
    const body =
      'preamble\r\n--b\r\nContent-Disposition: form-data; name="a \\"b\\""\r\n\r\none\r\n' +
      '--b \r\ncontent-disposition: form-data; filename=x.png; name=file\r\nContent-Type: image/png\r\n\r\n\r\n--c\r\n\r\n--b--\r\nepilogue';
    expect(parseMultipart(body, 'b').map(({ name, fileName, isWhole }) => [name, fileName, isWhole])).toEqual([
      ['a "b"', undefined, true],
      ['file', 'x.png', true],
    ]);
    expect(contents(body)).toEqual(['one', '\r\n--c\r\n']);
  });

  it('reads headers that continue on the next line', () => {
    const body =
      '--b\r\nContent-Disposition: form-data;\r\n name="a";\r\n\tfilename="x.png"\r\nContent-Type:\r\n text/plain\r\n\r\none\r\n--b--';
    expect(parseMultipart(body, 'b')).toMatchObject([{ name: 'a', fileName: 'x.png' }]);
    expect(parseMultipart(body, 'b')[0]?.headers[1]).toEqual(['Content-Type', 'text/plain']);
    expect(parseMultipart(body.replaceAll('\r\n', '\n'), 'b')).toMatchObject([{ name: 'a', fileName: 'x.png' }]);
  });

  it('reads lines that end in LF alone if the first delimiter does', () => {
    expect(contents('--b\nx: y\n\none\ntwo\n--b\n\nthree\n--b--')).toEqual(['one\ntwo', 'three']);
    expect(contents('--b\r\nx: y\r\n\r\none\n--b\r\n--b--')).toEqual(['one\n--b']);
  });

  it('finds a part with a head but no content', () => {
    expect(parseMultipart('--b\r\nx: y\r\n\r\n--b--', 'b')).toMatchObject([{ headers: [['x', 'y']] }]);
    expect(contents('--b\r\nx: y\r\n\r\n--b--')).toEqual(['']);
  });

  it('returns the beginning of a truncated part', () => {
    expect(parseMultipart('--b\r\nx: y\r\n\r\nhalf', 'b')).toMatchObject([{ headers: [['x', 'y']], isWhole: false }]);
    expect(contents('--b\r\nx: y\r\n\r\nhalf')).toEqual(['half']);
  });

  it.each(['', '--b', '--b--', 'no delimiter', '--b\r\n', '--b\r\nheaders: only'])('finds no part in %j', (body) => {
    expect(parseMultipart(body, 'b')).toEqual([]);
  });

  it('returns the original parts, regardless of their bytes', () => {
    const content = fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
    fc.assert(
      fc.property(fc.array(content, { minLength: 1, maxLength: 5 }), (parts) => {
        const boundary = 'a-boundary-that-no-part-has';
        const body = `${parts.map((part) => `--${boundary}\r\nx: y\r\n\r\n${part}\r\n`).join('')}--${boundary}--\r\n`;
        expect(contents(body, boundary)).toEqual(parts);
      }),
    );
  });

  it('terminates, regardless of the bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('--b', '--', '\r\n', 'x: y', '\r\n\r\n', 'z', '"')), (pieces) => {
        const body = pieces.join('');
        for (const { start, end } of parseMultipart(body, 'b'))
          expect(0 <= start && start <= end && end <= body.length).toBe(true);
      }),
    );
  });
});

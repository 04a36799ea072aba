import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HeadScanner, type HeadVerdict } from './head-scanner.ts';

const scan = (text: string, cuts: readonly number[] = []): HeadVerdict[] => {
  const bytes = Buffer.from(text, 'latin1');
  const scanner = new HeadScanner();
  const places = [0, ...[...cuts].map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const verdicts: HeadVerdict[] = [];
  for (const [index, place] of places.entries()) {
    const end = places[index + 1] ?? place;
    for (let at = place; at < end;) {
      at = scanner.push(bytes.subarray(0, end), at);
      const verdict = scanner.take();
      if (verdict !== undefined) verdicts.push(verdict);
    }
  }
  return verdicts;
};

const head = (...lines: string[]): string => `POST /p/x HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

describe('whitespace in x-api-key:', () => {
  test.each([
    ['no space', 'x-api-key:KEY', false],
    ['one space', 'x-api-key: KEY', false],
    ['two spaces', 'x-api-key:  KEY', true],
    ['a tab', 'x-api-key:\tKEY', true],
    ['a space and a tab', 'x-api-key: \tKEY', true],
    ['a trailing space', 'x-api-key: KEY ', true],
    ['a trailing tab', 'x-api-key: KEY\t', true],
    ['a space inside the key', 'x-api-key: K EY', false],
    ['nothing', 'x-api-key:', false],
    ['only one space', 'x-api-key: ', false],
    ['only two spaces', 'x-api-key:  ', true],
    ['a different case', 'X-API-Key: KEY ', true],
    ['a different header with blanks', 'x-api-keys:   KEY  ', false],
    ['a different header with the same beginning', 'x-api:   KEY  ', false],
  ])('%s', (_name, line, keyPadded) => {
    expect(scan(head('Host: a', line, 'accept:   */*  '))).toEqual([expect.objectContaining({ lines: 3, keyPadded })]);
  });

  test('the length of the key excludes blanks around it and includes blanks within', () => {
    expect(scan(head('x-api-key:  a b  '))[0]).toEqual({
      requestLineBytes: 19,
      lines: 1,
      keyLines: 1,
      keyLength: 3,
      keyPadded: true,
    });
  });

  test('counts every x-api-key line, and reports padding if any line has it', () => {
    expect(scan(head('x-api-key: a ', 'X-Api-Key: bc'))[0]).toEqual({
      requestLineBytes: 19,
      lines: 2,
      keyLines: 2,
      keyLength: 2,
      keyPadded: true,
    });
  });
});

describe('framing', () => {
  const padded = 'x-api-key:  KEY';
  const lookAlike = head(padded);

  test('a body of known length is not a head', () => {
    const verdicts = scan(head(`content-length: ${lookAlike.length}`, 'x-api-key: K') + lookAlike + head());
    expect(verdicts.map(({ keyPadded, lines }) => [keyPadded, lines])).toEqual([
      [false, 2],
      [false, 0],
    ]);
  });

  test('chunks, chunk extensions and trailers are not heads', () => {
    const size = lookAlike.length.toString(16);
    const body = `${size};a="b"\r\n${lookAlike}\r\n0\r\n${padded}\r\nx: y\r\n\r\n`;
    const verdicts = scan(head('Transfer-Encoding: chunked') + body + head('a: b', 'c: d'));
    expect(verdicts.map(({ keyLines, lines }) => [keyLines, lines])).toEqual([
      [0, 1],
      [0, 2],
    ]);
  });

  test('a length of zero, and empty lines before a request line, are valid', () => {
    expect(scan(`${head('Content-Length: 0')}\r\n\r\n${head('a: b')}`)).toHaveLength(2);
  });

  test('the length of a request line is available during and after its arrival', () => {
    const scanner = new HeadScanner();
    scanner.push(Buffer.from('GET /aaaaaaa'), 0);
    expect(scanner.requestLineBytes).toBe(12);
    const rest = Buffer.from('aaa HTTP/1.1\r\nx: y\r\n\r\nGET / HTTP/1.1\r\n');
    const end = scanner.push(rest, 0);
    expect([scanner.requestLineBytes, scanner.isBetweenRequests]).toEqual([25, true]);
    scanner.take();
    expect(scanner.push(rest, end)).toBe(rest.length);
    expect([scanner.requestLineBytes, scanner.isBetweenRequests]).toEqual([15, false]);
  });
});

const token = fc.stringMatching(/^[A-Za-z0-9-]{1,14}$/);
const blanks = fc.stringMatching(/^[ \t]{0,3}$/);
const value = fc.stringMatching(/^[!-~\x80-\xff]([ -~\t\x80-\xff]{0,20}[!-~\x80-\xff])?$/);
const keyName = fc.constantFrom('x-api-key', 'X-Api-Key', 'X-API-KEY');
const headerLine = fc
  .tuple(fc.oneof({ weight: 3, arbitrary: token }, { weight: 1, arbitrary: keyName }), blanks, fc.option(value), blanks)
  .filter(([name]) => !/^(content-length|transfer-encoding|connection|upgrade|expect|host|trailer|te)$/i.test(name))
  .map(([name, before, text, after]) => `${name}:${before}${text ?? ''}${after}`);
const bodyBytes = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 40,
});

const sizedBody = bodyBytes.map((body) => ({ lines: [`Content-Length: ${body.length}`], body }));
const chunkedBody = fc
  .tuple(
    fc.array(
      bodyBytes.filter((chunk) => chunk !== ''),
      { maxLength: 3 },
    ),
    fc.array(headerLine, { maxLength: 2 }),
  )
  .map(([chunks, trailers]) => ({
    lines: ['transfer-encoding: chunked'],
    body: [
      ...chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`),
      '0\r\n',
      ...trailers.map((line) => `${line}\r\n`),
      '\r\n',
    ].join(''),
  }));
const request = fc
  .tuple(
    fc.array(headerLine, { maxLength: 6 }),
    fc.oneof(fc.constant({ lines: [] as string[], body: '' }), sizedBody, chunkedBody),
    fc.constantFrom('GET', 'POST', 'DELETE'),
  )
  .map(([lines, framing, method]) => {
    const all = ['Host: a', ...lines, ...framing.lines];
    return {
      text: `${method} /p HTTP/1.1\r\n${all.map((line) => `${line}\r\n`).join('')}\r\n${framing.body}`,
      lines: all,
    };
  });

test('any split into chunks gives the same verdicts', () => {
  fc.assert(
    fc.property(
      fc.array(request, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (requests, cuts) => {
        const text = requests.map((one) => one.text).join('');
        const whole = scan(text);
        expect(whole).toHaveLength(requests.length);
        expect(scan(text, cuts)).toEqual(whole);
        expect(
          scan(
            text,
            Array.from({ length: text.length }, (_, index) => index),
          ),
        ).toEqual(whole);
      },
    ),
    { numRuns: 300 },
  );
});

describe('compared with the parser of node:http', () => {
  const parsed: IncomingMessage[] = [];
  const server = createServer((message, response) => {
    parsed.push(message);
    message.resume().on('end', () => response.end());
  });
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => void server.close());

  /** Returns the requests that node:http finds in these bytes. */
  const parse = async (text: string): Promise<IncomingMessage[]> => {
    parsed.length = 0;
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.end(Buffer.from(text, 'latin1'));
    socket.resume();
    await once(socket, 'close');
    return [...parsed];
  };

  test('the scanner finds the same heads, lines and keys', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 3 }), async (requests) => {
        const text = requests.map((one) => one.text).join('');
        const messages = await parse(text);
        const verdicts = scan(text);
        expect(messages).toHaveLength(requests.length);
        for (const [index, message] of messages.entries()) {
          const names = message.rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
          const keyAt = names.lastIndexOf('x-api-key');
          const keyLines = requests[index]?.lines.filter((line) => /^x-api-key:/i.test(line)) ?? [];
          expect(verdicts[index]).toMatchObject({
            lines: names.length,
            keyLines: names.filter((name) => name === 'x-api-key').length,
            keyLength: keyAt === -1 ? 0 : message.rawHeaders[2 * keyAt + 1]?.length,
            keyPadded: keyLines.some((line) => !/^x-api-key: ?([!-~\x80-\xff](.*[!-~\x80-\xff])?)?$/i.test(line)),
          });
        }
      }),
      { numRuns: 200 },
    );
  });

  test('the scanner never silently disagrees about bytes that the parser accepts', async () => {
    const piece = fc.constantFrom(
      'GET /p HTTP/1.1\r\n',
      'Host: a\r\n',
      'x-api-key: k\r\n',
      'x-api-key:  k\r\n',
      '\r\n',
      '\n',
      '\r',
      ' ',
      '\t',
      'Content-Length: 5\r\n',
      'Content-Length: +5\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Transfer-Encoding: gzip, chunked\r\n',
      '5\r\nabcde\r\n',
      '0\r\n\r\n',
      'abcde',
      'a: b\r\n c\r\n',
      'a : b\r\n',
      '\0',
      'x-api-key',
      ':',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 2, maxLength: 14 }), async (pieces) => {
        const text = `GET /p HTTP/1.1\r\nHost: a\r\n${pieces.join('')}`;
        const messages = await parse(text);
        const verdicts = scan(text);
        for (const [index, message] of messages.entries()) {
          const names = message.rawHeaders.filter((_, at) => at % 2 === 0);
          const verdict = verdicts[index];
          expect(verdict?.lines).toBe(names.length);
          expect(verdict?.keyLines).toBe(names.filter((name) => name.toLowerCase() === 'x-api-key').length);
        }
      }),
      { numRuns: 400 },
    );
  });
});

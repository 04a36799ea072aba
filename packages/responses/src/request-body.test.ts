import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { LIMITS, type HeaderPair } from '@standin/contract';
import { cpuMs } from '@standin/contract/testing';
import { describe, expect, test } from 'vitest';
import { BudgetExhausted } from './budget.ts';
import { ExpressionError, OUT_OF_BUDGET } from './cel/expression-error.ts';
import { celToJson } from './cel/value-text.ts';
import { parseExpression } from './request-expressions.ts';
import { expressionsFor } from './request-expressions.testing.ts';
import { RequestBody } from './request-body.ts';
import { RequestFacts } from './request-facts.ts';

const MI = 1024 * 1024;

const valueFor = (source: string, body: Uint8Array, headers: readonly HeaderPair[] = []) => {
  const parsed = parseExpression(source, []);
  if (!parsed.ok) throw new Error(parsed.message);
  return expressionsFor({ body, headers }).evaluate(parsed.expression);
};
const evaluated = (source: string, body: Uint8Array, headers: readonly HeaderPair[] = []): string => {
  const value = valueFor(source, body, headers);
  const json = value instanceof ExpressionError ? value : celToJson(value);
  return json instanceof ExpressionError ? `error: ${json.message}` : json;
};

const JSON_BODY = Buffer.from('{"name": "Zoë", "price": 12.50}');
const encoding = (value: string): HeaderPair => ['Content-Encoding', value];
const type = (value: string): HeaderPair => ['Content-Type', value];

describe('a body with a content coding', () => {
  test.each<[string, Uint8Array]>([
    ['gzip', gzipSync(JSON_BODY)],
    ['x-gzip', gzipSync(JSON_BODY)],
    ['GZIP', gzipSync(JSON_BODY)],
    ['deflate', deflateSync(JSON_BODY)],
    ['deflate', deflateRawSync(JSON_BODY)],
    ['br', brotliCompressSync(JSON_BODY)],
    ['zstd', zstdCompressSync(JSON_BODY)],
    ['identity, gzip , br', brotliCompressSync(gzipSync(JSON_BODY))],
    ['identity', JSON_BODY],
    // As before, what is not known is read as it was sent.
    ['aws-chunked', JSON_BODY],
    ['gzip, gzip, gzip', JSON_BODY],
  ])('%s is read as its content', (coding, body) => {
    expect(evaluated('request.json', body, [encoding(coding)])).toBe('{"name":"Zoë","price":12.50}');
  });

  test('in several headers is read', () => {
    const body = zstdCompressSync(gzipSync('text'));
    expect(evaluated('request.body', body, [encoding('gzip'), encoding('zstd')])).toBe('"text"');
  });

  test.each<[string, Uint8Array, string]>([
    ['gzip', JSON_BODY, 'the body is not gzip, which its content-encoding names'],
    ['br', brotliCompressSync(JSON_BODY).subarray(0, 9), 'the body is not br, which its content-encoding names'],
    ['gzip', gzipSync(Buffer.alloc(MI + 1)), 'the decoded body has more than 1048576 bytes'],
    ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(MI + 1))), 'the decoded body has more than 1048576 bytes'],
    ['gzip', Buffer.alloc(MI + 1), 'the body has more than 1048576 bytes'],
    ['gzip', gzipSync(Buffer.from([0xff])), 'the body is not UTF-8'],
  ])('%s is absent: %#', (coding, body, why) => {
    expect(evaluated('request.json', body, [encoding(coding)])).toBe(`error: request.body is absent: ${why}`);
    expect(evaluated('has(request.body) || has(request.json)', body, [encoding(coding)])).toBe('false');
  });

  test.each(['gzip', 'br', 'zstd', 'deflate', 'gzip, br'])('%s is empty if it has no bytes', (coding) => {
    expect(evaluated('request.body', Buffer.alloc(0), [encoding(coding)])).toBe('""');
  });

  test('is a form in UTF-8, whatever its charset', () => {
    const headers = [type('application/x-www-form-urlencoded; charset=ISO-8859-1')];
    expect(evaluated('request.form', Buffer.from('a=\xc3\xa9&b=%C3%A9&c=\xe9&d=%E9', 'latin1'), headers)).toBe(
      '{"a":"é","b":"é","c":"\ufffd","d":"\ufffd"}',
    );
  });

  test('is a form', () => {
    const headers = [encoding('gzip'), type('application/x-www-form-urlencoded')];
    expect(evaluated('request.form', gzipSync('a=1&b=2'), headers)).toBe('{"a":"1","b":"2"}');
  });
});

describe('a body with a charset', () => {
  const latin1 = Buffer.from('{"a": "é"}', 'latin1');

  test.each<[string, Uint8Array, string]>([
    ['text/plain; charset=iso-8859-1', latin1, '{"a": "é"}'],
    ['text/plain;Charset="ISO-8859-1"', latin1, '{"a": "é"}'],
    ['text/plain; charset=windows-1252', Buffer.from([0x80]), '€'],
    ['text/plain; charset=shift_jis', Buffer.from([0x83, 0x65]), 'テ'],
    ['text/plain; charset=utf-16le', Buffer.from('é💡', 'utf16le'), 'é💡'],
    ['text/plain', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('é', 'utf16le')]), 'é'],
    ['text/plain; charset=utf-16', Buffer.from([0xfe, 0xff, 0x00, 0xe9]), 'é'],
    ['text/plain; charset=latin1', Buffer.from('\ufeffé'), 'é'],
    ['application/json', Buffer.from('\ufeff{"a": 1}'), '{"a": 1}'],
    // As before, text in a charset that is not known is UTF-8.
    ['text/plain; charset=us-ascii', Buffer.from('é'), 'é'],
    ['text/plain; charset=none', Buffer.from('é'), 'é'],
    ['text/plain; charset=', Buffer.from('é'), 'é'],
  ])('%s is read as its text', (contentType, body, expected) => {
    expect(evaluated('request.body', body, [type(contentType)])).toBe(JSON.stringify(expected));
  });

  test('is read as JSON, also after a byte order mark', () => {
    expect(evaluated('request.json.a', latin1, [type('application/json; charset=latin1')])).toBe('"é"');
    expect(evaluated('request.json', Buffer.from('\ufeff{"a": 1.0}'))).toBe('{"a":1.0}');
  });

  test('that its bytes do not match is absent', () => {
    expect(evaluated('request.body', Buffer.from([0x83]), [type('text/plain; charset=shift_jis')])).toBe(
      'error: request.body is absent: the body is not SHIFT_JIS',
    );
  });
});

describe('a multipart form', () => {
  const part = (head: string, content: string): string => `--B\r\n${head}\r\n\r\n${content}\r\n`;
  const form = (...parts: string[]): Buffer => Buffer.from(`${parts.join('')}--B--\r\n`, 'latin1');
  const utf8 = (text: string): string => Buffer.from(text).toString('latin1');
  const named = (name: string, content: string): string =>
    part(`content-disposition: form-data; name="${name}"`, content);
  const MULTIPART = [type('multipart/form-data; boundary=B')];
  const PHOTO = part(
    'Content-Disposition: form-data; name="photo"; filename="a.png"\r\nContent-Type: image/png',
    '\x89PNG\r\n\x00\xff--B',
  );

  test('has its fields beside binary parts', () => {
    const body = form(named('a', '1'), PHOTO, named(utf8('ü'), utf8('Zoë')), named('a', '2'));
    expect(evaluated('request.form', body, MULTIPART)).toBe('{"a":"1","ü":"Zoë"}');
    expect(evaluated('request.formAll', body, MULTIPART)).toBe('{"a":["1","2"],"ü":["Zoë"]}');
  });

  test('has the text of the charset of a part', () => {
    const head = 'content-disposition: form-data; name=a\r\ncontent-type: text/plain; charset=iso-8859-1';
    expect(evaluated('request.form.a', form(part(head, 'é')), MULTIPART)).toBe('"é"');
  });

  test('has the fields whose headers continue on the next line', () => {
    const body = form(
      part('content-disposition: form-data;\r\n name="a"', '1'),
      part('content-disposition: form-data; name="f";\r\n\tfilename="a.png"', '2'),
    );
    expect(evaluated('request.form', body, MULTIPART)).toBe('{"a":"1"}');
  });

  test('has no parts with a file name in another form, and none without a name', () => {
    const body = form(
      part("content-disposition: form-data; name=f; filename*=UTF-8''a.png", '1'),
      part('content-disposition: form-data', '2'),
      named('b', '3'),
    );
    expect(evaluated('request.form', body, MULTIPART)).toBe('{"b":"3"}');
  });

  test('can be larger than text', () => {
    const photo = part('content-disposition: form-data; name=photo; filename=a', 'x'.repeat(4 * MI));
    expect(evaluated('request.form', form(photo, named('a', '1')), MULTIPART)).toBe('{"a":"1"}');
  });

  test.each<[string, HeaderPair, Buffer, string]>([
    [
      'without a delimiter',
      type('multipart/form-data; boundary=C'),
      form(named('a', '1')),
      'the body has no part with the boundary of its content-type',
    ],
    ['without a boundary', type('multipart/form-data'), form(), 'the content-type has no boundary'],
    [
      'of another type',
      type('multipart/mixed; boundary=B'),
      form(named('a', '1')),
      'the content-type is neither application/x-www-form-urlencoded nor multipart/form-data',
    ],
    [
      'with a long head',
      type('multipart/form-data; boundary=B'),
      form(part('a: b\r\n'.repeat(3_000), '')),
      'a part has a head of more than 16384 bytes',
    ],
  ])('%s is absent', (_name, header, body, why) => {
    for (const name of ['request.form', 'request.formAll'])
      expect(evaluated(name, body, [header])).toBe(`error: request.form is absent: ${why}`);
  });
});

test('cookies are read by name, with the first value of each', () => {
  const headers: HeaderPair[] = [
    ['Cookie', 'session=abc=; theme="dark"; empty=; =x; plain;  a b = c '],
    ['cookie', 'session=other; last=1'],
  ];
  expect(evaluated('request.cookies', Buffer.alloc(0), headers)).toBe(
    '{"session":"abc=","theme":"dark","empty":"","a b":"c","last":"1"}',
  );
  expect(evaluated('request.cookies', Buffer.alloc(0))).toBe('{}');
});

describe('what is hostile takes a bounded time:', () => {
  const CPU_MS_MAX = 50;
  const letters = Array.from({ length: MI }, (_, index) => ((index * 2_654_435_761) >>> 13) % 256);
  const bomb = gzipSync(gzipSync(Buffer.alloc(900 * MI)));
  const FORM = type('application/x-www-form-urlencoded');
  const MULTIPART = type('multipart/form-data; boundary=b');

  test.each<[string, string, Uint8Array, HeaderPair[]]>([
    ['a bomb', 'request.body', bomb, [encoding('gzip, gzip')]],
    ['two codings', 'request.body', gzipSync(brotliCompressSync(Buffer.from(letters))), [encoding('br, gzip')]],
    ['many members', 'request.body', Buffer.concat(Array<Buffer>(50_000).fill(gzipSync(''))), [encoding('gzip')]],
    ['a charset', 'request.body', Buffer.from(letters), [type('a/b; charset=gb18030')]],
    ['a charset of one byte', 'request.body', Buffer.from(letters), [type('a/b; charset=windows-1251')]],
    ['UTF-16', 'request.body', Buffer.from(letters), [type('a/b; charset=utf-16be')]],
    ['a long form', 'request.form', Buffer.alloc(MI, 'a'), [FORM]],
    ['a form of spaces', 'request.form', Buffer.alloc(MI, '+'), [FORM]],
    ['a form of escapes', 'request.form', Buffer.from('%41'.repeat(MI / 3)), [FORM]],
    ['a form of fields', 'request.form', Buffer.from('a&'.repeat(MI / 2)), [FORM]],
    ['parts without a head', 'request.form', Buffer.from('--b\r\nx\r\n'.repeat(MI)), [MULTIPART]],
    [
      'parts',
      'request.form',
      Buffer.from('--b\r\ncontent-disposition: form-data; name=a\r\n\r\nz\r\n'.repeat(100_000)),
      [MULTIPART],
    ],
    ...['none', 'gb18030', 'utf-8'].map((charset): [string, string, Uint8Array, HeaderPair[]] => [
      `parts with the charset "${charset}"`,
      'request.form',
      Buffer.from(
        `--b\r\ncontent-disposition: form-data; name=a\r\ncontent-type:;charset=${charset}\r\n\r\nz\r\n`.repeat(2_300),
      ),
      [MULTIPART],
    ]),
    ['near misses of a delimiter', 'request.form', Buffer.from(`--b\r\n${'\r\n--c'.repeat(MI)}`), [MULTIPART]],
    ['a long head', 'request.form', Buffer.from(`--b\r\n${'a: b\r\n'.repeat(MI)}\r\n--b--`), [MULTIPART]],
    ['cookies', 'request.cookies', Buffer.alloc(0), [['cookie', 'a=b;'.repeat(4_000)]]],
  ])('%s', (_name, source, body, headers) => {
    expect(cpuMs(() => valueFor(source, body, headers), CPU_MS_MAX)).toBeLessThan(CPU_MS_MAX);
  });

  test.each(['none', 'latin1'])('each part with the charset %s is charged for its decoder', (charset) => {
    const part = `--b\r\ncontent-disposition:;name=a\r\ncontent-type:;charset=${charset}\r\n\r\nz\r\n`;
    const value = (count: number) => valueFor('request.form.a', Buffer.from(part.repeat(count)), [MULTIPART]);
    // About 10 us for each decoder: to look for an unknown charset, or to find a known one, and to read it.
    const decoders = charset === 'none' ? 1 : 2;
    expect(value(400)).toBe('z');
    expect(value(LIMITS.responseUnitsMax / 1_000 / decoders)).toBe(OUT_OF_BUDGET);
  });

  const stored = (bytes: Uint8Array): Buffer => gzipSync(bytes, { level: 0 });

  test('decoding is charged once', () => {
    const form = Buffer.from(`--b\r\ncontent-disposition: form-data; name=a\r\n\r\n${'z'.repeat(650_000)}\r\n--b--`);
    const body = stored(stored(form));
    const headers = [encoding('gzip, gzip'), MULTIPART];
    expect(valueFor('request.body != request.form.a', body, headers)).toBe(true);
    // A second body uses up the budget.
    const { budget } = expressionsFor({ body, headers });
    const facts = new RequestFacts({ query: '', headers, parameters: new Map() });
    const read = () => new RequestBody(body, facts, budget).text();
    expect(read()).toBe(form.toString());
    expect(read).toThrow(BudgetExhausted);
  });

  test('what a coding adds is charged before the next one reads it', () => {
    const body = gzipSync(stored(Buffer.alloc(MI / 2)));
    expect(valueFor('request.body', body, [encoding('gzip, gzip')])).toBe(OUT_OF_BUDGET);
  });

  test('decoding is charged only if an expression reads the body', () => {
    const expressions = expressionsFor({ body: bomb, headers: [encoding('gzip, gzip')] });
    const evaluate = (source: string) => {
      const parsed = parseExpression(source, []);
      return parsed.ok && expressions.evaluate(parsed.expression);
    };
    expect(evaluate('request.path == "/"')).toBe(true);
    expressions.budget.charge(LIMITS.responseUnitsMax - 1_000);
    expect(evaluate('request.path == "/"')).toBe(true);
    expect(evaluate('has(request.body)')).toBe(OUT_OF_BUDGET);
  });
});

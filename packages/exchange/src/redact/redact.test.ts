import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../log-entry.ts';
import { defaultRedaction } from './default-redaction.ts';
import { redact, REDACTED_BODY_CHARS_MAX, type RedactedEntry } from './redact.ts';
import { testEntry, type TestEntryParts } from '../log-entry.testing.ts';

const NONE = { headers: [], query: [], jsonPaths: [] };
const JSON_TYPE = [['content-type', 'application/json']] as const;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const byDefault = (entry: LogEntry): RedactedEntry => redact(entry, defaultRedaction(entry));
const redactedBody = (body: string, type?: string): string =>
  byDefault(testEntry({ body, ...(type !== undefined && { headers: [['content-type', type]] }) })).entry.request.body;

describe('by default', () => {
  it.each([
    [
      'JSON, byte by byte',
      '{ "a": 1.0,"token" :"abc" , "b":[12345678901234567890] }',
      '{ "a": 1.0,"token" :"[redacted]" , "b":[12345678901234567890] }',
    ],
    ['a key that is escaped', '{"t\\u006fken":"abc"}', '{"t\\u006fken":"[redacted]"}'],
    [
      'a number, an object',
      '{"secret":12,"credentials":{"a":[1]}}',
      '{"secret":"[redacted]","credentials":"[redacted]"}',
    ],
    ['no empty value', '{"token":null,"secret":""}', '{"token":null,"secret":""}'],
    [
      'JSON in JSON',
      '{"m":"{\\"token\\":\\"abc\\",\\"n\\":1.0}"}',
      '{"m":"{\\"token\\":\\"[redacted]\\",\\"n\\":1.0}"}',
    ],
    [
      'JSON in base64 in JSON',
      `{"data":"${Buffer.from('{"token":"abcdef"}').toString('base64')}"}`,
      `{"data":"${Buffer.from('{"token":"[redacted]"}').toString('base64')}"}`,
    ],
    [
      'pairs of name and value',
      '[{"name":"Authorization","value":"abc"}]',
      '[{"name":"Authorization","value":"[redacted]"}]',
    ],
    ['a pair in an array', '[["user","a"],["password","b c"]]', '[["user","a"],["password","[redacted]"]]'],
    ['a pair whose value is a list', '{"h":["X-Api-Token",["a","b"]]}', '{"h":["X-Api-Token","[redacted]"]}'],
    ['not a list of words', '["password","email","name"]', '["password","email","name"]'],
    ['not a pair with a different name', '["order","password"]', '["order","password"]'],
    ['a command with credentials', 'curl -X POST -u me:pass https://x', 'curl -X POST -u [redacted] https://x'],
    [
      'a command over several lines',
      'curl -s \\\n  --user "me:a b" https://x\ndone',
      'curl -s \\\n  --user [redacted] https://x\ndone',
    ],
    ['credentials directly after their option', "curl -u'me:pass' x", 'curl -u[redacted] x'],
    ['not a user without a password', 'curl -u me https://x', 'curl -u me https://x'],
    ['not a user option of a different command', 'docker run -u 1000:1000 x', 'docker run -u 1000:1000 x'],
    ['a JWT within a word', 'a-eyJhbGciOiJI.eyJzdWIi.c2ln b', 'a-[redacted] b'],
    [
      'an authorization code in a link',
      '<a href="/cb?a=1&amp;code=SplxlOBeZQQY">x</a>',
      '<a href="/cb?a=1&amp;code=[redacted]">x</a>',
    ],
    ['not a code in text', 'status code: 404404 and code=E12345', 'status code: 404404 and code=E12345'],
    ['a code in a form', 'grant_type=x&code=SplxlOBeZQQY', 'grant_type=x&code=[redacted]'],
    ['one document per line', '{"token":"a"}\n{"token":"b"}', '{"token":"[redacted]"}\n{"token":"[redacted]"}'],
    ['a form', 'a=1&user%5Bpassword%5D=x+y&b=', 'a=1&user%5Bpassword%5D=[redacted]&b='],
    [
      'JSON in a form',
      'payload=%7B%22token%22%3A%22abc%22%7D',
      `payload=${encodeURIComponent('{"token":"[redacted]"}')}`,
    ],
    [
      'XML',
      '<a><ns:Password x="1">abc</ns:Password><b token=\'x\'/></a>',
      '<a><ns:Password x="1">[redacted]</ns:Password><b token=\'[redacted]\'/></a>',
    ],
    ['a form in HTML', '<input name="csrf" value="abc"><p>hi</p>', '<input name="csrf" value="[redacted]"><p>hi</p>'],
    [
      'YAML',
      'a: 1\npassword: x y\nsecret: |\n  one\n  two\nb: 2\n',
      'a: 1\npassword: [redacted]\nsecret: [redacted]b: 2\n',
    ],
    ['a log line', 'time=1 token="a b" ok', 'time=1 token="[redacted]" ok'],
    ['broken JSON without a content type', '{"token": "a b", x', '{"token": "[redacted]", x'],
    ['a private key', 'x -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- y', 'x [redacted] y'],
    ['an API key with a known format', 'use ghp_0123456789abcdefghij0 now', 'use [redacted] now'],
    ['a card number', 'pay 4111 1111 1111 1111, or 3782-822463-10005.', 'pay [redacted], or [redacted].'],
    [
      'a card number in JSON',
      '{"pan":"5555555555554444","n":4242424242424242}',
      '{"pan":"[redacted]","n":"[redacted]"}',
    ],
    [
      'not a number that is not a card number',
      '{"id":4242424242424241,"at":1795285035121,"order":"A-4242424242424242"}',
      '{"id":4242424242424241,"at":1795285035121,"order":"A-4242424242424242"}',
    ],
  ])('hides in a body: %s', (_, body, shown) => {
    expect(redactedBody(body)).toBe(shown);
  });

  it('withholds multipart bodies that are nested three levels deep', () => {
    const type = (boundary: number): string => `multipart/mixed; boundary=b${boundary}.`;
    const nested = (depth: number): string =>
      `--b${depth}.\r\nContent-Type: ${type(depth + 1)}\r\n\r\n${depth === 9 ? 'x' : nested(depth + 1)}\r\n--b${depth}.--`;
    const shown = redactedBody(nested(0), type(0));
    expect(shown).toContain('--b3.');
    expect(shown).not.toContain('--b4.\r');
    expect(shown).toContain('[not shown: it cannot be searched for secrets]');
  });

  it('hides multipart fields by name, searches files by type, and withholds binary files', () => {
    const type = 'multipart/form-data; boundary=B';
    const part = (head: string, body: string): string =>
      `--B\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
    const file = `--B\r\nContent-Disposition: form-data; name="f"; filename="f.json"\r\nContent-Type: application/json\r\n\r\n`;
    const body = `${part('name="password"', 'x')}${part('name="a"', '1')}${file}{"token":"t"}\r\n${file}{oh\r\n--B--\r\n`;
    expect(redactedBody(body, type)).toBe(
      `${part('name="password"', '[redacted]')}${part('name="a"', '1')}${file}{"token":"[redacted]"}\r\n${file}[not shown: it cannot be searched for secrets]\r\n--B--`,
    );
  });

  it('hides multipart fields whose headers continue on the next line', () => {
    const head = '--B\r\nContent-Disposition: form-data;\r\n name="password"\r\n\r\n';
    expect(redactedBody(`${head}hunter\r\n--B--`, 'multipart/form-data; boundary=B')).toBe(
      `${head}[redacted]\r\n--B--`,
    );
  });

  it('hides fields in headers, target and upstream URL, and reports them', () => {
    const { entry, hidden } = byDefault(
      testEntry({
        query: 'a=1&%74oken=abc',
        upstreamUrl: 'https://user:pass@up/x?api_key=abc&b=2',
        headers: [
          ['Authorization', 'Bearer abc'],
          ['Cookie', 'a=b'],
          ['Referer', 'https://x/?sig=abc&y=1'],
          ['X-A', '1'],
        ],
      }),
    );
    expect(entry.request.target).toBe('/g95gprojecturi/v1/orders?a=1&%74oken=[redacted]');
    expect(entry.query).toBe('a=1&%74oken=[redacted]');
    expect(entry.upstreamUrl).toBe('https://[redacted]@up/x?api_key=[redacted]&b=2');
    expect(entry.request.headers).toEqual([
      ['Authorization', 'Bearer [redacted]'],
      ['Cookie', '[redacted]'],
      ['Referer', 'https://x/?sig=[redacted]&y=1'],
      ['X-A', '1'],
    ]);
    expect(hidden.map(({ kind, name }) => `${kind} ${name}`)).toEqual(
      expect.arrayContaining(['header authorization', 'header cookie', 'field sig', 'field token', 'field api_key']),
    );
  });

  it.each([
    ['an authorization code', 'code=SplxlOBeZQQYbYS6WxSbIA&state=xyz', 'code=[redacted]&state=xyz'],
    ['a code that was sent to a phone', 'code=492817', 'code=[redacted]'],
    ['a query string in a parameter', 'next=%2Fcb%3Ftoken%3Dabc%26n%3D1', 'next=%2Fcb%3Ftoken%3D[redacted]%26n%3D1'],
    [
      'a query string that is encoded twice',
      'next=%252Fcb%253Ftoken%253Dabc%2526n%253D1',
      'next=%252Fcb%253Ftoken%253D[redacted]%2526n%253D1',
    ],
    ['a query string that is encoded as a whole', 'a%3D1%26token%3Dabc', 'a%3D1%26token%3D[redacted]'],
    ['a code in a URL in a parameter', 'to=%2Fcb%3Fcode%3DSplxlOBeZQQY', 'to=%2Fcb%3Fcode%3D[redacted]'],
    ['not a country code or a page', 'code=DE&next=%252Fhome%253Fpage%253D2', 'code=DE&next=%252Fhome%253Fpage%253D2'],
  ])('hides in a query string: %s', (_, query, shown) => {
    const { entry } = byDefault(testEntry({ query }));
    expect(decodeBrackets(entry.query)).toBe(shown);
    expect(decodeBrackets(entry.request.target)).toBe(`/g95gprojecturi/v1/orders?${shown}`);
  });
  /** Decodes brackets. In text that is escaped again, brackets are escaped as often as the text around them. */
  const decodeBrackets = (text: string): string => text.replaceAll(/%(?:25)*5B(redacted)%(?:25)*5D/g, '[$1]');

  it.each([
    ['JSON in base64', 'x-data', base64('{"token":"abcdef","n":1}'), base64('{"token":"[redacted]","n":1}')],
    [
      'JSON in base64 for URLs',
      'x-data',
      Buffer.from('{"token":"abcdef","n":"??>>"}').toString('base64url'),
      Buffer.from('{"token":"[redacted]","n":"??>>"}').toString('base64url'),
    ],
    ['JSON', 'x-data', '{"token":"abc", "n":1}', '{"token":"[redacted]", "n":1}'],
    ['a code in a location', 'location', 'https://x/cb?code=SplxlOBeZQQY&n=1', 'https://x/cb?code=[redacted]&n=1'],
    ['a URL within one', 'referer', 'https://x/?to=%2Fcb%3Fsig%3Dabc', 'https://x/?to=%2Fcb%3Fsig%3D%5Bredacted%5D'],
    ['not JSON without secrets', 'x-data', base64('{"order":"abcdef","n":1}'), base64('{"order":"abcdef","n":1}')],
    ['not base64 of other text', 'etag', base64('hello, this is no JSON'), base64('hello, this is no JSON')],
    ['not a status code', 'x-error', 'code: 404123, code=E123456', 'code: 404123, code=E123456'],
  ])('hides in a header: %s', (_, name, value, shown) => {
    expect(byDefault(testEntry({ headers: [[name, value]] })).entry.request.headers).toEqual([[name, shown]]);
  });

  it.each([
    ['a token in the path', '/reset-password/3f9a8b7c6d5e4f3a', '/reset-password/[redacted]'],
    ['a parameter of the path', '/a;jsessionid=xyz/b', '/a;jsessionid=[redacted]/b'],
    ['not other segments', '/oauth/token/refresh', '/oauth/token/refresh'],
  ])('hides in a path: %s', (_, path, shown) => {
    expect(byDefault(testEntry({ path })).entry.path).toBe(shown);
  });
});

describe('a secret that is only in one part of an exchange', () => {
  const SECRET = '3f9a8b7c6d5e4f3a';
  const HEADERS = [['x-auth-token', SECRET]] as const;
  const message = { headers: [], trailers: [], body: '', bodyEncoding: 'utf8' } as const;
  const entry = testEntry({});
  const sent = (parts: Partial<LogEntry['request']>) => ({ request: { ...entry.request, ...message, ...parts } });
  const received = (parts: Partial<LogEntry['response']>) => ({
    response: { ...entry.response, ...message, ...parts },
  });

  it.each<[string, Partial<LogEntry>]>([
    ['a request header', sent({ headers: HEADERS })],
    ['a request trailer', sent({ trailers: HEADERS })],
    ['the request body', sent({ body: `token=${SECRET}` })],
    ['the target', sent({ target: `/g95gprojecturi/v1/orders?token=${SECRET}` })],
    ['a response header', received({ headers: HEADERS })],
    ['a response trailer', received({ trailers: HEADERS })],
    ['the response body', received({ body: `token=${SECRET}` })],
    ['the path', { path: `/reset-password/${SECRET}` }],
    ['the query', { query: `token=${SECRET}` }],
    ['the URL of the upstream', { upstreamUrl: `https://up/x?token=${SECRET}` }],
    ['the error of the upstream', { upstreamError: `token=${SECRET}` }],
    ['the error of the template', { templateError: `token=${SECRET}` }],
  ])('is hidden: %s', (_, parts) => {
    const { entry: shown, hidden } = byDefault({ ...entry, ...parts });
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(hidden).toHaveLength(1);
  });
});

describe('callers’ addresses', () => {
  it.each([
    ['X-Forwarded-For', '203.0.113.7, 198.51.100.12:4711'],
    ['X-Original-Forwarded-For', '203.0.113.7'],
    ['Forwarded', 'for=203.0.113.7;host=shop.example;proto=https, for="[2001:db8::17]:4711"'],
    ['X-Real-IP', '203.0.113.7'],
    ['CF-Connecting-IP', '2001:db8::17'],
    ['True-Client-IP', '203.0.113.7'],
  ])('in %s are hidden with any rules, even where the upstream echoes them', (name, value) => {
    const addresses = ['203.0.113.7', '198.51.100.12', '2001:db8::17'].filter((address) => value.includes(address));
    const entry = testEntry({
      headers: [
        [name, value],
        ['host', 'shop.example'],
      ],
      responseBody: `{"origin":${JSON.stringify(addresses)}}`,
    });
    for (const shown of [redact(entry, NONE), byDefault(entry)]) {
      expect(shown.entry.request.headers).toEqual([
        [name, '[redacted]'],
        ['host', 'shop.example'],
      ]);
      expect(shown.entry.response.body).toBe(`{"origin":${JSON.stringify(addresses.map(() => '[redacted]'))}}`);
      expect(shown.hidden).toEqual([{ kind: 'header', name: name.toLowerCase() }]);
    }
  });

  it('of a connection without a proxy are hidden where the upstream echoes them', () => {
    const entry = testEntry({ clientAddress: '203.0.113.7', responseBody: '{"origin": "203.0.113.7"}' });
    expect(redact(entry, NONE).entry.response.body).toBe('{"origin": "[redacted]"}');
  });

  it('on loopback do not hide the name localhost', () => {
    const entry = testEntry({
      headers: [
        ['host', '127.0.0.1:4000'],
        ['x-forwarded-for', '127.0.0.1, unknown'],
      ],
    });
    expect(redact({ ...entry, upstreamError: 'unknown', templateError: 'unknown' }, NONE).entry).toMatchObject({
      request: {
        headers: [
          ['host', '127.0.0.1:4000'],
          ['x-forwarded-for', '[redacted]'],
        ],
      },
      upstreamError: 'unknown',
      templateError: 'unknown',
    });
  });
});

describe('errors', () => {
  it('do not quote a value that is hidden elsewhere, nor a credential', () => {
    const entry = testEntry({ body: '{"token":"abcdefgh"}' });
    const said = (value: string) => `"${value}" is not a number, and password=${value}`;
    const { upstreamError, templateError } = byDefault({
      ...entry,
      upstreamError: said('abcdefgh'),
      templateError: said('abcdefgh'),
    }).entry;
    for (const shown of [upstreamError, templateError]) expect(shown).toBe(said('[redacted]'));
  });
});

describe('a body that cannot be searched', () => {
  it.each([
    ['binary', { body: 'AP8=' }, 'binary'],
    ['text with control characters', { body: 'a\u0000b' }, 'binary'],
    ['invalid JSON with the type JSON', { body: '{"a":', headers: JSON_TYPE }, 'unreadable'],
    ['JSON that is nested too deeply', { body: '['.repeat(1_000), headers: JSON_TYPE }, 'unreadable'],
    ['multipart without a boundary', { body: 'x', headers: [['content-type', 'multipart/form-data']] }, 'unreadable'],
    [
      'a different character set',
      { body: '+AHQ-oken=x', headers: [['content-type', 'text/plain; charset=utf-7']] },
      'unreadable',
    ],
  ] as const)('is not shown: %s', (name, parts, reason) => {
    const entry = testEntry(parts);
    const { request } = name === 'binary' ? { request: { ...entry.request, bodyEncoding: 'base64' as const } } : entry;
    const redacted = redact({ ...entry, request }, NONE);
    expect([redacted.request.withheld, redacted.entry.request.body]).toEqual([reason, '']);
  });

  it('includes text with a control character that is unusual in text', () => {
    const withheld = Array.from({ length: 0x1_00 }, (_, code) => code).filter(
      (code) => redact(testEntry({ body: `a${String.fromCharCode(code)}` }), NONE).request.withheld === 'binary',
    );
    // Tab to carriage return and ESC occur in text. The bytes of C1 are letters in other character sets. DEL is shown, too.
    const expected = '00 01 02 03 04 05 06 07 08 0e 0f 10 11 12 13 14 15 16 17 18 19 1a 1c 1d 1e 1f';
    expect(withheld.map((code) => code.toString(16).padStart(2, '0')).join(' ')).toBe(expected);
  });

  it('is cut if it is too long, and a value at the cut is hidden', () => {
    const body = `["${'a'.repeat(REDACTED_BODY_CHARS_MAX - 30)}", {"token": "0123456789abcdef"}]`;
    const { entry, request } = redact(testEntry({ body, headers: JSON_TYPE }), NONE);
    expect(request.isCut).toBe(true);
    expect(entry.request.body.endsWith('a", {"token": ')).toBe(true);
  });

  it('is read up to the captured size if the response was truncated', () => {
    const entry = testEntry({
      responseBody: '{"token":"abcdef","rows":[{"n":1},{"na',
      responseHeaders: JSON_TYPE,
      truncated: true,
    });
    expect(byDefault(entry).entry.response.body).toBe('{"token":"[redacted]","rows":[{"n":1},{');
  });
});

describe('rules', () => {
  const body = '{"card":{"number":"4111","name":"A"},"items":[{"id":1},{"id":2}],"odd key":"x"}';
  it.each([
    ['$.card.number', '{"card":{"number":"[redacted]","name":"A"},"items":[{"id":1},{"id":2}],"odd key":"x"}'],
    [
      '$.items[*].id',
      '{"card":{"number":"4111","name":"A"},"items":[{"id":"[redacted]"},{"id":"[redacted]"}],"odd key":"x"}',
    ],
    ['$.items[1].id', '{"card":{"number":"4111","name":"A"},"items":[{"id":1},{"id":"[redacted]"}],"odd key":"x"}'],
    ['$["odd key"]', '{"card":{"number":"4111","name":"A"},"items":[{"id":1},{"id":2}],"odd key":"[redacted]"}'],
    ['$..NA*', '{"card":{"number":"4111","name":"[redacted]"},"items":[{"id":1},{"id":2}],"odd key":"x"}'],
    ['$.card.*', '{"card":{"number":"[redacted]","name":"[redacted]"},"items":[{"id":1},{"id":2}],"odd key":"x"}'],
    ['$', '"[redacted]"'],
  ])('hide the values at %s', (path, shown) => {
    expect(redact(testEntry({ body }), { ...NONE, jsonPaths: [path] }).entry.request.body).toBe(shown);
  });

  it('hide only authorization, cookies and values that look like credentials if they are empty', () => {
    const { entry } = redact(
      testEntry({
        headers: [
          ['authorization', 'abc'],
          ['x-token', 'def'],
        ],
        query: 'token=ghi',
        body: '{"secret":"eyJhbGciOiJIUzI1NiJ9.eyJh"}',
      }),
      NONE,
    );
    expect(entry.request.headers).toEqual([
      ['authorization', '[redacted]'],
      ['x-token', 'def'],
    ]);
    expect([entry.query, entry.request.body]).toEqual(['token=ghi', '{"secret":"[redacted]"}']);
  });

  it('fit in a Share even for a request with very many fields', () => {
    const secrets = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`token-"${index}"`, `value-${index}`]),
    );
    const entry = testEntry({ body: JSON.stringify(secrets) });
    const rules = defaultRedaction(entry);
    expect(rules.jsonPaths.length).toBeLessThan(64);
    expect(redact(entry, rules).entry.request.body).not.toContain('value-');
  });

  it.each([
    ['many short words', Array.from({ length: 60 }, (_, index) => `otp-${index}`)],
    ['words that are split', Array.from({ length: 60 }, (_, index) => `to-ken-${index}`)],
    ['a star', ['card*number', 'bearer*']],
    ['a very long name', [`jwt-${'x'.repeat(500)}`]],
  ])('hide every secret with names of %s', (_, names) => {
    const fields = Object.fromEntries(names.map((name) => [name, 'value-1']));
    const entry = testEntry({
      headers: names.map((name): [string, string] => [`x-${name.replaceAll('*', '')}`, 'value-2']),
      query: new URLSearchParams(fields).toString(),
      body: JSON.stringify({ public: 'shown', ...fields }),
    });
    expect(JSON.stringify(redact(entry, defaultRedaction(entry)).entry)).not.toContain('value-');
  });
});

/** Allows for hundreds of requests on a machine that may be busy. */
const PROPERTY_MS = 30_000;

describe('a planted secret', { timeout: PROPERTY_MS }, () => {
  const secret = fc
    .tuple(
      fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{7,20}$/),
      fc.constantFrom('', 'ü€', '"\\', ' +/=&', '<a>', '%41'),
      fc.stringMatching(/^[a-z0-9]{6,12}$/),
    )
    .map((parts) => parts.join(''));
  const escapeAll = (text: string): string =>
    Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
  const percentAll = (text: string): string =>
    [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const html = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  const latin1 = (text: string): string => Buffer.from(text).toString('latin1');
  /** The places where a request can contain a secret. */
  const sources: readonly ((value: string) => TestEntryParts)[] = [
    (value) => ({ headers: [['authorization', `Bearer ${latin1(value).replaceAll(/[\s"]/g, '_')}`]] }),
    (value) => ({ headers: [['x-hub-signature', latin1(value)]] }),
    (value) => ({ headers: [['authorization', `Basic ${base64(`user:${value}`)}`]] }),
    (value) => ({ query: `a=1&access_token=${encodeURIComponent(value)}` }),
    (value) => ({ query: `a=1&access_token=${percentAll(value)}` }),
    (value) => ({ body: JSON.stringify({ deep: [{ password: value }] }), headers: [...JSON_TYPE] }),
    (value) => ({ body: `{"x":{"client_secret":"${escapeAll(value)}"}}` }),
    (value) => ({ body: new URLSearchParams({ password: value }).toString() }),
    (value) => ({ responseHeaders: [['set-cookie', `session=${percentAll(value)}; Path=/`]] }),
  ];
  /** The ways in which an upstream might echo the secret under a name that reveals nothing. */
  const echoes: readonly ((value: string) => string)[] = [
    (value) => value,
    (value) => JSON.stringify({ said: value }),
    (value) => `{"said":"${escapeAll(value)}"}`,
    (value) => JSON.stringify({ said: JSON.stringify({ again: value }) }),
    (value) => `you sent ${encodeURIComponent(value)} and ${percentAll(value).toUpperCase()}`,
    (value) => new URLSearchParams({ said: value }).toString(),
    (value) => `<p>${html(value)}</p>`,
    (value) => `b64 ${base64(`xy${value}z`)}`,
    (value) => `hex ${Buffer.from(value).toString('hex')}`,
  ];
  /** Returns the text, followed by the same text with its escapes decoded once. */
  const allReadings = (text: string): string => {
    const toChar = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));
    return `${text}\n${text.replaceAll(/%([0-9a-f]{2})/gi, toChar).replaceAll(/\\+u([0-9a-f]{4})/gi, toChar)}`;
  };

  it('does not appear anywhere in the result, regardless of how the request and the echo encode it', () => {
    fc.assert(
      fc.property(
        secret,
        fc.constantFrom(...sources),
        fc.constantFrom(...echoes),
        fc.boolean(),
        (value, source, echo, inHeader) => {
          const told = source(value);
          const core = /^[A-Za-z][A-Za-z0-9]{7}/.exec(value)?.[0] ?? '';
          const written = echo(
            told.headers?.[0]?.[1]?.startsWith('Bearer') === true ? value.replaceAll(/[\s"]/g, '_') : value,
          );
          const entry = testEntry({
            ...told,
            responseBody: written,
            responseHeaders: [
              ...(told.responseHeaders ?? []),
              ...(inHeader ? [['x-said', latin1(written)] as const] : []),
            ],
          });
          const { entry: shown, hidden } = byDefault(entry);
          const output = allReadings(JSON.stringify({ shown, hidden }));
          expect(output).not.toContain(core);
          expect(output).not.toContain(Buffer.from(core).toString('hex'));
          for (const shift of [0, 1, 2]) {
            const form = base64(`${'x'.repeat(shift)}${core}`).slice(shift === 0 ? 0 : shift + 1, 9);
            expect(output).not.toContain(form);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('does not appear in the name of another field that is hidden', () => {
    const headers: [string, string][] = [['authorization', 'Bearer aAacY00a0AaAa0aaa00']];
    const entry = testEntry({ headers, responseBody: `a token${base64('xyaAacY00a0AaAa0aaa00z')}` });
    expect(byDefault(entry).hidden).toEqual([
      { kind: 'header', name: 'authorization' },
      { kind: 'field', name: 'tokeneHl[redacted]eg' },
    ]);
  });

  it('never causes an exception, regardless of the bytes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.constantFrom(
          'application/json',
          'multipart/form-data; boundary=a',
          'application/x-www-form-urlencoded',
          'text/html',
        ),
        fc.string({ unit: fc.constantFrom('%', '=', '&', ';', 'a', '[', 'token', '\u00ff') }),
        (body, type, query) => {
          byDefault(testEntry({ body, query, headers: [['content-type', type]], responseBody: body }));
        },
      ),
      { numRuns: 200 },
    );
  });
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { hasControls } from '@standin/contract';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toLogEntry, type LogEntry } from '../log-entry.ts';
import { anyLogRow, newLogRow } from '../log-row.testing.ts';
import { curlCommand } from './curl-command.ts';
import { fetchSnippet } from './fetch-snippet.ts';
import { har, harEntry, HAR_BEGIN, HAR_END } from './har.ts';
import { startRawServer, type RawServer } from './raw-server.testing.ts';
import { requestMessage } from './request-message.ts';
import { anyRequest } from './request.testing.ts';
import { latin1Text, utf8Bytes, wireBytes, wireLength, wireText } from './wire-bytes.ts';

const entry = toLogEntry(newLogRow());

describe('curl', () => {
  it('does not wait for the body of a response to HEAD', () => {
    const request = { ...entry.request, body: '' };
    expect(curlCommand({ ...entry, method: 'HEAD', request }).text).toMatch(
      /^curl --http1.1 --globoff --path-as-is --head /,
    );
  });

  it('leaves out the body of a HEAD request, and what describes it', () => {
    const headers = [
      ['Transfer-Encoding', 'chunked'] as const,
      ['expect', '100-continue'] as const,
      ['a', 'b'] as const,
    ];
    for (const body of ['x', '']) {
      const { text, notes } = curlCommand({ ...entry, method: 'HEAD', request: { ...entry.request, body, headers } });
      expect(text).toMatch(/ --head .*\n {2}-H 'a: b' \\\n {2}-H 'User-Agent:' \\\n {2}-H 'Accept:'$/);
      expect(notes).toEqual([
        'curl sends HEAD requests without a body, so the command leaves out the body and the headers that describe it.',
      ]);
    }
  });

  it('is as readable as a handwritten command', () => {
    const withKey = newLogRow({
      requestHeaders: [
        ['host', 'localhost:8080'],
        ['x-api-key', 'sha256:0123abcd'],
        ['content-type', 'application/json'],
        ['content-length', '7'],
      ],
    });
    const { text, notes } = curlCommand(toLogEntry(withKey), { baseUrl: 'http://localhost:8080' });
    expect(text).toMatchInlineSnapshot(`
      "curl --http1.1 --globoff --path-as-is -X POST 'http://localhost:8080/k3v9k3v9k3v9k3v9/v1/orders?a=1' \\
        -H "x-api-key: \${STANDIN_API_KEY:?set it to the account API key}" \\
        -H 'content-type: application/json' \\
        -H 'content-length: 7' \\
        -H 'User-Agent:' \\
        -H 'Accept:' \\
        --data-raw '{"a":1}'"
    `);
    expect(notes).toEqual(['The log does not contain the API key. Set STANDIN_API_KEY to it.']);
  });

  it.each([
    ['an invalid host from the caller', "evil'$(x)", 'http://localhost/'],
    ['a host with a port', 'shop.example:8080', 'http://shop.example:8080/'],
    ['an IPv6 address', '[::1]:80', 'http://[::1]:80/'],
  ])('uses %s only if it is a valid host and there is no base URL', (_, host, url) => {
    expect(curlCommand(toLogEntry(newLogRow({ requestHeaders: [['host', host]] }))).text).toContain(`'${url}`);
  });

  it('shows the command that runs, with control characters in octal', () => {
    const hostile = Buffer.from('a\u202e\u2066\u2028\x9b\x1bb').toString('latin1');
    const row = newLogRow({ requestHeaders: [['x-a', hostile]], requestBody: Buffer.from(hostile, 'latin1') });
    const { text } = curlCommand(toLogEntry(row));
    expect(hasControls(text.replaceAll('\n', ''))).toBe(false);
    expect(text).toContain(String.raw`"$(printf '\342\200\256\342\201\246`);
  });

  it('names a file if the body is too long for a command, and lists what the command omits', () => {
    const row = newLogRow({ requestBody: Buffer.alloc(2 ** 20 + 1), requestTrailers: [['x-sum', '1']] });
    const { text, notes } = curlCommand(toLogEntry(row));
    expect(text).toContain(`--data-binary '@${row.id}-request.bin'`);
    expect(notes).toHaveLength(2);
  });

  it('omits an Expect header without a body, for which curl would wait forever', () => {
    const requestHeaders = [
      ['Expect', '100-continue'],
      ['Transfer-Encoding', 'chunked'],
    ] as const;
    const { text } = curlCommand(toLogEntry(newLogRow({ requestHeaders, requestBody: Buffer.alloc(0) })));
    expect(text).not.toContain('Expect: 100');
    expect(text).toContain("--data-raw ''");
  });
});

describe('fetch', () => {
  const TARGET_NOTE = 'fetch cannot send this path and query unchanged. Use cURL instead.';
  const withRequest = (change: Partial<LogEntry['request']>): LogEntry => {
    return { ...entry, request: { ...entry.request, ...change } };
  };

  it.each(['/a#b?c=1', '/a/../b', '/a/%2e/b', '/a\\b', '/a"b', '/%zz#', '/\xe9'])(
    'has a note if it sends another target than %s',
    (target) => {
      const { text, notes } = fetchSnippet(withRequest({ target }), { baseUrl: 'http://gateway' });
      expect(notes).toContain(TARGET_NOTE);
      const [, url = ''] = /fetch\((".*?[^\\]"), \{$/m.exec(text) ?? [];
      // A fragment would not be sent at all.
      expect(new URL(JSON.parse(url) as string).hash).toBe('');
    },
  );

  it('has the path of a target in absolute form, and its host by default', () => {
    const target = 'http://mocks.example:8080/a?b=c';
    const { text, notes } = fetchSnippet(withRequest({ target }), { baseUrl: 'http://gateway' });
    expect(text).toContain('fetch("http://gateway/a?b=c", {');
    expect(notes).toContain(TARGET_NOTE);
    expect(fetchSnippet(withRequest({ target })).text).toContain('fetch("http://mocks.example:8080/a?b=c", {');
    expect(harEntry(withRequest({ target })).request.url).toBe('http://mocks.example:8080/a?b=c');
  });

  it.each(['/', '/a//b', '/a?b=c&d', '/%E9', '/a;b=1,2'])('has no note if it sends the target %s', (target) => {
    expect(fetchSnippet(withRequest({ target }), { baseUrl: 'http://gateway/base' }).notes).toEqual([]);
  });

  it('names the headers that it cannot send', () => {
    const headers = [
      ['Host', 'a'],
      ['Expect', '100-continue'],
      ['TE', 'trailers'],
      ['te', 'gzip'],
      ['x-a', '1'],
    ] as const;
    expect(fetchSnippet(withRequest({ headers })).notes).toEqual(['fetch cannot send the headers Expect and TE.']);
  });

  let server: RawServer;
  beforeAll(async () => {
    server = await startRawServer();
  });
  afterAll(() => server.close());

  it.each(['shop:99999', '[:::]', '1.2.3.999'])('does not fail on an invalid host from the caller: %s', (host) => {
    const { text, notes } = fetchSnippet(withRequest({ headers: [['Host', host]] }));
    expect(text).toContain('fetch("http://localhost/');
    expect(notes).toEqual([]);
  });

  it('sends the method, target, headers and body of generated requests from Node', async () => {
    const sample = fc
      .sample(anyRequest(new URL(server.url).host), 100)
      .filter(({ method, request }) => (method !== 'GET' && method !== 'HEAD') || request.body === '');
    const script = sample.map((one, index) => {
      const headers = [...one.request.headers, ['x-index', String(index)] as const];
      return `{\n${fetchSnippet({ ...one, request: { ...one.request, headers } }, { baseUrl: server.url }).text}}\n`;
    });
    const env = { ...process.env, STANDIN_API_KEY: 'the-key' };
    // Use stdin, because some bodies are too long for an argument.
    const running = promisify(execFile)(process.execPath, ['--input-type=module', '-'], { env });
    running.child.stdin?.end(script.join(''));
    await running;
    const arrived = new Map(server.requests.map((one) => [one.headers.find(([name]) => name === 'x-index')?.[1], one]));
    for (const [index, one] of sample.entries()) {
      const { method, request } = one;
      const got = arrived.get(String(index));
      const [sentMethod, sentTarget] = got?.requestLine.split(' ') ?? [];
      expect(sentMethod).toBe(method);
      const isUnchanged = !fetchSnippet(one, { baseUrl: server.url }).notes.includes(TARGET_NOTE);
      expect(sentTarget === request.target, request.target).toBe(isUnchanged);
      expect(got?.body.toString('latin1'), fetchSnippet(one).text).toBe(latin1Text(wireBytes(request)));
      const key = request.headers.some(([name]) => name.toLowerCase() === 'x-api-key');
      expect(got?.headers.some(([name, value]) => name.toLowerCase() === 'x-api-key' && value === 'the-key')).toBe(key);
    }
  }, 30_000);

  it('reads a body that is too long to paste from a downloaded file', () => {
    const { text, notes } = fetchSnippet(
      toLogEntry(newLogRow({ id: 'a-b', requestBody: Buffer.alloc(2 ** 20 + 1, '漢') })),
    );
    expect(text.length).toBeLessThan(2_000);
    expect(text).toContain('body: await (await import(\'node:fs/promises\')).readFile("a-b-request.bin"),');
    expect(notes.join(' ')).toContain('Download it');
  });

  it('is ASCII and contains nothing that ends a script element', () => {
    fc.assert(
      fc.property(anyLogRow, (row) => {
        expect(fetchSnippet(toLogEntry(row)).text).toMatch(/^[\n -~]*$/);
        expect(fetchSnippet(toLogEntry(row)).text).not.toMatch(/<\/script/i);
      }),
    );
  });
});

describe('HAR', () => {
  it('contains everything that version 1.2 requires, and the bytes of both bodies', () => {
    fc.assert(
      fc.property(anyLogRow, (row) => {
        const { request, response, time, timings } = harEntry(toLogEntry(row));
        expect(Math.abs(timings.send + timings.wait + timings.receive - time)).toBeLessThanOrEqual(time * 1e-9);
        expect(request.headers.map(({ name, value }) => [name, value])).toEqual(row.requestHeaders);
        expect(response.headers.map(({ name, value }) => [name, value])).toEqual(row.responseHeaders);
        const { text = '', _encoding = 'utf8' } = request.postData ?? {};
        expect(Buffer.from(text, _encoding).equals(row.requestBody)).toBe(true);
        const content = response.content;
        expect(Buffer.from(content.text ?? '', content.encoding ?? 'utf8').equals(row.responseBody)).toBe(true);
      }),
    );
  });

  it('notes what the format cannot express', () => {
    const row = newLogRow({
      requestBody: Buffer.from([0xff]),
      requestTrailers: [['x-sum', '1']],
      responseTruncated: true,
      responseBodyBytes: 100,
      upstreamError: 'refused',
      response: 'gold',
      delayUs: 1_500,
      templateError: 'no such key',
      deliveryId: 'evt_1',
    });
    expect(harEntry(toLogEntry(row), { baseUrl: 'https://mocks.example' })).toMatchObject({
      request: {
        url: 'https://mocks.example/k3v9k3v9k3v9k3v9/v1/orders?a=1',
        queryString: [{ name: 'a', value: '1' }],
        postData: { text: '/w==', _encoding: 'base64', comment: 'The body is not UTF-8, so its text is base64.' },
        comment: 'Trailers: x-sum: 1',
      },
      response: { content: { comment: 'Captured 8 of 100 bytes.' } },
      _upstreamError: 'refused',
      _responseName: 'gold',
      _delayMs: 1.5,
      _templateError: 'no such key',
      _deliveryId: 'evt_1',
    });
  });

  it('is the same if it is written in parts', () => {
    const entries = [harEntry(entry), harEntry(entry)];
    const pieces = HAR_BEGIN + entries.map((one) => JSON.stringify(one)).join(',') + HAR_END;
    expect(JSON.parse(pieces)).toEqual(JSON.parse(JSON.stringify(har(entries))));
  });
});

describe('bytes', () => {
  it('of a request are its head and its body', () => {
    expect(latin1Text(requestMessage(entry, utf8Bytes(entry.request.body)))).toBe(
      'POST /k3v9k3v9k3v9k3v9/v1/orders?a=1 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\r\n{"a":1}',
    );
  });

  it('match the reported count', () => {
    // Few generated bodies are text that is not ASCII.
    expect(wireLength({ body: '10 €', bodyEncoding: 'utf8' })).toBe(6);
    fc.assert(
      fc.property(anyLogRow, (row) => {
        expect(wireLength(toLogEntry(row).request)).toBe(row.requestBody.length);
      }),
    );
  });

  it('of a header are read as UTF-8 if valid, and as Latin-1 otherwise', () => {
    expect(wireText('abc')).toEqual({ text: 'abc', charset: 'ascii' });
    expect(wireText('\xc3\xa9')).toEqual({ text: 'é', charset: 'utf-8' });
    expect(wireText('caf\xe9')).toEqual({ text: 'café', charset: 'latin-1' });
  });
});

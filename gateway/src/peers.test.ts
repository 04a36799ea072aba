import { once } from 'node:events';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type {
  EndpointConfig,
  ForwardActionConfig,
  HeaderPair,
  ResponseConfig,
  ValueCondition,
} from '@standin/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  project,
  request,
  serverUrl,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import { exchange, RawClient, rejectionCode } from './raw-client.testing.ts';

/**
 * What the tests of other mock servers and proxies check about forwarding, matching and templates, checked here. Cases are grouped by the
 * peer's test file. The expected result is that of the RFC or of our guides, not that of the peer.
 */
type ByPeer<Case> = Readonly<Record<string, readonly Case[]>>;
const namedCases = <Case>(byPeer: ByPeer<Case>) =>
  Object.entries(byPeer).flatMap(([peer, cases]) => cases.map((one) => [peer, one] as const));

type Method = EndpointConfig['method'];
/** Text is latin1, with one character for each byte. */
interface Sent {
  readonly method: string;
  readonly path: string;
  /** Besides `host`, the key and `content-length`. */
  readonly lines: readonly string[];
  readonly body: string;
}
const latin1 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('latin1');
const get = (path = '', ...lines: string[]): Sent => ({ method: 'GET', path, lines, body: '' });
const post = (body: string, ...lines: string[]): Sent => ({ method: 'POST', path: '', lines, body });
const form = (body: string): Sent => post(body, 'content-type: application/x-www-form-urlencoded');
/** @param parts from the parameters of Content-Disposition on */
const multipart = (type: string, parts: readonly string[], { boundary = 'b', end = '\r\n' } = {}): Sent => {
  const sections = parts.map((part) => `--${boundary}\r\nContent-Disposition: form-data; ${part}\r\n`);
  return post(`${sections.join('')}--${boundary}--${end}`, `content-type: ${type}`);
};
const FORM_DATA = 'multipart/form-data; boundary=b';

const wire = ({ method, path, lines, body }: Sent): string => {
  const length = body === '' ? [] : [`content-length: ${body.length}`];
  return request(method, `/${URI}${path}`, [HOST, WITH_KEY, ...length, ...lines], body);
};
const send = (sent: Sent) => exchange(stand.gateway.url, wire(sent));

/** The values by lowercase name. An empty list means that the header is absent. */
type Headers = Readonly<Record<string, readonly string[]>>;
const pick = (headers: readonly HeaderPair[], wanted: Headers = {}): Headers =>
  Object.fromEntries(
    Object.keys(wanted).map((name) => [
      name,
      headers.filter(([known]) => known.toLowerCase() === name).map(([, value]) => value),
    ]),
  );

/** The upstream gets the path and the query after the slug as they are. */
const TARGETS: ByPeer<string> = {
  'wiremock ProxyAcceptanceTest': [
    '/%26%26The%20Lord%20of%20the%20Rings%26%26',
    '/example/',
    '/example',
    '/',
    '/resource?param=value',
  ],
  'wiremock LooseUrlAcceptanceTest': ['/foo/bar?q={}', '/dodgy-chars?filter={"accountid":"1"}'],
  'prism forwarder/index.spec.ts': ['/test?x=1&x=a&y=3'],
  'http-proxy common-test.js': [
    '/?foo=bar//&target=http://foobar.com/?a=1%26b=2&other=2',
    '/xyz/http://foobar.com/http://foobar.com/https://foobar.com',
  ],
  'http-proxy-middleware.spec.ts': ['/b/c/dp?q=1&r=[2,3]'],
  'fastify-reply-from full-querystring-url.test.js': ['/hi?a=/ho/%2E%2E/hi'],
};

type Reply = (response: ServerResponse) => void;
const empty =
  (status: number, headers: OutgoingHttpHeaders = {}): Reply =>
  (response) =>
    response.writeHead(status, { ...headers, 'content-length': 0 }).end();

interface ForwardCase {
  readonly name: string;
  readonly sent: Sent;
  readonly reply?: Reply;
  /** What the upstream gets. */
  readonly seen?: { readonly method?: string; readonly body?: string; readonly headers?: Headers };
  /** What the caller gets. */
  readonly got?: { readonly status?: number; readonly body?: string; readonly headers?: Headers };
}
const BINARY = latin1(Buffer.from([0x10, 0x49, 0xb7, 0x46, 0xe6, 0x95, 0x00, 0x0d, 0x0a, 0xff]));
const GZIPPED = latin1(gzipSync('{"a": 1}'));
const UTF8 = latin1('文');
const HTTP2_SETTINGS = 'HTTP2-Settings: AAEAABAAAAIAAAABAAN';

const FORWARD: ByPeer<ForwardCase> = {
  'wiremock ProxyAcceptanceTest': [
    {
      name: 'repeated headers stay separate',
      sent: get('/up/a', 'Accept: accept1', 'Accept: accept2'),
      seen: { headers: { accept: ['accept1', 'accept2'] } },
    },
    {
      name: 'no accept-encoding and no user-agent are added',
      sent: get('/up/a', 'Cookie: session=1234'),
      seen: { headers: { 'accept-encoding': [], 'user-agent': [], cookie: ['session=1234'] } },
    },
    {
      name: 'a header that is set replaces that of the caller, and the Host header can be kept',
      sent: get('/changed/a', 'A: doh'),
      seen: { headers: { a: ['b'], host: ['gateway'] } },
      got: { headers: { 'x-additional-header': ['Yep'] } },
    },
    {
      name: 'binary bodies pass in both directions',
      sent: { ...post(BINARY), path: '/up/binary' },
      reply: (response) => response.end(Buffer.from(BINARY, 'latin1')),
      seen: { body: BINARY, headers: { 'content-length': ['10'], 'transfer-encoding': [] } },
      got: { body: BINARY },
    },
    {
      name: 'a compressed body stays compressed',
      sent: { ...post(GZIPPED, 'content-encoding: gzip'), path: '/up/gzipped' },
      seen: { body: GZIPPED, headers: { 'content-encoding': ['gzip'] } },
    },
    ...(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).map((method) => ({
      name: `the body of a ${method} request is passed on`,
      sent: { ...post('Proxied content'), method, path: '/up/a' },
      seen: { method, body: 'Proxied content', headers: { 'content-length': ['15'] } },
    })),
    {
      name: 'the length in a response to HEAD is passed on',
      sent: { ...get('/up/length'), method: 'HEAD' },
      reply: (response) => response.writeHead(200, { 'content-length': 4 }).end(),
      got: { body: '', headers: { 'content-length': ['4'], 'transfer-encoding': [] } },
    },
    {
      name: 'Set-Cookie headers in different cases all arrive, in their order',
      sent: get('/up/cookies'),
      reply: (response) =>
        response.writeHead(200, ['Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'SET-COOKIE', 'c=3']).end(),
      got: { headers: { 'set-cookie': ['a=1', 'b=2', 'c=3'] } },
    },
    {
      name: 'an upstream that is too slow results in 504',
      sent: get('/slow'),
      reply: () => undefined,
      got: { status: 504 },
    },
  ],
  'wiremock ProxyResponseRendererTest': [
    {
      name: 'an empty POST has a length and gets no type',
      sent: { ...post('', 'content-length: 0'), path: '/up/a' },
      seen: { body: '', headers: { 'content-length': ['0'], 'content-type': [], 'transfer-encoding': [] } },
    },
    {
      name: 'a GET without a body gets none',
      sent: get('/up/a'),
      seen: { body: '', headers: { 'content-length': [], 'transfer-encoding': [] } },
    },
    {
      name: 'without CORS in the project, the headers of the upstream about it are passed on',
      sent: get('/up/a', 'origin: https://app.example.com'),
      reply: empty(200, { 'Access-Control-Allow-Headers': 'X-Blah' }),
      got: { headers: { 'access-control-allow-headers': ['X-Blah'], 'access-control-allow-origin': [] } },
    },
  ],
  'prism forwarder/index.spec.ts': [
    {
      name: 'headers for one connection are not passed on',
      sent: get('/up/a'),
      reply: (response) => {
        const lines = ['connection', 'x-hop', 'x-hop', '1', 'keep-alive', 'timeout=9', 'proxy-authenticate', 'Basic'];
        response.writeHead(200, [...lines, 'proxy-connection', 'close', 'upgrade', 'h2c', 'x-end', '1']).end();
      },
      got: { headers: { 'x-hop': [], 'proxy-authenticate': [], 'proxy-connection': [], upgrade: [], 'x-end': ['1'] } },
    },
  ],
  'prism proxy.501.remock.txt': [
    {
      name: 'a mock can respond instead of a 501',
      sent: get('/fallback'),
      reply: empty(501),
      got: { status: 201, body: '{"mock": true}' },
    },
  ],
  'mockoon server-proxy.test.ts': [
    {
      name: 'a more specific endpoint responds instead of the upstream',
      sent: get('/up/hard-route'),
      got: { body: '{"route": "hard"}' },
    },
    {
      name: 'the specific endpoint of another method does not',
      sent: { ...post('{}'), path: '/up/hard-route' },
      seen: { method: 'POST', body: '{}' },
    },
    {
      name: 'a request that meets the conditions gets the mock',
      sent: get('/rule?rule=match'),
      got: { body: '{"route": "match"}' },
    },
    {
      name: 'a request that does not meet the conditions is forwarded',
      sent: get('/rule?rule=notmatch'),
      reply: (response) => response.end('rule'),
      got: { body: 'rule' },
    },
  ],
  'mockoon server-upgrade.test.ts': [
    {
      name: 'an upgrade to HTTP/2 is ignored, and not passed on',
      sent: get('/up/a', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: HTTP/2.0', HTTP2_SETTINGS),
      seen: { method: 'GET', headers: { upgrade: [], 'http2-settings': [] } },
    },
  ],
  'http-proxy passes-web-outgoing-test.js': [
    ...[201, 301, 302, 307, 308].map((status) => ({
      name: `the location of a ${status} is mapped to the project`,
      sent: get('/changed/a'),
      reply: (response: ServerResponse) => empty(status, { location: `${serverUrl(upstream)}/api/b` })(response),
      got: { status, headers: { location: [`/${URI}/changed/b`] } },
    })),
    {
      name: 'so is a location on the host that the upstream got',
      sent: get('/changed/a'),
      reply: empty(302, { location: 'http://gateway/api/b?c=d|e#f' }),
      got: { status: 302, headers: { location: [`/${URI}/changed/b?c=d|e#f`] } },
    },
    {
      name: 'a location on another port stays as it is',
      sent: get('/changed/a'),
      reply: empty(302, { location: 'http://127.0.0.1:1/api/b' }),
      got: { status: 302, headers: { location: ['http://127.0.0.1:1/api/b'] } },
    },
    {
      name: 'the path of a cookie is mapped, and its domain stays',
      sent: get('/changed/a'),
      reply: empty(200, { 'set-cookie': ['a; domain=my.domain; path=/api', 'b; domain=my.domain; path=/'] }),
      got: {
        headers: { 'set-cookie': [`a; domain=my.domain; path=/${URI}/changed`, 'b; domain=my.domain; path=/'] },
      },
    },
  ],
  'http-proxy passes-web-incoming-test.js': [
    {
      name: 'an empty chunked DELETE is not chunked at the upstream',
      sent: { method: 'DELETE', path: '/up/a', lines: ['transfer-encoding: chunked'], body: '' },
      seen: { method: 'DELETE', body: '', headers: { 'transfer-encoding': [] } },
    },
  ],
  'http-proxy-middleware.spec.ts': [
    {
      name: 'bytes beyond ASCII stay in headers and in the body',
      sent: { ...post(UTF8, `x-name: ${UTF8}`), path: '/up/a' },
      reply: empty(200, { 'x-name': UTF8 }),
      seen: { body: UTF8, headers: { 'x-name': [UTF8] } },
      got: { headers: { 'x-name': [UTF8] } },
    },
    {
      name: 'an upstream that closes the connection results in 502',
      sent: { ...post('{}'), path: '/up/a' },
      reply: (response) => response.destroy(),
      got: { status: 502 },
    },
  ],
  'fastify-reply-from': [
    {
      name: 'fix-338: a PUT without a body has the length 0',
      sent: { ...get('/up/a'), method: 'PUT' },
      reply: (response) => response.writeHead(204).end(),
      seen: { body: '', headers: { 'content-length': ['0'], 'transfer-encoding': [] } },
      got: { status: 204, headers: { 'content-length': [] } },
    },
    {
      name: 'coverage-gaps: headers that Connection names are not passed on',
      sent: get('/up/a', 'Connection: x-strip-me', 'X-Strip-Me: should-be-removed', 'x-end: 1'),
      seen: { headers: { 'x-strip-me': [], 'x-end': ['1'] } },
    },
    {
      name: 'full-querystring-url: a 205 with a body is passed on as it is',
      sent: get('/up/a'),
      reply: (response) => response.writeHead(205, { 'content-length': 2 }).end('hi'),
      got: { status: 205, body: 'hi' },
    },
    {
      name: 'fix-GHSA-2q7r-29rg-6m5h: encoded dot segments do not reach the upstream',
      sent: get('/up/ho/%2E%2E/hi'),
      got: { status: 404 },
    },
    {
      name: 'fix-GHSA-v2v2-hph8-q5xp: a type with a space before its parameter does not change the body',
      sent: { ...post('"{\\"a\\":1}"', 'content-type: application/json ; charset=utf-8'), path: '/up/a' },
      seen: { body: '"{\\"a\\":1}"', headers: { 'content-type': ['application/json ; charset=utf-8'] } },
    },
  ],
};

type Conditions = Partial<Pick<ResponseConfig, 'headers' | 'queryParams' | 'cel'>>;
/** The request meets the conditions, or else the expression, unless the last element is false. */
type ConditionCase = readonly [name: string, sent: Sent, when: Conditions | string, isMet?: false];
const query = (name: string, type: ValueCondition['type'], value?: string): Conditions => ({
  queryParams: [{ name, type, ...(value !== undefined && { value }) }],
});
const COOKIES = 'cookie: my_cookie=xxx-mycookievalue-xxx; my_other_cookie=exact-other-value; irrelevant=whatever';

const CONDITIONS: ByPeer<ConditionCase> = {
  'wiremock StubbingAcceptanceTest': [
    ['query parameters are decoded', get('?p=one%20two+three%20%3F'), query('p', 'Exact', 'one two three ?')],
    ['the name of one may have brackets', get('?filter[id]=1'), query('filter[id]', 'Exact', '1')],
    ['its brackets may be encoded', get('?filter%5Bid%5D=1'), query('filter[id]', 'Exact', '1')],
    ['braces and quotes need not be encoded', get('?f={"a":"1"}'), query('f', 'Exact', '{"a":"1"}')],
    ['a parameter without a value is not absent', get('?search'), query('search', 'Absent'), false],
    ['one of several values is enough', get('?q=4&q=2&q=3'), query('q', 'RegularExpression', '[12]')],
    [
      'the names of headers have no case',
      get('', 'one: abcd1234', 'TWO: thing', 'tHrEe: x'),
      {
        headers: [
          { name: 'ONE', type: 'Exact', value: 'abcd1234' },
          { name: 'two', type: 'RegularExpression', value: '[a-z]{5}' },
          { name: 'Three', type: 'Present' },
        ],
      },
    ],
    ['a header can be empty', get('', 'X-E:'), { headers: [{ name: 'X-E', type: 'Exact', value: '' }] }],
    ['all values of a header count', get('', 'q: 1', 'q: 2', 'q: 3'), "['1', '3'].all(q, q in request.headersAll.q)"],
    ['form fields are decoded', form('key=one%20two+three%20%3F'), "request.form.key == 'one two three ?'"],
    ['a form field may have brackets', form('key[one]=first'), "request.form['key[one]'] == 'first'"],
    ['a GET can have a form', { ...form('key=value'), method: 'GET' }, "request.form.key == 'value'"],
    ['a DELETE can have a form', { ...form('key=value'), method: 'DELETE' }, "request.form.key == 'value'"],
    ['a field can be absent', post('{"counter": 123}'), 'request.json.counter == 123 && !has(request.json.wrong)'],
    ['a body is searched', post('Bl@56565@Blah'), "request.body.matches('Blah') && request.body.matches('@[0-9]{5}@')"],
    ['times are compared', post('{"d": "2021-06-22T23:59:59Z"}'), 'timestamp(request.json.d).getFullYear() < 2022'],
    [
      'a part of a form can be JSON',
      multipart(FORM_DATA, ['name="json"\r\nContent-Type: application/json\r\n\r\n{ "counter": 123 }']),
      'parseJson(request.form.json).counter == 123',
    ],
  ],
  'wiremock MultipartBodyMatchingAcceptanceTest': [
    [
      'a text is read beside binary data without a file name',
      multipart(FORM_DATA, [
        'name="file"\r\nContent-Type: application/octet-stream\r\n\r\n\xff\xfe\x00\x01',
        'name="text"\r\n\r\nhello',
      ]),
      "request.form.text == 'hello'",
    ],
    [
      'the type may have capitals, the boundary quotes, and the end no line break',
      multipart('   Multipart/Form-Data; boundary="uuid:1f0c"', ['name="f1"\r\n\r\nhello', 'name="f2"\r\n\r\nworld'], {
        boundary: 'uuid:1f0c',
        end: '',
      }),
      "request.form.f1 == 'hello' && request.form.f2 == 'world'",
    ],
    ['no part is no error', post('', `content-type: ${FORM_DATA}`), "request.form.bits.matches('.*')", false],
    [
      'a large part is read',
      multipart(FORM_DATA, [`name="vlarge"\r\n\r\n${'a'.repeat(300_000)}`]),
      'size(request.form.vlarge) == 300000',
    ],
  ],
  'wiremock GzipAcceptanceTest': [
    ['a compressed body is decoded', post(GZIPPED, 'Content-Encoding: gzip'), `request.body == '{"a": 1}'`],
  ],
  'wiremock CookieMatchingAcceptanceTest': [
    ['a cookie is searched', get('', COOKIES), "request.cookies.my_cookie.contains('mycookievalue')"],
    ['a cookie is compared', get('', COOKIES), "request.cookies.my_other_cookie == 'exact-other-value'"],
    ['a cookie can be absent', get('', COOKIES), '!has(request.cookies.not_this_cookie)'],
    ['a malformed cookie is no error', get('', 'cookie: my_cookie;;sld%%'), "request.cookies.my_cookie != ''", false],
  ],
  'prism multipart-allow-empty-value.oas2.txt': [
    ['no boundary is no error', post('id', 'content-type: multipart/form-data'), 'has(request.form.id)', false],
  ],
  'mockoon response-rules-interpreter.test.ts': [
    ['an expression can ignore case', get('?prop=value'), query('prop', 'RegularExpression', '(?i)Value')],
    ['an expression has a case', get('?prop=value'), query('prop', 'RegularExpression', 'Value'), false],
    ['null is compared', post('{"prop1": null}'), 'request.json.prop1 == null'],
  ],
  'msw parseMultipartData.test.ts': [
    ...[';boundary=b', ';   charset=utf-8;  boundary="b"'].map((parameters): ConditionCase => [
      `line breaks around a text belong to it: ${parameters}`,
      multipart(`multipart/form-data${parameters}`, ['name="text2"\r\n\r\n\r\ntext 2\r\n']),
      String.raw`request.form.text2 == '\r\ntext 2\r\n'`,
    ]),
    ['another body is no error', post('{"a": ["b"]}', `content-type: ${FORM_DATA}`), 'has(request.form.a)', false],
  ],
};

/** By default, the template is text. */
type TemplateCase = readonly [name: string, sent: Sent, template: string, expected: string, type?: string];
const JSON_TYPE = 'application/json';
const DEEP = '[{"deep":{"property.with.dots":"val1","deeper":{"another.property":[{"final.property":"val2"}]}}}]';
const CODINGS = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync, zstd: zstdCompressSync };

const TEMPLATES: ByPeer<TemplateCase> = {
  'wiremock MappingsAcceptanceTest': [
    [
      'another charset',
      post('\xb9\xfa\xbc\xd2', 'content-type: text/plain; charset=GB2312'),
      '${request.body}',
      '国家',
    ],
  ],
  'wiremock ResponseTemplateTransformerTest': [
    ['cookies', get('', 'Cookie: session=1234; )((**#$@#=found'), "${request.cookies[')((**#$@#']}", 'found'],
    ['headers', get('', '123$%$^&__why_o_why: foundit'), "${request.headers['123$%$^&__why_o_why']}", 'foundit'],
    ['repeated parameters', get('?m=one&m=two'), '${request.queryAll.m[0]} ${request.queryAll.m[1]}', 'one two'],
  ],
  'wiremock ResponseTemplatingAcceptanceTest': [
    ['brackets in a parameter', get('?filter[id]=321'), "ID: ${request.query['filter[id]']}", 'ID: 321'],
    ['a body in base64', post('{"foo":"bar"}'), '${base64(request.body)}', 'eyJmb28iOiJiYXIifQ=='],
  ],
  'wiremock ParseJsonHelperTest': [
    ['an object', form('p={"parent":{"child":"val"}}'), '${parseJson(request.form.p).parent.child}', 'val'],
    ['a list', form('p=[{"key":1}]'), '${parseJson(request.form.p)[0].key}', '1'],
  ],
  'wiremock MultipartTemplatingAcceptanceTest': [
    ['no form', post('{}', 'content-type: application/json'), "text:${default(request.form.text, '')}", 'text:'],
    [
      'a text in a charset of its own',
      multipart(FORM_DATA, [
        'name="text"\r\nContent-Type: text/plain; charset=ISO-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\nhall\xe9',
      ]),
      '${request.form.text}',
      'hallé',
    ],
  ],
  'prism x-www-urlencoded-repeated-keys-multiple.oas2.txt': [
    ['a list', form('arr=a&arr=b&arr=c'), "${request.formAll.arr.join(',')} ${request.form.arr}", 'a,b,c a'],
  ],
  'prism form-data-allow-reserved-ok.oas3.txt': [
    [
      'reserved characters',
      form("r=:/?#[]@!$'()*,;&e&=&b=c=d"),
      '${request.formAll}',
      JSON.stringify({
        r: [":/?#[]@!$'()*,;"],
        e: [''],
        '': [''],
        b: ['c=d'],
      }),
      JSON_TYPE,
    ],
  ],
  'prism multipart-form-data-repeated-keys-multiple.oas3.txt, mockoon server-body-parsing.test.ts': [
    [
      'a list beside a file',
      multipart(FORM_DATA, [
        'name="array"\r\n\r\nvalue1',
        'name="file1"; filename="file1.txt"\r\nContent-Type: text/plain\r\n\r\nfile1 content',
        'name="array"\r\n\r\nvalue2',
      ]),
      '${request.formAll}',
      '{"array":["value1","value2"]}',
      JSON_TYPE,
    ],
  ],
  'mockoon utils.test.ts': Object.entries(CODINGS).map(([coding, compress]) => [
    `JSON in ${coding}`,
    post(latin1(compress('{"a": "Test"}')), `content-encoding: ${coding}`),
    '${request.json.a}',
    'Test',
  ]),
  'mockoon requests.test.ts': [
    ['no space between cookies', get('', 'cookie: a=1;b=hello%20this'), '${request.cookies.b}', 'hello%20this'],
  ],
  'mockoon request-helpers.test.ts': [
    [
      'values of JSON have their type',
      post('{"n": 1.0, "t": true, "z": null, "list": ["a", 2], "o": {"k": "v"}, "s": "a \\n \\"b\\""}'),
      '[${request.json.n}, ${request.json.t}, ${request.json.z}, ${request.json.list}, ${request.json.o}, ${request.json.s}]',
      '[1.0, true, null, ["a",2], {"k":"v"}, "a \\n \\"b\\""]',
      JSON_TYPE,
    ],
    [
      'a large number',
      post('\xef\xbb\xbf[12345678901234567890]'),
      '${request.json[0]}',
      '12345678901234567890',
      JSON_TYPE,
    ],
    ['a default', post('{}'), "${default(request.json.x, 'default')}", '"default"', JSON_TYPE],
    ['dots in a name', post(DEEP), "${request.json[0].deep['property.with.dots']}", 'val1'],
    ['the public URL', get(), '${url.project}', `https://mocks.example.com/${URI}`],
  ],
  'nock test_query.js': [
    ['a parameter is decoded once', get('?foo%26bar=hello%2520world'), "${request.query['foo&bar']}", 'hello%20world'],
    ['a value with commas is no list', get('?foo=bar%2Cbaz'), '${request.queryAll.foo.size()}', '1'],
    ['an empty query', get('?'), '${request.query.size()}', '0'],
  ],
  'nock test_body_match.js': [
    [
      'capitals in the type',
      post('a%5B0%5D.b=two+words', 'content-type: Application/X-WWW-Form-Urlencoded'),
      "${request.form['a[0].b']}",
      'two words',
    ],
  ],
};

type Mock = ResponseConfig['mock'];
type Got = Readonly<{ status: number; body: string; headers: Headers }>;
type MockCase = readonly [name: string, sent: Sent, mock: Partial<Mock>, got: Got];
const TYPE: HeaderPair = ['Content-Type', 'application/json; charset=UTF-8'];
const BIG_NUMBER = '{"bignumber":1234567890.12,"array":[1,2,3],"key":"value"}';

const MOCKS: ByPeer<MockCase> = {
  'wiremock MappingsAcceptanceTest': [
    [
      'compressed bytes are sent as they are',
      get(),
      {
        headers: [['content-encoding', 'gzip']],
        body: Buffer.from(GZIPPED, 'latin1').toString('base64'),
        bodyEncoding: 'base64',
      },
      { status: 200, body: GZIPPED, headers: { 'content-length': [String(GZIPPED.length)] } },
    ],
    ['JSON is sent as it is written', get(), { body: BIG_NUMBER }, { status: 200, body: BIG_NUMBER, headers: {} }],
    [
      'a status alone is an empty response',
      get(),
      { status: 202 },
      { status: 202, body: '', headers: { 'content-length': ['0'], 'content-type': [] } },
    ],
  ],
  'wiremock StubbingAcceptanceTest': [
    [
      'the type keeps its case',
      get(),
      { headers: [TYPE], body: '{}' },
      { status: 200, body: '{}', headers: { 'content-type': [TYPE[1]] } },
    ],
  ],
  'prism 204-no-content.oas3.txt': [
    [
      'a 204 has neither a length nor a type',
      get(),
      { status: 204 },
      { status: 204, body: '', headers: { 'content-length': [], 'content-type': [] } },
    ],
  ],
  'wiremock TransferEncodingAcceptanceTest': [
    [
      'HEAD has the length of GET',
      { ...get(), method: 'HEAD' },
      { body: BIG_NUMBER },
      { status: 200, body: '', headers: { 'content-length': [String(BIG_NUMBER.length)], 'transfer-encoding': [] } },
    ],
  ],
};

const PLAIN = { status: 200, headers: [], body: '', bodyEncoding: 'utf8' } as const;
const when = (conditions: Conditions, mock: Mock): Pick<EndpointConfig, 'responses'> => ({
  responses: [{ name: 'first', pathParams: [], headers: [], queryParams: [], ...conditions, mock }],
});
const forward = (
  slug: string,
  more: Partial<ForwardActionConfig>,
  method: Method = 'GET',
  rest: Partial<EndpointConfig> = {},
) =>
  endpoint(
    slug,
    { kind: 'Forward', url: `${serverUrl(upstream)}/api/\${path.path}`, ...more },
    { method, uid: `${method}${slug}`, name: `${method}${slug}`, ...rest },
  );
const endpointMethod = ({ method }: Sent): Method => (method === 'HEAD' ? 'GET' : (method as Method));
const text = (body: string, type = 'text/plain'): Mock => ({ ...PLAIN, headers: [['content-type', type]], body });

/** The endpoints of the cases without an upstream. */
const mockEndpoints = (): readonly EndpointConfig[] => [
  ...namedCases(CONDITIONS).map(([, [, sent, conditions]], index) =>
    endpoint(
      `/condition-${index}`,
      { kind: 'JSON', body: '"other"' },
      {
        method: endpointMethod(sent),
        uid: `condition-${index}`,
        ...when(typeof conditions === 'string' ? { cel: conditions } : conditions, text('met')),
      },
    ),
  ),
  ...namedCases(TEMPLATES).map(([, [, sent, body, , type]], index) =>
    endpoint(
      `/template-${index}`,
      {},
      {
        method: endpointMethod(sent),
        uid: `template-${index}`,
        ...when({}, { ...text(body, type), template: 'CEL' }),
      },
    ),
  ),
  ...namedCases(MOCKS).map(([, [, sent, mock]], index) =>
    endpoint(
      `/mock-${index}`,
      {},
      {
        method: endpointMethod(sent),
        uid: `mock-${index}`,
        ...when({}, { ...PLAIN, ...mock }),
      },
    ),
  ),
  endpoint('/reflect/{url}', {}, { method: 'GET', ...when({}, { ...text('${path.url}'), template: 'CEL' }) }),
  endpoint('/%26%26The%20Lord', {}, { method: 'GET', ...when({}, text('escaped')) }),
];

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: readonly HeaderPair[];
  readonly body: string;
}
const NOTHING: Seen = { method: undefined, url: undefined, headers: [], body: '' };
let seen = NOTHING;
let reply: Reply;
const record = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
  const body = Buffer.concat((await incoming.toArray()) as Buffer[]).toString('latin1');
  const { method, url, rawHeaders: raw } = incoming;
  const headers = raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []));
  seen = { method, url, headers, body };
  reply(response);
};
const upstream = createServer((incoming, response) => void record(incoming, response));
let stand: TestGateway;
const WEB = 'web0123456789abc';

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  const url = serverUrl(upstream);
  const cors = { allowOrigins: ['http://my.corp.com'], allowHeaders: ['*'], exposeHeaders: [] };
  stand = await startTestGateway({
    settings: { egress: { allowPrivate: true } },
    objects: [
      ...BASIC_OBJECTS,
      { ...project('web', WEB), cors },
      forward('/cors', { url }, 'GET', { projectUid: 'project-web' }),
      ...(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).map((method) => forward('/up/{path...}', {}, method)),
      forward('/changed/{path...}', {
        host: 'Preserve',
        requestHeaders: { set: [['a', 'b']], remove: [] },
        responseHeaders: { set: [['X-Additional-Header', 'Yep']], remove: [] },
        rewrite: ['Location', 'CookiePath'],
      }),
      forward('/slow', { url, timeoutMs: 200 }),
      forward('/fallback', {
        url,
        fallback: { on: ['ServerError'], mock: { status: 201, headers: [], body: '{"mock": true}' } },
      }),
      forward('/rule', { url }, 'GET', when(query('rule', 'Exact', 'match'), { ...PLAIN, body: '{"route": "match"}' })),
      endpoint('/up/hard-route', { kind: 'JSON', body: '{"route": "hard"}' }, { method: 'GET', uid: 'hard' }),
      ...mockEndpoints(),
    ],
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  upstream.closeAllConnections();
  upstream.close();
});

describe('forwarding', () => {
  test.each(namedCases(TARGETS))('%s: %s', async (_peer, target) => {
    reply = empty(200);
    await send(get(`/up${target}`));
    expect(seen.url).toBe(`/api${target}`);
  });

  for (const [peer, one] of namedCases(FORWARD))
    test(`${peer}: ${one.name}`, async () => {
      seen = NOTHING;
      reply = one.reply ?? empty(200);
      const isChunked = one.sent.lines.includes('transfer-encoding: chunked');
      const response = await exchange(stand.gateway.url, wire(one.sent) + (isChunked ? '0\r\n\r\n' : ''));
      const headers = pick(response.headers, one.got?.headers);
      const got = { status: response.status, body: response.body.toString('latin1'), headers };
      expect(got).toMatchObject({ status: 200, ...one.got });
      if (one.seen === undefined) return;
      expect({ ...seen, headers: pick(seen.headers, one.seen.headers) }).toMatchObject(one.seen);
    });

  test('mockoon server-proxy.test.ts: a body after 100 Continue is forwarded, without Expect', async () => {
    reply = empty(404);
    const client = await RawClient.connect(stand.gateway.url);
    try {
      client.send(request('POST', `/${URI}/up/a`, [HOST, WITH_KEY, 'Content-Length: 15', 'Expect: 100-continue']));
      await expect.poll(() => client.received.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
      client.send('{"test":"data"}\r\n');
      const [response] = await client.responses();
      expect([response?.status, seen.body]).toEqual([404, '{"test":"data"}']);
      expect(seen.headers.map(([name]) => name.toLowerCase())).not.toContain('expect');
    } finally {
      client.destroy();
    }
  });

  test('http-proxy passes-web-outgoing-test.js: a chunked response to HTTP/1.0 ends with the connection', async () => {
    reply = (response) => {
      response.write('first');
      response.end('last');
    };
    const client = await RawClient.connect(stand.gateway.url);
    try {
      client.send(wire(get('/up/a')).replace('HTTP/1.1', 'HTTP/1.0'));
      await client.closed();
      expect(client.received.toString()).toMatch(/\r\n\r\nfirstlast$/);
      expect(client.received.toString()).not.toMatch(/transfer-encoding/i);
    } finally {
      client.destroy();
    }
  });

  test('wiremock BrowserProxyAcceptanceTest: a client may take the gateway for its proxy', async () => {
    reply = empty(200);
    // RFC 9112 section 3.2.2: the host of the target replaces the Host header.
    const target = `http://shop.example:8080/${URI}/changed/search?q=things&limit=10`;
    await exchange(stand.gateway.url, request('GET', target, [HOST, WITH_KEY]));
    expect(seen.url).toBe('/api/search?q=things&limit=10');
    const hosts = { host: ['shop.example:8080'], 'x-forwarded-host': ['shop.example:8080'] };
    expect(pick(seen.headers, hosts)).toEqual(hosts);
  });

  // RFC 9110 section 5.5. Node's `flushHeaders` would write the head as UTF-8.
  test('http-proxy-middleware.spec.ts: bytes beyond ASCII stay in headers whose body is not there yet', async () => {
    reply = (response) => response.writeHead(200, { 'x-name': UTF8 }).end();
    const { headers } = await send(get('/up/a'));
    expect(pick(headers, { 'x-name': [] })).toEqual({ 'x-name': [UTF8] });
  });

  // A URL parser would encode them, which makes another URI (RFC 3986 section 2.2).
  test.each(["/b?sig=o'x", `/${UTF8}`])(
    'http-proxy passes-web-outgoing-test.js: the characters of a location that is mapped stay: %j',
    async (rest) => {
      reply = empty(302, { location: `/api${rest}` });
      const { headers } = await send(get('/changed/a'));
      expect(pick(headers, { location: [] })).toEqual({ location: [`/${URI}/changed${rest}`] });
    },
  );
});

describe('mocks', () => {
  for (const [index, [peer, [name, sent, , isMet = true]]] of namedCases(CONDITIONS).entries())
    test(`${peer}: ${name}`, async () => {
      const { body } = await send({ ...sent, path: `/condition-${index}${sent.path}` });
      expect(body.toString()).toBe(isMet ? 'met' : '"other"');
    });

  for (const [index, [peer, [name, sent, , expected]]] of namedCases(TEMPLATES).entries())
    test(`${peer}: ${name}`, async () => {
      const { body } = await send({ ...sent, path: `/template-${index}${sent.path}` });
      expect(body.toString()).toBe(expected);
    });

  for (const [index, [peer, [name, sent, , got]]] of namedCases(MOCKS).entries())
    test(`${peer}: ${name}`, async () => {
      const { status, body, headers } = await send({ ...sent, path: `/mock-${index}` });
      expect({ status, body: body.toString('latin1'), headers: pick(headers, got.headers) }).toEqual(got);
    });

  test.each([
    ['msw path-params-decode.node.test.ts', '/reflect/http%3A%2F%2Fa.example%3A5001%2Fb', 'http://a.example:5001/b'],
    ['wiremock ResponseTemplatingAcceptanceTest', '/reflect/foo?bar=1', 'foo'],
    ['wiremock StubbingAcceptanceTest', '/%26%26The%20Lord', 'escaped'],
  ])('%s: the path %s gets %j', async (_peer, path, expected) => {
    expect((await send(get(path))).body.toString()).toBe(expected);
  });

  test('wiremock StubbingAcceptanceTest: a longer path does not match', async () => {
    expect(rejectionCode(await send(get('/%26%26The%20Lord/extra')))).toBe('endpoint_not_found');
  });
});

describe('CORS', () => {
  const ORIGIN = 'Origin: http://my.corp.com';
  const ask = (method: string, ...lines: string[]) =>
    exchange(stand.gateway.url, request(method, `/${WEB}/cors`, [HOST, ORIGIN, ...lines]));

  test('wiremock ProxyResponseRendererTest: the upstream does not say which origins may read', async () => {
    reply = empty(200, { 'Access-Control-Allow-Origin': 'https://x.example' });
    const wanted = { 'access-control-allow-origin': ['http://my.corp.com'] };
    expect(pick((await ask('GET', WITH_KEY)).headers, wanted)).toEqual(wanted);
  });

  test('wiremock CrossOriginTest: a preflight names the origin and the methods', async () => {
    const { status, headers } = await ask('OPTIONS', 'Access-Control-Request-Method: POST');
    const wanted = {
      'access-control-allow-origin': ['http://my.corp.com'],
      'access-control-allow-methods': ['GET, POST, PUT, PATCH, DELETE, HEAD'],
    };
    expect([status, pick(headers, wanted)]).toEqual([204, wanted]);
  });

  test('prism cors-headers-disabled.txt: without CORS, OPTIONS gets a 405 with the methods', async () => {
    const { status, headers } = await send({ ...get('/slow'), method: 'OPTIONS' });
    expect([status, pick(headers, { allow: [] })]).toEqual([405, { allow: ['GET, HEAD'] }]);
  });
});

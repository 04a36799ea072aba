import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LogEntry } from '@standin/exchange';
import { testEntry, type TestEntryParts } from '@standin/exchange/entry-testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatLine } from '../terminal.ts';
import { Ignored } from './ignored.ts';
import { runTest, type TestOptions } from './run-test.ts';
import type { ReportFormat } from './format-report.ts';

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'standin-test-'))));
afterAll(() => rm(folder, { recursive: true }));

const object = (kind: string, name: string, spec: object) =>
  JSON.stringify({ apiVersion: 'standin.dev/v1alpha1', kind, metadata: { name }, spec });
const endpoint = (name: string, spec: object) =>
  object('Endpoint', name, { projectRef: { name: 'shop' }, displayName: 'x', method: 'GET', action: 'JSON', ...spec });

const MANIFESTS = [
  object('Account', 'default', {}),
  object('Project', 'shop', { accountRef: { name: 'default' }, cors: { allowOrigins: ['https://app.example.com'] } }),
  endpoint('get-order', {
    slug: '/v1/orders/{id}',
    responses: [
      { name: 'gold', when: { headers: [{ name: 'x-plan', value: 'gold' }] }, status: 202, body: '{"plan": "gold"}' },
    ],
    json: {
      template: 'CEL',
      headers: [{ name: 'location', value: '${url.project}/v1/orders/${path.id}' }],
      body: '{"id": ${path.id}, "request": ${requestId}, "items": [1, 2]}',
    },
  }),
  endpoint('empty', { slug: '/empty', json: { status: 204 } }),
  endpoint('text', { slug: '/text', json: { headers: [{ name: 'content-type', value: 'text/plain' }], body: 'a\nb' } }),
  endpoint('upstream', { slug: '/up', action: 'Forward', forward: { url: 'http://localhost:1/' } }),
  endpoint('rates', {
    slug: '/rates',
    action: 'Forward',
    forward: { url: 'http://localhost:1/' },
    json: { body: '{"base": "EUR", "rates": [{"to": "USD", "rate": 1.1}]}' },
  }),
  endpoint('links', {
    slug: '/links',
    json: { template: 'CEL', body: '[${request.headers["x-link"]}, "${url.project}"]' },
  }),
  endpoint('encoded', { slug: '/encoded', json: { template: 'CEL', body: '"${base64(url.project)}"' } }),
  endpoint('flaky', {
    slug: '/flaky',
    responses: [{ name: 'declined', when: { draw: { percent: 20 } }, status: 503, body: '[]' }],
    json: { body: '{}' },
  }),
  endpoint('broken', { slug: '/broken', json: { body: '{' } }),
];

const ID = '019a0000-0000-7000-8000-000000000001';
const ORDER = { id: '7', request: ID, items: [1, 2] };
const URL_BASE = 'https://mocks.example.com/g95gprojecturi';

/** Returns an entry of the project `shop`, to which a mock has responded. */
const entry = (parts: TestEntryParts & { readonly status?: number }, more: Partial<LogEntry> = {}): LogEntry => {
  const made = testEntry(parts);
  return {
    ...made,
    id: ID,
    namespace: 'default',
    project: 'shop',
    endpoint: 'get-order',
    method: 'GET',
    action: 'JSON',
    outcome: 'mocked',
    status: parts.status ?? 200,
    ...more,
    response: { ...made.response, status: parts.status ?? 200 },
  };
};
const JSON_TYPE = ['content-type', 'application/json'] as const;
const sent = (...headers: readonly (readonly [string, string])[]) => [
  ...headers,
  ['content-length', '9'] as const,
  ['date', 'then'] as const,
  ['vary', 'Origin'] as const,
];
const ORDER_PARTS: TestEntryParts = {
  path: '/v1/orders/7',
  responseHeaders: sent(['location', `${URL_BASE}/v1/orders/7`], JSON_TYPE),
  responseBody: JSON.stringify(ORDER),
};

interface RunOptions extends Partial<Pick<TestOptions, 'shape' | 'against' | 'openapi'>> {
  readonly ignore?: readonly string[];
  readonly format?: ReportFormat;
  /** A folder. By default, `MANIFESTS`. */
  readonly mocks?: string;
}

const run = async (
  entries: readonly LogEntry[],
  { ignore = [], format = 'text', shape = false, against = 'captured', openapi, mocks }: RunOptions = {},
) => {
  const [manifests, requests, report] = ['manifests.yaml', 'requests.ndjson', 'report'].map((name) =>
    path.join(folder, name),
  );
  await writeFile(manifests ?? '', MANIFESTS.join('\n---\n'));
  await writeFile(requests ?? '', entries.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const ignored = new Ignored();
  for (const text of ignore) ignored.add(text);
  const {
    requests: total,
    same,
    different,
    skipped,
  } = await runTest([mocks ?? manifests ?? ''], {
    entries: requests,
    ignored,
    shape,
    against,
    openapi,
    output: [{ format, file: report }],
    colour: false,
    data: folder,
    clickhouseUser: '',
    clickhousePassword: '',
    database: '',
  });
  return { total, same, different, skipped, text: await readFile(report ?? '', 'utf8') };
};
const changes = async (one: LogEntry, ...ignore: readonly string[]): Promise<readonly string[]> => {
  const { text } = await run([one], { ignore });
  return text
    .split('\n')
    .filter((line) => line.startsWith('      '))
    .map((line) => line.trim());
};

describe('responses of unchanged manifests are the same', () => {
  test.each<[string, LogEntry]>([
    ['a template, with the public URL and the id of then', entry(ORDER_PARTS)],
    ['HEAD', entry({ ...ORDER_PARTS, responseBody: '' }, { method: 'HEAD' })],
    [
      'a named response, with the headers for a page',
      entry(
        {
          path: '/v1/orders/8',
          status: 202,
          headers: [
            ['x-plan', 'gold'],
            ['origin', 'https://app.example.com'],
          ],
          responseHeaders: [...sent(JSON_TYPE), ['access-control-allow-origin', 'https://app.example.com']],
          responseBody: '{"plan": "gold"}',
        },
        { responseName: 'gold' },
      ),
    ],
    ['no content', entry({ path: '/empty', status: 204, responseHeaders: sent() }, { endpoint: 'empty' })],
    [
      'text',
      entry(
        { path: '/text', responseHeaders: sent(['Content-Type', 'text/plain']), responseBody: 'a\nb' },
        { endpoint: 'text' },
      ),
    ],
    ['another namespace than that of the manifests', entry(ORDER_PARTS, { namespace: 'team-a' })],
  ])('%s', async (_, one) => {
    expect(await run([one])).toMatchObject({ total: 1, same: 1, different: 0, skipped: 0 });
  });
});

test('draws are those of the captured requests', async () => {
  const drew = (last: number, isDeclined: boolean): LogEntry =>
    entry(
      {
        path: '/flaky',
        status: isDeclined ? 503 : 200,
        responseHeaders: sent(JSON_TYPE),
        responseBody: isDeclined ? '[]' : '{}',
      },
      { endpoint: 'flaky', id: ID.replace(/1$/, String(last)) },
    );
  const captured = [drew(1, false), drew(2, true), drew(3, false), drew(4, true), drew(5, false)];
  expect(await run(captured)).toMatchObject({ total: 5, same: 5 });
  expect(await changes(drew(1, true))).toContain('status 503 → 200');
});

test.each<[string, string, string]>([
  ['after another URL with the same end', 'https://mocks.example.com', 'https://evil.example'],
  ['after another URL, in a response to a request with another host', 'https://public.example', 'https://evil.example'],
  ['after a path with the same end', 'https://mocks.example.com', ''],
])('the public URL of then is found %s', async (_, url, other) => {
  const one = entry(
    {
      path: '/links',
      headers: [
        ['host', 'mocks.example.com'],
        ['x-link', `${other}/g95gprojecturi/x`],
      ],
      responseHeaders: sent(JSON_TYPE),
      responseBody: JSON.stringify([`${other}/g95gprojecturi/x`, `${url}/g95gprojecturi`]),
    },
    { endpoint: 'links' },
  );
  expect(await run([one])).toMatchObject({ same: 1 });
});

test.each(['http', 'https'])(
  'the public URL of then is found by the host with %s if the response has it only encoded',
  async (scheme) => {
    const one = entry(
      {
        path: '/encoded',
        headers: [['host', 'mocks.example.com']],
        responseHeaders: sent(JSON_TYPE),
        responseBody: JSON.stringify(btoa(`${scheme}://mocks.example.com/g95gprojecturi`)),
      },
      { endpoint: 'encoded' },
    );
    expect(await run([one])).toMatchObject({ same: 1 });
  },
);

describe('a difference', () => {
  test.each<[string, LogEntry, readonly string[]]>([
    ['of the status', entry({ ...ORDER_PARTS, status: 201 }), ['status 201 → 200']],
    [
      'of values, as written',
      entry({ ...ORDER_PARTS, responseBody: JSON.stringify({ ...ORDER, id: 7, items: [1, 3], old: null }) }),
      ['$.id: 7 → "7"', '$.items[1]: 3 → 2', '$.old: null → absent'],
    ],
    [
      'of headers',
      entry({ ...ORDER_PARTS, responseHeaders: sent(JSON_TYPE, ['x-old', 'é']) }),
      ['header location: absent → "http://localhost:8080/g95gprojecturi/v1/orders/7"', 'header x-old: "é" → absent'],
    ],
    [
      'of lines',
      entry(
        { path: '/text', responseHeaders: sent(['content-type', 'text/plain']), responseBody: 'a\nc' },
        { endpoint: 'text' },
      ),
      ['body - c', 'body + b'],
    ],
    ['of the path', entry({ ...ORDER_PARTS, path: '/v2/orders' }), ['No endpoint matches the path (404).']],
    ['of the method', entry(ORDER_PARTS, { method: 'PUT' }), ['No endpoint has the method (405).']],
    [
      'of an endpoint that has a mistake now',
      entry({ path: '/broken' }),
      ['The endpoint has a mistake (503): see standin validate.'],
    ],
    ['of a mock that is an upstream now', entry({ path: '/up' }), ['An upstream responds.']],
  ])('%s is listed', async (_, one, expected) => {
    const listed = await changes(one);
    expect(
      listed.map((line, index) =>
        expected[index]?.startsWith('header location')
          ? line.replace(/"http.*"/, '"http://localhost:8080/g95gprojecturi/v1/orders/7"')
          : line,
      ),
    ).toEqual(expected);
  });

  test('is ignored with --ignore', async () => {
    const one = entry({ ...ORDER_PARTS, responseBody: JSON.stringify({ ...ORDER, id: 7, items: [1, 3] }) });
    expect(await changes(one, '$.id')).toEqual(['$.items[1]: 3 → 2']);
    expect(await changes(one, '$.id', '$.items[*]')).toEqual([]);
    expect(await changes(entry({ ...ORDER_PARTS, responseHeaders: sent(JSON_TYPE) }), 'header:Location')).toEqual([]);
    const items = Array.from({ length: 600 }, () => 3);
    expect(
      await changes(entry({ ...ORDER_PARTS, responseBody: JSON.stringify({ ...ORDER, items }) }), '$.items[*]'),
    ).toEqual([]);
  });
});

test.each<[string, LogEntry, string]>([
  ['an upstream', entry({ path: '/up' }, { action: 'Forward', outcome: 'forwarded' }), 'an upstream responds'],
  ['an unknown project', entry(ORDER_PARTS, { project: 'other' }), 'the manifests do not contain the project'],
  ['no response', entry(ORDER_PARTS, { outcome: 'response_unknown' }), 'no complete response was captured'],
  [
    'a truncated response',
    entry({ ...ORDER_PARTS, truncated: true }),
    'only the beginning of the response was captured',
  ],
])('a request with %s is skipped, with the reason', async (_, one, reason) => {
  const { same, different, skipped, text } = await run([one]);
  expect({ same, different, skipped }).toEqual({ same: 0, different: 0, skipped: 1 });
  expect(text).toContain(`1 skipped (${reason})`);
});

test('a mock that replaces an upstream need not send the upstream’s headers', async () => {
  const one = entry(
    { ...ORDER_PARTS, responseHeaders: [...(ORDER_PARTS.responseHeaders ?? []), ['server', 'nginx']] },
    { action: 'Forward', outcome: 'forwarded' },
  );
  expect(await run([one])).toMatchObject({ same: 1 });
  expect(await changes({ ...one, response: { ...one.response, body: '{}' } })).toHaveLength(3);
});

test.each<[ReportFormat, string]>([
  ['text', '✓ default/shop get-order spec.forward: 1 same\n    ignored: $.request (UUIDs)\n'],
  ['json', '"ignored": [\n        {\n          "part": "$.request",\n          "reason": "UUIDs"\n        }\n      ]'],
  ['junit', '<system-out>ignored: $.request (UUIDs)</system-out>'],
  ['markdown', '\nignored: $.request (UUIDs)\n'],
])('a report as %s names what was ignored in the response of an upstream', async (format, expected) => {
  const body = JSON.stringify({ ...ORDER, request: ID.replace('1', '2') });
  const more = { action: 'Forward', outcome: 'forwarded' } as const;
  const { same, text } = await run([entry({ ...ORDER_PARTS, responseBody: body }, more)], { format });
  expect(same).toBe(1);
  expect(text).toContain(expected);
  // A mock has the id of the captured request.
  expect(await run([entry({ ...ORDER_PARTS, responseBody: body })])).toMatchObject({ different: 1 });
});

describe('with --against forwarded --shape, the mock in spec.json', () => {
  const rates = (body: unknown, more: { readonly status?: number; readonly type?: string } = {}) =>
    entry(
      {
        path: '/rates',
        status: more.status ?? 200,
        responseHeaders: sent(['content-type', more.type ?? 'application/json; charset=utf-8'], ['server', 'nginx']),
        responseBody: typeof body === 'string' ? body : JSON.stringify(body),
      },
      { endpoint: 'rates', action: 'Forward', outcome: 'forwarded' },
    );
  const drift = (...entries: readonly LogEntry[]) => run(entries, { shape: true, against: 'forwarded' });
  const RATES = { rates: [{ rate: 2, to: 'GBP' }], base: 'CHF' };

  test('is the same for other values, another order and what only some responses have', async () => {
    const more = {
      ...RATES,
      note: 'x',
      rates: [
        { rate: null, to: 'GBP' },
        { rate: 1e3, to: 'A', at: 1 },
      ],
    };
    expect(await drift(rates(RATES), rates(more))).toMatchObject({ same: 2, different: 0 });
  });

  test.each<[string, LogEntry, string]>([
    ['a type', rates({ ...RATES, rates: [{ rate: '2', to: 'GBP' }] }), '$.rates[*].rate: string → number'],
    ['a member', rates({ ...RATES, at: 1 }), '$.at: number → absent'],
    ['an absent member', rates({ rates: RATES.rates }), '$.base: absent → string'],
    ['the status', rates(RATES, { status: 201 }), 'status 201 → 200'],
    [
      'the media type',
      rates(RATES, { type: 'application/hal+json' }),
      'header content-type: application/hal+json → application/json',
    ],
    ['what is not JSON', rates('<html>'), 'body: other content → JSON'],
  ])('is different in %s', async (_, one, change) => {
    const { different, text } = await drift(one, one);
    expect(different).toBe(2);
    expect(text).toContain(`      ${change}\n`);
  });

  test('can be mended with what is printed', async () => {
    const { text } = await drift(rates({ ...RATES, at: 1 }));
    const body = '{"rates":[{"rate":2,"to":"GBP"}],"base":"CHF","at":1}';
    expect(text).toContain(
      `    spec.json with the newest captured response:\n      status: 200\n      body: ${JSON.stringify(body)}\n`,
    );
  });

  test('is not compared with errors of the upstream, or without an upstream or a mock', async () => {
    expect(await drift(rates(RATES), rates({ error: 'x' }, { status: 500 }))).toMatchObject({ same: 1, skipped: 1 });
    expect(await drift(entry(ORDER_PARTS))).toMatchObject({ skipped: 1 });
    const { text } = await drift(
      entry({ path: '/up' }, { endpoint: 'upstream', action: 'Forward', outcome: 'forwarded' }),
    );
    expect(text).toContain('1 skipped (the endpoint has no valid mock)');
  });
});

describe('with --openapi, the report', () => {
  const items = { type: 'array', items: { type: 'string' } };
  const content = { 'application/json': { schema: { properties: { items } } } };
  const operation = { responses: { 200: { description: 'x', content } } };
  const contract = { openapi: '3.1.0', paths: { '/v1/orders/{id}': { get: operation, put: operation } } };
  const checked = async (format: ReportFormat) => {
    const openapi = path.join(folder, 'shop.json');
    await writeFile(openapi, JSON.stringify(contract));
    return run([entry(ORDER_PARTS), entry({ ...ORDER_PARTS, path: '/v2' })], { format, openapi });
  };

  test.each<[ReportFormat, readonly string[]]>([
    [
      'text',
      [
        '✗ shop.json GET /v1/orders/{id}: 1 different\n',
        `    GET /v1/orders/7  ${ID}  2026-11-21T10:00:00.000000Z\n      response body $.items[0]: must be a string, but is a number\n`,
        '- shop.json PUT /v1/orders/{id}: no captured requests\n',
        '✗ shop.json not in the contract: 1 different\n',
        '\n2 requests: 0 same, 2 different, 0 skipped; 1 operation without captured requests\n',
      ],
    ],
    ['json', ['"contract": "shop.json"', '"operation": "GET /v1/orders/{id}"', '"unseen": 1']],
    [
      'junit',
      [
        '<testsuite name="shop.json" tests="3" failures="2" errors="0" skipped="1">',
        '<testcase classname="shop.json" name="GET /v1/orders/{id}">',
        '<testcase classname="shop.json" name="PUT /v1/orders/{id}">\n      <skipped message="no captured requests"/>',
      ],
    ],
    [
      'markdown',
      ['| Contract | Operation | Same | Different | Skipped |', '| shop.json | GET /v1/orders/{id} | 0 | 1 | 0 |'],
    ],
  ])('as %s is by operation', async (format, expected) => {
    const { text, different } = await checked(format);
    expect(different).toBe(2);
    expect(expected.filter((part) => !text.includes(part))).toEqual([]);
  });
});

describe('a folder that is broken in part', () => {
  test('is compared with what is not broken, and the others are different', async () => {
    const mocks = await mkdtemp(path.join(folder, 'mocks-'));
    await writeFile(path.join(mocks, 'good.yaml'), MANIFESTS.join('\n---\n'));
    await writeFile(path.join(mocks, 'bad.yaml'), 'kind: [');
    await writeFile(path.join(mocks, 'other.yaml'), endpoint('no-slug', {}));
    const { same, different, text } = await run([entry(ORDER_PARTS), entry({ path: '/broken' })], { mocks });
    expect({ same, different }).toEqual({ same: 1, different: 1 });
    expect(text).toContain('The endpoint has a mistake (503): see standin validate.');
  });
});

describe('an upstream that alternates between two shapes', () => {
  const alternating = (...shapes: readonly unknown[]) =>
    Array.from({ length: 20 }, (_, index) =>
      entry(
        { path: '/rates', responseHeaders: sent(JSON_TYPE), responseBody: JSON.stringify(shapes[index % 2]) },
        { endpoint: 'rates', action: 'Forward', outcome: 'forwarded' },
      ),
    );
  const RATES = { base: 'EUR', rates: [{ to: 'USD', rate: 1.1 }] };

  test('has the form of a mock that has one of them', async () => {
    const options = { shape: true, against: 'forwarded' } as const;
    const responses = alternating(RATES, { base: null, rates: 'none', note: 1 });
    expect(await run(responses, options)).toMatchObject({ same: 20 });
    const { different, text } = await run(alternating({ base: 1 }, { base: null }), options);
    expect(different).toBe(20);
    expect(text).toContain('$.base: null or number → string');
  });

  test('is different in the responses with the other one', async () => {
    const other = { ...RATES, base: null };
    const { same, different, text } = await run(alternating(RATES, other), { against: 'forwarded' });
    expect({ same, different }).toEqual({ same: 10, different: 10 });
    expect(text).toContain('$.base: null → "EUR"');
  });
});

describe('a report', () => {
  const HOSTILE = '</failure> | `````` ]]> \x1b[31m \x9b31m ##[error] \ufffe\n::error::x';
  const many = Array.from({ length: 30 }, () => entry({ ...ORDER_PARTS, responseBody: JSON.stringify(HOSTILE) }));
  const entries = [
    ...many,
    entry(ORDER_PARTS),
    entry({ path: '/up' }, { endpoint: 'upstream', action: 'Forward', outcome: 'forwarded' }),
  ];

  test('lists each endpoint and response, and the first differences of each', async () => {
    const { text } = await run(entries);
    expect(text).toContain('✗ default/shop get-order spec.json: 1 same, 30 different\n');
    expect(text).toContain('- default/shop upstream spec.forward: 1 skipped (an upstream responds)\n');
    expect(text).toContain('    10 more requests with differences\n');
    expect(text.trimEnd().split('\n').at(-1)).toBe('32 requests: 1 same, 30 different, 1 skipped');
    expect(text).not.toContain('\x1b');
  });

  test.each(['text', 'json', 'junit', 'markdown'] as const)(
    'as %s is the same for the same requests',
    async (format) => {
      const [first, second] = [await run(entries, { format }), await run(entries, { format })];
      expect(second.text).toBe(first.text);
    },
  );

  test('as JSON is printed as it is', async () => {
    const { text } = await run(entries, { format: 'json' });
    expect(JSON.parse(text)).toMatchObject({ requests: 32 });
    const printed = text.split('\n').map((line) => formatLine(line));
    expect(printed.join('\n')).toBe(text);
  });

  test('as JUnit is well-formed', async () => {
    const { text } = await run(entries, { format: 'junit' });
    // Without the allowed markup, nothing is left that a parser would read as markup, and no character that XML cannot contain.
    const rest = text
      .replace(
        /<\/?(testsuites|testsuite|testcase|failure|skipped|system-out)( \w+="[^"<]*")*\/?>|^<\?xml[^>]*\?>/g,
        '',
      )
      .replace(/&(amp|lt|gt|quot);/g, '');
    expect(rest).not.toMatch(/[<&]|[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/);
    expect(text).toContain('<testsuite name="default/shop" tests="2" failures="1" errors="0" skipped="1">');
  });

  test('as Markdown keeps captured text in its fence', async () => {
    const { text } = await run(entries, { format: 'markdown' });
    const [, fence = '', inside = ''] = /^(`{3,})text\n(.*?)\n\1$/ms.exec(text) ?? [];
    expect(fence.length).toBeGreaterThan(6);
    expect(inside).toContain('``````');
    expect(text).toContain('| default/shop | get-order | spec.json | 1 | 30 | 0 |');
  });
});

const GOOD = JSON.stringify(entry(ORDER_PARTS));
const HAR = { log: { version: '1.2', creator: { name: 'x', version: '1' }, entries: [] } };
const NO_ENTRY = 'is not a captured request, as standin logs -o json prints it: one in each line';
test.each<[string, string, number, string]>([
  ['text', 'no JSON', 1, NO_ENTRY],
  ['another object', '{"id": 1}', 1, NO_ENTRY],
  ['a list', `[${GOOD}]`, 1, NO_ENTRY],
  ['a truncated entry at the end', `${GOOD}\n\n${GOOD.slice(0, 200)}`, 3, NO_ENTRY],
  ['a truncated entry before another', `${GOOD}\n${GOOD.slice(0, 200)}\n${GOOD}`, 2, NO_ENTRY],
  ['two entries in a line', GOOD + GOOD, 1, NO_ENTRY],
  ['a HAR file', JSON.stringify(HAR), 1, 'is a HAR file: use the output of standin logs -o json instead'],
  ['an indented HAR file', JSON.stringify(HAR, null, 2), 1, NO_ENTRY],
  ['compressed entries', '\u001f\u008b\u0000', 1, NO_ENTRY],
])('a file with %s is refused with its line', async (_, text, line, message) => {
  const requests = path.join(folder, 'requests.ndjson');
  await writeFile(requests, text);
  await writeFile(path.join(folder, 'manifests.yaml'), MANIFESTS.join('\n---\n'));
  const options = {
    ignored: new Ignored(),
    shape: false,
    against: 'captured' as const,
    output: [],
    colour: false,
    data: '',
    clickhouseUser: '',
    clickhousePassword: '',
    database: '',
  };
  await expect(runTest([path.join(folder, 'manifests.yaml')], { ...options, entries: requests })).rejects.toThrow(
    `requests.ndjson:${line} ${message}`,
  );
  await expect(
    runTest([path.join(folder, 'manifests.yaml')], { ...options, entries: path.join(folder, 'no') }),
  ).rejects.toThrow('no does not exist');
});

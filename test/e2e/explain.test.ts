import { cp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, mock, QUICKSTART, readLog, standin } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

/** Text that a page must not interpret, and that a terminal must not see. */
const HOSTILE = '<img src=x onerror=alert(1)> "\x9b31m';

const header = (name: string, value: string) => ({ when: { headers: [{ name, value }] } });
const planManifest = (more: object = {}): string =>
  endpoint('plan', {
    ...mock('{"plan": "free"}'),
    slug: '/plans/{id}',
    method: 'GET',
    responses: [
      {
        name: 'gold',
        status: 202,
        body: '{"plan": "gold"}',
        when: { ...header('x-plan', 'gold').when, queryParams: [{ name: 'expand', type: 'Present' }] },
      },
      { name: 'silver', ...header('x-plan', 'silver'), body: '{"plan": "silver"}' },
      { name: 'seven', when: { pathParams: [{ name: 'id', value: '7' }] }, body: '{"plan": "seven"}' },
    ],
    ...more,
  });

let run: DashboardRun;
let browser: Browser;
let id: string;

const get = async (): Promise<string> => {
  const headers = { 'x-api-key': run.apiKey, 'x-plan': HOSTILE };
  const { body } = await request(`${run.url}/plans/7`, { headers });
  return body.text();
};
const apply = (text: string): Promise<void> => writeFile(path.join(run.manifests, 'plan.json'), text);
const explain = async (...args: string[]) => {
  const { code, stdout, stderr } = await standin(['explain', ...args]);
  return { code, lines: stdout.trimEnd().split('\n'), stderr };
};

beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
  await apply(planManifest());
  await eventually('the endpoint to respond', async () => (await get()) === '{"plan": "seven"}');
  const captured = await eventually('the request to be in the log', () => readLog(run.data, '-e', 'plan'), {
    accept: ({ length }) => length > 0,
  });
  id = captured[0]?.id ?? '';
});
afterAll(() => Promise.all([browser.close(), run.process.kill()]));

const EXPLAINED = [
  'endpoint  default/plan (GET /plans/{id})',
  'response  seven',
  'not       silver: 1 unmet condition',
  String.raw`          The header x-plan is "<img src=x onerror=alert(1)> \"\u009b31m". It must be "silver".`,
  'not       gold: 2 unmet conditions',
  String.raw`          The header x-plan is "<img src=x onerror=alert(1)> \"\u009b31m". It must be "gold".`,
  '          The query parameter expand is missing.',
];

test('standin test compares captured responses with those of changed manifests, without a server', async () => {
  const compare = async (...args: string[]) => {
    const { code, stdout } = await standin(['test', run.manifests, '--data', run.data, '-e', 'plan', ...args]);
    return { code, lines: stdout.trimEnd().split('\n') };
  };
  expect(await compare()).toEqual({
    code: 0,
    lines: ['✓ default/shop plan seven: 1 same', '', '1 request: 1 same, 0 different, 0 skipped'],
  });
  const changed = path.join(run.data, '../changed');
  await cp(run.manifests, changed, { recursive: true });
  await writeFile(path.join(changed, 'plan.json'), planManifest({ responses: undefined }));
  const { code, stdout } = await standin(['test', changed, '--data', run.data, '-e', 'plan']);
  expect(code).toBe(1);
  expect(stdout).toContain('      $.plan: "seven" → "free"\n');
  expect(await compare('--since', '0s')).toMatchObject({ code: 3, lines: ['No captured requests were found.'] });
  expect((await standin(['test', path.join(changed, 'none'), '--data', run.data])).code).toBe(2);
  expect((await standin(['test', changed, '--ignore', 'id'])).code).toBe(2);
  // A file is not filtered, so a filter is refused.
  const filtered = await standin(['test', changed, '--entries', '-', '--since', '1d']);
  expect(filtered.code).toBe(2);
  expect(filtered.stderr).toContain("option '--entries <file>' cannot be used with option '--since <time>'");
  expect((await standin(['test'])).stderr).toContain("missing required argument 'FILE'");
});

test('standin test --openapi checks captured requests with a contract', async () => {
  const contract = path.join(run.data, '../openapi.yaml');
  const checked = async (operations: string, ...args: readonly string[]) => {
    await writeFile(contract, `openapi: 3.1.0\npaths: {'/plans/{id}': {${operations}}}\n`);
    const { code, stdout } = await standin(['test', '--openapi', contract, '--data', run.data, '-e', 'plan', ...args]);
    return { code, stdout };
  };
  const operation = (type: string) =>
    `get: {responses: {'200': {content: {application/json: {schema: {properties: {plan: {type: ${type}}}}}}}}}`;
  expect(await checked(operation('string'))).toEqual({
    code: 0,
    stdout: '✓ openapi.yaml GET /plans/{id}: 1 same\n\n1 request: 1 same, 0 different, 0 skipped\n',
  });
  const { code, stdout } = await checked(operation('number'));
  expect({ code, stdout }).toMatchObject({ code: 1 });
  expect(stdout).toContain('      response body $.plan: must be a number, but is a string\n');
  expect((await checked(operation('number'), '--fail-if', 'never')).code).toBe(0);
  expect((await checked(operation('string'), '--since', '0s')).code).toBe(3);
  expect((await checked('get: [')).code).toBe(2);
  expect((await checked(operation('string'), run.manifests)).code).toBe(2);
  expect((await checked(operation('string'), '--shape')).code).toBe(2);
});

describe('standin explain', () => {
  test('explains a captured request', async () => {
    const { code, lines, stderr } = await explain(id, '--data', run.data);
    expect({ code, stderr, lines: lines.slice(1) }).toEqual({ code: 0, stderr: '', lines: EXPLAINED });
    expect(lines[0]).toMatch(/ GET +200 +\/plans\/7 .* default\/plan/);
  });

  test('looks for a captured request only in the given namespace and project', async () => {
    const there = await explain(id, '-n', 'default', '-p', 'shop', '--data', run.data);
    expect({ code: there.code, lines: there.lines.slice(1) }).toEqual({ code: 0, lines: EXPLAINED });
    const elsewhere = await explain(id, '-n', 'elsewhere', '--data', run.data);
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stderr).toContain(`there is no request ${id} in the log`);
  });

  test('says why the upstream failed, and that the fallback responded', async () => {
    const forward = { url: 'http://127.0.0.1:1/', fallback: { on: ['Unreachable'] } };
    const spec = { ...mock('{"stale": true}'), action: 'Forward', forward, slug: '/stale', method: 'GET' };
    await writeFile(path.join(run.manifests, 'stale.json'), endpoint('stale', spec));
    const ask = async (): Promise<string> => {
      const { body } = await request(`${run.url}/stale`, { headers: { 'x-api-key': run.apiKey } });
      return body.text();
    };
    await eventually('the fallback to respond', async () => (await ask()) === '{"stale": true}');
    const [captured] = await eventually('the request to be in the log', () => readLog(run.data, '-e', 'stale'), {
      accept: ({ length }) => length > 0,
    });
    const { lines } = await explain(captured?.id ?? '', '--data', run.data);
    expect(lines.slice(1)).toEqual([
      'failed    http://127.0.0.1:1 refused the connection. The fallback responded: the mock in spec.json.',
      'endpoint  default/stale (GET /stale)',
      'response  the upstream in spec.forward; the endpoint has no responses',
    ]);
  });

  test('prints JSON that names the unmet conditions and what responded', async () => {
    const { lines } = await explain(id, '--data', run.data, '-o', 'json');
    expect(JSON.parse(lines.join(''))).toMatchObject({
      requestId: id,
      isChanged: false,
      response: 'seven',
      captured: { endpoint: 'plan', response: 'seven' },
      unmatched: [{ name: 'silver' }, { name: 'gold', unmet: [{ on: 'headers' }, { on: 'queryParams', seen: [] }] }],
    });
  });

  test('explains the same for the manifests, without standin dev', async () => {
    const described = ['--path', '/plans/7', '-H', 'x-plan: free'];
    const { lines } = await explain(...described, run.manifests);
    expect(lines).toEqual(EXPLAINED.map((line) => line.replace(/is "<img.*m"\./, 'is "free".')));
  });

  test.each<[string[], number, string]>([
    [['no-such-id'], 1, 'there is no request no-such-id in the log: list the ids with standin logs -o json'],
    [[], 1, 'pass the id of one captured request, or describe a request with --path'],
    [['a', 'b'], 1, 'pass the id of one captured request'],
    [['--method', 'POST', 'a'], 1, '--method describes a request: add its --path'],
    [['--path', '/a'], 1, 'pass a directory of manifests: standin explain --path PATH DIR'],
    [['--path', 'a', QUICKSTART], 1, 'must be a path such as /v1/orders/7?expand=items'],
    [['--path', '/a', '-H', 'x plan: a', QUICKSTART], 1, "must be a header on one line, such as 'x-plan: gold'."],
    [['--path', '/a', '-d', '@/no/such/file', QUICKSTART], 1, '/no/such/file does not exist'],
    [['--path', '/a', '-p', 'nope', QUICKSTART], 1, 'there is no project "nope"; available projects: shop'],
    [['--path', '/a', '/no/such/folder'], 2, '/no/such/folder does not exist'],
  ])('%j exits with %d and says what to change', async (args, exitCode, message) => {
    const { code, stderr } = await explain(...args, '--data', run.data);
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(message) as string });
  });
});

describe('"Why this response"', () => {
  const url = (): string => `${run.dashboard}${SHOP}/traffic/${id}?tab=response`;

  test('names the endpoint, the response and the unmet conditions, as text', async () => {
    const { page, close, complaints } = await watched(browser);
    await goto(page, url());
    expect(await page.getByText('Responses that do not match').count()).toBe(0);
    await page.getByText('Why this response').click();
    await page.getByText('Responses that do not match').waitFor();
    const panel = page.locator('details', { hasText: 'Why this response' });
    const text = await panel.innerText();
    for (const part of ['plan', '/plans/{id}', 'seven', 'silver', 'The query parameter expand is missing.'])
      expect(text).toContain(part);
    expect(text).toContain(String.raw`"<img src=x onerror=alert(1)> \"\u009b31m"`);
    expect(await panel.locator('img').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('is accessible, and fits a phone', async () => {
    await expectAccessible(browser, url(), async (page) => {
      await page.getByText('Why this response').click();
      await page.getByText('Responses that do not match').waitFor();
    });
  });
});

test('a change of the endpoint is reported, with the current rules', async () => {
  await apply(planManifest({ responses: [{ name: 'everyone', body: '{"plan": "everyone"}' }] }));
  await eventually('the change to be served', async () => (await get()) === '{"plan": "everyone"}');
  await eventually('the explanation to change', async () => {
    const { lines } = await explain(id, '--data', run.data);
    return lines.includes('response  everyone');
  });
  const { lines } = await explain(id, '--data', run.data);
  expect(lines[1]).toBe(
    'changed   endpoint plan responded at generation 1 with its response seven, which is now at generation 2. The following explains the current rules.',
  );
  const { page, close } = await watched(browser);
  await goto(page, `${run.dashboard}${SHOP}/traffic/${id}?tab=response`);
  await page.getByText('Why this response').click();
  await page.getByText('It has changed since: the current generation is 2. This shows the current rules.').waitFor();
  await close();
});

test('an endpoint that moved leaves its requests without a response', async () => {
  await apply(planManifest({ slug: '/plan/{id}' }));
  await eventually('the change to be served', async () => (await get()).includes('endpoint_not_found'));
  const { lines } = await explain(id, '--data', run.data);
  expect(lines.slice(1)).toEqual([
    expect.stringContaining('which does not respond to it now, or was replaced'),
    'rejected  404 endpoint_not_found: no slug in the project matches the path',
    'other     default/plan (GET /plan/{id}) has a similar path',
  ]);
});

import { LIMITS, type RefusalReport } from '@standin/contract';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  OTHER_KEY,
  PATH,
  request,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import { exchange } from './raw-client.testing.ts';

const BODY_MAX = 1_024;
const SECRET = 'stranger';

let stand: TestGateway;
beforeAll(async () => {
  stand = await startTestGateway({
    objects: [...BASIC_OBJECTS, endpoint('/users/{id}')],
    settings: { limits: { requestBodyBytes: BODY_MAX } },
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
});

const send = async (method: string, target: string, lines: readonly string[], body = ''): Promise<number> =>
  (await exchange(stand.gateway.url, request(method, target, [HOST, ...lines], body))).status;

const ask = async (project: string): Promise<RefusalReport> => {
  const { operator } = stand;
  const id = `ask-${operator.refusalReports.length}`;
  operator.send({ type: 'refusals', ask: id, project });
  return vi.waitUntil(() => operator.refusalReports.find((report) => report.ask === id), { timeout: 5_000 });
};

test('a gateway reports what it refused, with nothing that a caller without a key wrote', async () => {
  const strangers = [
    ['POST', `${PATH}?q=${SECRET}`, [`X-GitHub-Event: ${SECRET}`, `User-Agent: ${SECRET}`]],
    ['GET', PATH, [`x-api-key: ${SECRET}`, 'User-Agent: curl/8']],
    ['POST', `/${URI}/users/${SECRET}`, [`X-Secret-${SECRET}: 1`]],
    ['POST', `/${URI}/${SECRET}`, [`x-api-key: ${OTHER_KEY}`]],
    ['POST', `/${SECRET}/x`, []],
  ] as const;
  for (const [method, target, lines] of strangers) expect(await send(method, target, lines)).toBe(401);
  expect(await send('POST', `/${URI}/v1/order?token=hidden`, [WITH_KEY])).toBe(404);
  expect(await send('POST', `/${URI}/v1/order`, [WITH_KEY])).toBe(404);
  expect(await send('PATCH', PATH, [WITH_KEY])).toBe(405);
  const tooLong = 'x'.repeat(BODY_MAX + 1);
  expect(await send('POST', PATH, [WITH_KEY, `Content-Length: ${tooLong.length}`], tooLong)).toBe(413);

  const { refusals, gateway } = await ask('project-shop');
  expect(gateway).toBe(stand.settings.name);
  const details = refusals.counts.map(({ lastAt, ...count }) => {
    expect(Math.abs(Date.now() - lastAt)).toBeLessThan(60_000);
    return count;
  });
  const expected = [
    { code: 'api_key_missing', sender: 'GitHub', slug: '/v1/orders', count: 1 },
    { code: 'api_key_invalid', sender: 'curl', slug: '/v1/orders', count: 1 },
    { code: 'api_key_missing', sender: 'other', slug: '/users/{id}', count: 1 },
    { code: 'api_key_other_account', sender: 'other', count: 1 },
    { code: 'endpoint_not_found', method: 'POST', path: '/v1/order', count: 2 },
    { code: 'method_not_allowed', method: 'PATCH', path: '/v1/orders', count: 1 },
    { code: 'body_too_large', method: 'POST', path: '/v1/orders', count: 1 },
  ];
  expect(details).toHaveLength(expected.length);
  expect(details).toEqual(expect.arrayContaining(expected));
  expect(refusals.unknownProject).toBe(1);
  expect(JSON.stringify(refusals)).not.toMatch(/stranger|hidden|sk_/);
  expect((await ask('project-theirs')).refusals.counts).toEqual([]);
});

test('a refused request has no row', async () => {
  expect(await send('POST', `/${URI}/nowhere`, [WITH_KEY])).toBe(404);
  expect(await send('POST', PATH, [WITH_KEY])).toBe(200);
  await stand.sink.until(({ rows }) => rows.length > 0);
  expect(stand.sink.rows.map(({ path }) => path)).toEqual(['/v1/orders']);
});

test('a long path of a known caller is cut off', async () => {
  await send('POST', `/${URI}/${'x'.repeat(4_000)}`, [WITH_KEY]);
  const { refusals } = await ask('project-shop');
  const long = refusals.counts.find(({ path }) => path?.startsWith('/xxx') === true);
  expect(long?.path).toHaveLength(LIMITS.refusalPathLengthMax);
});

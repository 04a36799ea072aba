import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import {
  ask,
  listedRequests,
  readDocument,
  startApi,
  violations,
  type ApiAnswer,
  type ApiRun,
  type OpenApi,
} from './api-stand.ts';
import { standin } from './dev-stand.ts';

let dev: ApiRun;
let document: OpenApi;
/** The oldest captured request: POST /v1/orders. */
let id: string;

beforeAll(async () => {
  dev = await startApi();
  document = await readDocument(dev.api);
  id = listedRequests(await ask(`${dev.shop}/requests?order=oldest-first&limit=1`))[0]?.id ?? '';
});
afterAll(() => dev.process.kill());

const HEADERS = { 'content-type': 'application/json' };
const send = (method: 'POST' | 'PATCH' | 'DELETE', url: string, body?: unknown): Promise<ApiAnswer> =>
  ask(url, { method, ...(body !== undefined && { headers: HEADERS, body: JSON.stringify(body) }) });

/** Checks that a response conforms to the OpenAPI document and has this status. */
const expectAnswer = (operation: string, status: number, answer: ApiAnswer): unknown => {
  expect({ status: answer.status, violations: violations(document, operation, answer) }).toEqual({
    status,
    violations: [],
  });
  return answer.json;
};

interface Replay {
  readonly name: string;
  readonly status: { readonly phase?: string };
}
const inPhase = (name: string, phase: string): Promise<ApiAnswer> =>
  eventually(`the replay to be ${phase}`, () => ask(`${dev.shop}/replays/${name}`), {
    accept: ({ json }) => (json as Replay).status.phase === phase,
  });

describe('the replay API', () => {
  test('sends one request to its endpoint, captures it and stores the response', async () => {
    const spec = { requestId: id, target: { kind: 'Endpoint' } };
    const { name } = expectAnswer('createReplay', 201, await send('POST', `${dev.shop}/replays`, { spec })) as Replay;
    const done = expectAnswer('getReplay', 200, await inPhase(name, 'Succeeded'));
    expect(done).toMatchObject({ status: { sent: 1, answered: 1, result: { status: 201 } } });

    const results = expectAnswer('listReplayResults', 200, await ask(`${dev.shop}/replays/${name}/results`));
    expect(results).toMatchObject({ items: [{ requestId: id, status: 201, target: 'Endpoint' }] });
    const answer = expectAnswer('getReplayResult', 200, await ask(`${dev.shop}/replays/${name}/results/${id}`));
    expect(answer).toMatchObject({ response: { status: 201, truncated: false } });
    const q = encodeURIComponent(`header.standin-replay-of:${id}`);
    expect(listedRequests(await ask(`${dev.shop}/requests:wait?q=${q}&timeout=20s`))).toHaveLength(1);
    expect(expectAnswer('listReplays', 200, await ask(`${dev.shop}/replays`))).toMatchObject({ items: [{ name }] });
  });

  test('starts a replay suspended, cancels it, and cannot resume it', async () => {
    const filter = { from: '2026-01-01T00:00:00Z', to: '2090-01-01T00:00:00Z', search: 'method:POST' };
    const spec = { filter, target: { kind: 'Endpoint' }, state: 'Suspended' };
    const created = await send('POST', `${dev.shop}/replays`, { name: 'many', spec });
    expectAnswer('createReplay', 201, created);
    await inPhase('many', 'Suspended');
    expectAnswer('changeReplay', 200, await send('PATCH', `${dev.shop}/replays/many`, { state: 'Cancelled' }));
    await inPhase('many', 'Cancelled');
    const late = await send('PATCH', `${dev.shop}/replays/many`, { state: 'Running' });
    expect(expectAnswer('changeReplay', 422, late)).toMatchObject({ code: 'object_invalid' });
    const again = await send('POST', `${dev.shop}/replays`, { name: 'many', spec });
    expect(expectAnswer('createReplay', 409, again)).toMatchObject({ code: 'conflict' });
  });

  test.each([
    [{ spec: {} }, 400, 'body_invalid'],
    [{ spec: { target: { kind: 'Endpoint' } } }, 422, 'object_invalid'],
    [{ spec: { requestId: 'x', target: { kind: 'Endpoint' } }, more: 1 }, 400, 'body_invalid'],
    [[], 400, 'body_invalid'],
  ])('rejects %j with %d', async (body, status, code) => {
    const answer = await send('POST', `${dev.shop}/replays`, body);
    expect(expectAnswer('createReplay', status, answer)).toMatchObject({ code });
    expect(answer.json).toHaveProperty('errors');
  });

  test('rejects a body that is not JSON', async () => {
    const body = '{}';
    const form = await ask(`${dev.shop}/replays`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body });
    expect(expectAnswer('createReplay', 415, form)).toMatchObject({ code: 'media_type_unsupported' });
    const broken = await ask(`${dev.shop}/replays`, { method: 'POST', headers: HEADERS, body: '{' });
    expect(expectAnswer('createReplay', 400, broken)).toMatchObject({ code: 'body_invalid' });
    const large = await send('POST', `${dev.shop}/replays`, { spec: 'x'.repeat(1024 * 1024) });
    expect(expectAnswer('createReplay', 413, large)).toMatchObject({ code: 'body_too_large' });
  });

  test('does not find a replay in another project', async () => {
    const other = dev.shop.replace(/shop$/, 'other');
    expect(expectAnswer('getReplay', 404, await ask(`${other}/replays/many`))).toMatchObject({
      code: 'replay_not_found',
    });
  });
});

describe('standin replay --server', () => {
  const replay = (...args: string[]) => standin(['replay', '--server', dev.dashboard, ...args]);

  test('sends one request and prints the response, regardless of the project', async () => {
    const { code, stdout, stderr } = await replay(id);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('201') as string });
    // The command prints the body of the mock.
    expect(JSON.parse(stdout)).toMatchObject({ id: 1001, status: 'accepted' });
    const unknown = await replay('01931f3e-0000-7000-8000-000000000000');
    expect(unknown).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('there is no request') as string,
    });
  });

  test('sends many requests and reports the result', async () => {
    const { code, stdout } = await replay(
      '-p',
      'shop',
      '--since',
      '1h',
      '--filter',
      'method:GET',
      '--yes',
      '-o',
      'json',
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ phase: 'Succeeded', sent: 1, byStatus: [{ status: 200, count: 1 }] });
  });
});

describe('the share API', () => {
  test('requires the Pro plan and creates links that open without a token until they are revoked', async () => {
    const body = { requestId: id, expiresIn: '1h' };
    const account = { apiVersion: 'standin.dev/v1alpha1', kind: 'Account', metadata: { name: 'default' } };
    const onPlan = async (plan: string, status: number): Promise<ApiAnswer> => {
      await writeFile(path.join(dev.manifests, 'account.yaml'), JSON.stringify({ ...account, spec: { plan } }));
      return eventually(`the ${plan} plan`, () => send('POST', `${dev.shop}/shares`, body), {
        accept: (answer) => answer.status === status,
      });
    };
    expect(expectAnswer('createShare', 403, await onPlan('Free', 403))).toMatchObject({ code: 'plan_required' });
    const created = await onPlan('Pro', 201);
    const share = expectAnswer('createShare', 201, created) as { readonly name: string; readonly path: string };
    expect(share).toMatchObject({ isAccepted: true });
    const link = `${dev.dashboard}${share.path}`;
    expect((await ask(link)).bytes.toString('utf8')).toContain('/v1/orders');

    const list = expectAnswer('listShares', 200, await ask(`${dev.shop}/shares`));
    expect(list).toMatchObject({ items: [{ name: share.name, requestId: id, state: 'works' }] });
    // Only the link contains the token.
    expect(JSON.stringify(list)).not.toContain(share.path);
    expect((await send('DELETE', `${dev.shop}/shares/${share.name}`)).status).toBe(204);
    await eventually('the link to stop working', async () => (await ask(link)).status === 404);
    const gone = await send('DELETE', `${dev.shop}/shares/${share.name}`);
    expect(expectAnswer('revokeShare', 404, gone)).toMatchObject({ code: 'share_not_found' });
  });

  test.each([
    [{ requestId: '01931f3e-0000-7000-8000-000000000000' }, 404, 'request_not_found'],
    [{ requestId: 'x', expiresIn: '1y' }, 400, 'body_invalid'],
    [{}, 400, 'body_invalid'],
  ])('rejects %j with %d', async (body, status, code) => {
    expect(expectAnswer('createShare', status, await send('POST', `${dev.shop}/shares`, body))).toMatchObject({ code });
  });
});

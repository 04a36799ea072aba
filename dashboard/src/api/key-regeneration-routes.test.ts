import { SourceError, type DesiredObject, type Kind, type ResourceObject } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import { describe, expect, it } from 'vitest';
import type { Resources } from '../backend.ts';
import { backendWith, startApiServer, type ApiServer } from './api-server.testing.ts';

const object = (kind: Kind, name: string, rest: Pick<ResourceObject, 'spec'> & { status?: unknown }) => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind,
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-11-21T12:00:00Z',
  },
  ...rest,
});

const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();
const team = (spec: object, regenerations: readonly string[] = []): ResourceObject =>
  object('Account', 'team', {
    spec,
    status: { apiKey: { secretName: 'team-api-key', fingerprint: 'ab', regenerations } },
  });

const serve = (resources: Partial<Resources>): Promise<ApiServer> =>
  startApiServer(() => Promise.resolve(backendWith({}, resources)));
const account = (api: ApiServer): string => `${api.url}/namespaces/default/accounts/team`;
const get = async (url: string): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(url);
  return { status: response.status, body: await response.json() };
};
const post = async (url: string, body: unknown = {}): Promise<{ status: number; body: unknown }> => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
};

describe('an account', () => {
  it('shows its key’s fingerprint and the regenerations left', async () => {
    const oldest = minutesAgo(50);
    const times = [minutesAgo(70), oldest, minutesAgo(10)];
    await using api = await serve({ get: () => Promise.resolve(team({ plan: 'Free' }, times)) });
    const { status, body } = await get(account(api));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      key: { secretName: 'team-api-key', fingerprint: 'ab', isOwn: false },
      regenerations: { left: 4, max: 6, resetsAt: new Date(Date.parse(oldest) + 3_600_000).toISOString() },
    });
  });

  it('shows whether it has its own Secret, and has status 404 if it does not exist', async () => {
    const own = team({ plan: 'Free', apiKey: { secretName: 'own' } });
    await using api = await serve({ list: () => Promise.resolve([own]), get: () => Promise.resolve(undefined) });
    expect(await get(`${api.url}/accounts`)).toMatchObject({ body: { items: [{ key: { isOwn: true } }] } });
    expect(await get(account(api))).toMatchObject({ status: 404, body: { code: 'account_not_found' } });
  });

  it('shows its usage from the operator and from the log', async () => {
    const month = new Date().toISOString().slice(0, 7);
    const usage = { period: month, accepted: 7, quota: 10 };
    const counted = object('Account', 'team', { spec: { plan: 'Free' }, status: { usage } });
    const endpoint = { namespace: 'default', project: 'shop', endpoint: 'orders', requests: 4 };
    const backend = backendWith({}, { get: () => Promise.resolve(counted) });
    const logs = {
      ...backend.logs,
      usage: () =>
        Promise.resolve({
          days: [{ day: `${month}-01`, requests: 5 }],
          endpoints: [{ ...endpoint, projectUid: 'secret' }],
          storedBytes: 12,
        }),
    };
    await using api = await startApiServer(() => Promise.resolve({ ...backend, logs }));
    const { status, body } = await get(`${account(api)}/usage`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ month, used: 7, quota: 10, total: 5, endpoints: [endpoint], storedBytes: 12 });
    expect(body).toMatchObject({ otherRequests: 1 });
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('shows the operator’s count while the log is unavailable', async () => {
    const usage = { period: new Date().toISOString().slice(0, 7), accepted: 7, quota: 10 };
    let shown = object('Account', 'team', { spec: { plan: 'Free' }, status: { usage } });
    const backend = backendWith({}, { get: () => Promise.resolve(shown) });
    const unavailable = new LogStoreError('secret', { kind: 'retryable', code: 'ECONNREFUSED' });
    const logs = { ...backend.logs, usage: () => Promise.reject(unavailable) };
    await using api = await startApiServer(() => Promise.resolve({ ...backend, logs }));
    const { status, body } = await get(`${account(api)}/usage`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      used: 7,
      quota: 10,
      days: [],
      endpoints: [],
      logFailure: 'Cannot read from ClickHouse (ECONNREFUSED).',
    });
    shown = object('Account', 'team', { spec: { plan: 'Free' }, status: { usage: { quota: 10 } } });
    expect(await get(`${account(api)}/usage`)).toMatchObject({ status: 503, body: { code: 'log_unavailable' } });
  });

  it('shows its key only to users who may read the Secret', async () => {
    let readApiKey: Resources['readApiKey'] = () => Promise.resolve('standin_key');
    const getTeam = () => Promise.resolve(team({}));
    await using api = await serve({ get: getTeam, readApiKey: (of) => readApiKey(of) });
    expect(await get(`${account(api)}/key`)).toEqual({ status: 200, body: { apiKey: 'standin_key' } });
    readApiKey = () => Promise.resolve(undefined);
    expect(await get(`${account(api)}/key`)).toMatchObject({ status: 404, body: { code: 'key_not_found' } });
    readApiKey = () => Promise.reject(new SourceError('Forbidden', 'cannot get resource "secrets"'));
    expect(await get(`${account(api)}/key`)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });
});

describe('a regeneration', () => {
  const echo: Resources['apply'] = ({ kind, metadata: { name }, spec }) =>
    Promise.resolve({ ok: true, object: object(kind, name, { spec }) });

  it('is created for the account, with the given name or a generated one', async () => {
    const applied: DesiredObject[] = [];
    await using api = await serve({
      get: () => Promise.resolve(team({})),
      apply: (desired, expected) => {
        expect(expected).toBe('absent');
        applied.push(desired);
        return echo(desired, expected);
      },
    });
    expect(await post(`${account(api)}/regenerations`, { name: 'leak' })).toMatchObject({
      status: 201,
      body: { name: 'leak', spec: { accountRef: { name: 'team' } }, status: {} },
    });
    await post(`${account(api)}/regenerations`);
    expect(applied[1]?.metadata.name).toMatch(/^regenerate-[0-9a-f]{8}$/);
    expect(await post(`${account(api)}/regenerations`, { more: 1 })).toMatchObject({ body: { code: 'body_invalid' } });
    expect(applied).toHaveLength(2);
  });

  it('does not require permission to read the account, and is refused if the account does not exist', async () => {
    let getAccount: Resources['get'] = () => Promise.reject(new SourceError('Forbidden', 'no'));
    await using api = await serve({ get: (ref) => getAccount(ref), apply: echo });
    expect((await post(`${account(api)}/regenerations`)).status).toBe(201);
    getAccount = () => Promise.resolve(undefined);
    expect(await post(`${account(api)}/regenerations`)).toMatchObject({
      status: 404,
      body: { code: 'account_not_found' },
    });
  });

  it('shows its progress, but only under its own account', async () => {
    const status = { phase: 'Running', acknowledged: '2/3', waitingFor: ['gateway-2'] };
    const mine = object('KeyRegeneration', 'mine', { spec: { accountRef: { name: 'team' } }, status });
    const theirs = object('KeyRegeneration', 'theirs', { spec: { accountRef: { name: 'other' } } });
    await using api = await serve({
      list: () => Promise.resolve([mine, theirs]),
      get: ({ name }) => Promise.resolve([team({}), mine, theirs].find(({ metadata }) => metadata.name === name)),
    });
    const regenerations = `${account(api)}/regenerations`;
    expect(await get(`${regenerations}/mine`)).toMatchObject({ status: 200, body: { name: 'mine', status } });
    expect(await get(`${regenerations}/theirs`)).toMatchObject({ body: { code: 'regeneration_not_found' } });
    const { body } = await get(regenerations);
    expect((body as { items: { name: string }[] }).items.map(({ name }) => name)).toEqual(['mine']);
  });
});

import { encodeRow, openLogStore } from '@standin/logstore';
import type { LogRow } from '@standin/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { ask, type ApiAnswer } from './api-stand.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard, type Person } from './cluster-dashboard.ts';
import { standin } from './dev-stand.ts';

/** Tests the JSON API with the API server's RBAC, ClickHouse and the dashboard's own process. Other files test the operator. */

let cluster: Cluster;
let clickHouse: TestClickHouse;
let dashboard: ClusterDashboard;
let namespace: string;
let editor: Person;
let viewer: Person;
let admin: Person;
let purger: Person;
let row: LogRow;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([sharedCluster(), startClickHouse()]);
  namespace = await createNamespace(cluster);
  const spec = { displayName: 'Shop', accountRef: { name: 'team' } };
  const project = { apiVersion: 'standin.dev/v1alpha1', kind: 'Project', metadata: { name: 'shop', namespace }, spec };
  await cluster.apply(JSON.stringify(project));
  const uid = await cluster.kubectl(['get', 'mpr', 'shop', '-n', namespace, '-o', 'jsonpath={.metadata.uid}']);
  const store = openLogStore(clickHouse);
  await store.migrate();
  row = newLogRow({ namespace, project: 'shop', projectUid: uid.stdout });
  await store.insert({ rows: encodeRow(row), rowCount: 1, token: row.id });
  await store.close();
  [dashboard, editor, viewer, admin, purger] = await Promise.all([
    startClusterDashboard({ cluster, clickHouse }),
    createPerson(cluster, namespace, { name: 'editor', role: 'standin-edit' }),
    createPerson(cluster, namespace, { name: 'viewer', role: 'standin-view' }),
    createPerson(cluster, namespace, { name: 'admin', role: 'standin-admin' }),
    createPerson(cluster, namespace, { name: 'purger', role: 'standin-purge' }),
  ]);
});
afterAll(async () => {
  await dashboard.process.kill();
  await clickHouse.stop();
  await deleteNamespace(cluster, namespace);
});

const shop = (): string => `${dashboard.url}/api/v1/namespaces/${namespace}/projects/shop`;
const bearer = ({ token }: Person) => ({ authorization: `Bearer ${token}` });

describe('the JSON API on a cluster', () => {
  test('accepts only a valid bearer token', async () => {
    for (const headers of [
      {},
      { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' },
      { cookie: `token=${viewer.token}` },
    ]) {
      const refused = await ask(`${shop()}/requests`, { headers });
      expect(refused.json).toMatchObject({ status: 401, code: 'unauthorized' });
      expect(refused.headers['www-authenticate']).toBe('Bearer');
    }
    expect((await ask(`${dashboard.url}/api/v1/openapi.json`)).status).toBe(200);
  });

  test('lists the projects that the caller may read', async () => {
    const { json } = await ask(`${dashboard.url}/api/v1/projects`, { headers: bearer(viewer) });
    expect(json).toMatchObject({ items: [{ namespace, name: 'shop', displayName: 'Shop' }] });
  });

  test("writes with the caller's permissions", async () => {
    const spec = { requestId: row.id, target: { kind: 'Upstream' } };
    const create = (person: Person): Promise<ApiAnswer> => {
      const headers = { ...bearer(person), 'content-type': 'application/json' };
      return ask(`${shop()}/replays`, { method: 'POST', headers, body: JSON.stringify({ name: 'again', spec }) });
    };
    const refused = await create(viewer);
    expect(refused.json).toMatchObject({ status: 403, code: 'forbidden' });
    expect(JSON.stringify(refused.json)).toContain('cannot create resource');
    expect((await create(editor)).status).toBe(201);
    expect((await create(editor)).json).toMatchObject({ status: 409, code: 'conflict' });
    const { stdout } = await cluster.kubectl([
      'get',
      'mre',
      'again',
      '-n',
      namespace,
      '-o',
      'jsonpath={.spec.requestId}',
    ]);
    expect(stdout).toBe(row.id);
  });
});

describe('API keys', () => {
  test("are regenerated with the caller's permissions; showing one requires permission to read the Secret", async () => {
    const account = {
      apiVersion: 'standin.dev/v1alpha1',
      kind: 'Account',
      metadata: { name: 'keys', namespace },
      spec: {},
    };
    const metadata = { name: 'keys-api-key', namespace };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { 'api-key': 'standin_the-key' } };
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [account, secret] }));
    const url = `${dashboard.url}/api/v1/namespaces/${namespace}/accounts/keys`;
    const create = (person: Person): Promise<ApiAnswer> => {
      const headers = { ...bearer(person), 'content-type': 'application/json' };
      return ask(`${url}/regenerations`, { method: 'POST', headers, body: '{"name": "leaked"}' });
    };
    const refused = await create(viewer);
    expect(refused.json).toMatchObject({ status: 403, code: 'forbidden' });
    expect(JSON.stringify(refused.json)).toContain('cannot create resource');
    expect((await create(admin)).status).toBe(201);
    expect((await ask(`${url}/regenerations/leaked`, { headers: bearer(viewer) })).json).toMatchObject({
      spec: { accountRef: { name: 'keys' } },
    });
    expect((await ask(`${url}/key`, { headers: bearer(viewer) })).json).toMatchObject({ status: 403 });
  });
});

describe('purges', () => {
  const create = (person: Person, name: string): Promise<ApiAnswer> => {
    const headers = { ...bearer(person), 'content-type': 'application/json' };
    const body = JSON.stringify({
      name,
      filter: { search: 'path:/leak', to: '2026-01-01T00:00:00Z' },
      reason: 'a leak',
    });
    return ask(`${shop()}/purges`, { method: 'POST', headers, body });
  };

  test('are created only by users with the permission of their own, which is enough', async () => {
    for (const person of [viewer, editor, admin]) {
      const refused = await create(person, 'leak');
      expect(refused.json).toMatchObject({ status: 403, code: 'forbidden' });
      expect(JSON.stringify(refused.json)).toContain('cannot create resource');
    }
    expect((await create(purger, 'leak')).status).toBe(201);
    expect((await create(purger, 'leak')).json).toMatchObject({ status: 409, code: 'conflict' });
    for (const person of [viewer, purger])
      expect((await ask(`${shop()}/purges/leak`, { headers: bearer(person) })).json).toMatchObject({
        spec: { projectRef: { name: 'shop' }, reason: 'a leak' },
      });
    const list = await ask(`${shop()}/purges`, { headers: bearer(viewer) });
    expect((list.json as { items: { name: string }[] }).items.map(({ name }) => name)).toEqual(['leak']);
  });

  test('are created by standin purge for users who cannot read the log', async () => {
    const target = ['purge', 'shop', '-n', namespace, '--server', dashboard.url, '--token', purger.token];
    const { code, stderr } = await standin([...target, '--all', '--reason', 'the end', '-y', '--timeout', '0s']);
    // No operator is running, so the command reaches its timeout.
    expect(code).toBe(5);
    expect(stderr).toContain('The number of matching requests is unknown: ');
    expect(stderr).toContain('the operator');
  });
});

describe('standin logs --server', () => {
  test('signs in with the current kubeconfig', async () => {
    const home = {
      KUBECONFIG: await cluster.tokenKubeconfig(namespace, 'viewer'),
      XDG_STATE_HOME: await createTempFolder('state'),
    };
    const args = ['logs', '--server', dashboard.url, '--trust-server', '-o', 'json'];
    const { code, stdout, stderr } = await standin(args, { env: { ...process.env, ...home } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ id: row.id, namespace, project: 'shop' });
  });

  test('reports a token that the server rejects', async () => {
    const { code, stderr } = await standin(['logs', '--server', dashboard.url, '--token', 'wrong']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^standin: 127\.0\.0\.1:\d+: .+\n$/);
  });
});

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import type { Browser } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import routes from '../../dashboard/app/routes.ts';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import {
  createPerson,
  signIn,
  startClusterDashboard,
  type ClusterDashboard,
  type Person,
} from '../e2e/cluster-dashboard.ts';
import { openPage, startBrowser } from '../harness/browser.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

/**
 * Torture test 39: a dashboard on a cluster, with users who try to exceed their permissions, pages on other sites, and untrusted
 * headers. `test/e2e/dashboard-exchange.test.ts` shows that captured bytes stay text.
 */

let cluster: Cluster;
let clickHouse: TestClickHouse;
let store: LogStore;
let dashboard: ClusterDashboard;
let browser: Browser;
let own: string;
let foreign: string;
let viewer: Person;
let editor: Person;
/** The ids of two log rows: one of the users' own project, and one of the foreign project. */
let ownRow: string;
let foreignRow: string;

const SECRET = 'never-to-be-seen';
const FORMULA = '=HYPERLINK("http://evil.example","x")';

const createShop = async (namespace: string, title: string): Promise<string> => {
  const object = (kind: string, name: string, spec: object): object => ({
    apiVersion: 'standin.dev/v1alpha1',
    kind,
    metadata: { name, namespace },
    spec,
  });
  const items = [
    object('Account', 'team', { plan: 'Free' }),
    object('Project', 'shop', { displayName: title, accountRef: { name: 'team' } }),
    object('Endpoint', 'orders', {
      projectRef: { name: 'shop' },
      displayName: title,
      slug: '/orders',
      method: 'GET',
      action: 'JSON',
      json: { body: JSON.stringify(title) },
    }),
  ];
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const { stdout } = await cluster.kubectl(['get', 'mpr', 'shop', '-n', namespace, '-o', 'jsonpath={.metadata.uid}']);
  const row = newLogRow({
    namespace,
    project: 'shop',
    projectUid: stdout,
    endpoint: title,
    target: FORMULA,
    path: FORMULA,
    query: '',
    requestBody: Buffer.from(title),
  });
  await store.insert({ rows: encodeRow(row), rowCount: 1, token: row.id });
  return row.id;
};

beforeAll(async () => {
  [cluster, clickHouse, browser] = await Promise.all([sharedCluster(), startClickHouse(), startBrowser()]);
  store = openLogStore(clickHouse);
  await store.migrate();
  [own, foreign] = await Promise.all([createNamespace(cluster), createNamespace(cluster)]);
  ownRow = await createShop(own, 'our own shop');
  foreignRow = await createShop(foreign, SECRET);
  [dashboard, viewer, editor] = await Promise.all([
    startClusterDashboard({ cluster, clickHouse }),
    createPerson(cluster, own, { name: 'viewer', role: 'standin-view' }),
    createPerson(cluster, own, { name: 'editor', role: 'standin-edit' }),
  ]);
});
afterAll(async () => {
  await browser.close();
  await dashboard.process.kill();
  await store.close();
  await clickHouse.stop();
  await Promise.all([own, foreign].map((name) => deleteNamespace(cluster, name)));
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const ask = async (
  path: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: 'GET' | 'POST'; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> => {
  const answer = await request(`${dashboard.url}${path}`, { method, headers, ...(body !== undefined && { body }) });
  return { status: answer.statusCode, headers: answer.headers, body: await answer.body.text() };
};
const as = ({ token }: Person): Record<string, string> => ({ authorization: `Bearer ${token}` });
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Returns every URL under `/p/:namespace` that the dashboard serves, with this namespace, the names in it and this row. */
const projectPaths = (namespace: string, row: string): readonly string[] => {
  interface Entry {
    readonly path?: string;
    readonly children?: readonly Entry[];
  }
  const flat = (entries: readonly Entry[], base: string): string[] =>
    entries.flatMap(({ path = '', children = [] }) => {
      const full = path === '' ? base : `${base}/${path}`;
      return [full, ...flat(children, full)];
    });
  const values: Readonly<Record<string, string>> = { namespace, project: 'shop', endpoint: 'orders', id: row };
  const fill = (pattern: string): string =>
    pattern
      .replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? 'some')
      .concat('?format=csv&field=path&view=raw');
  return [...new Set(flat(routes, '').filter((path) => path.startsWith('/p/:namespace')))].map(fill);
};

const requests = (namespace: string, rest = ''): string =>
  `/api/v1/namespaces/${namespace}/projects/shop/requests${rest}`;

describe('another namespace', () => {
  test('reveals nothing on any page of the dashboard', async () => {
    const paths = projectPaths(foreign, foreignRow);
    expect(paths.length).toBeGreaterThan(20);
    for (const path of paths) {
      for (const url of [path, path.replace('?', '.data?')]) {
        const { status, body } = await ask(url, { headers: { ...as(viewer), accept: 'text/html' } });
        expect(body, url).not.toContain(SECRET);
        // The response to a data request combines several routes. Its status is 200 or 207, and its body contains the error of each
        // route.
        if (!url.includes('.data?')) expect(status, url).toBeGreaterThanOrEqual(400);
      }
    }
  });

  test('reveals no row in the API, not even under a project that the user may read', async () => {
    for (const rest of ['', ':count', `/${foreignRow}`, `/${foreignRow}/body`]) {
      expect((await ask(requests(foreign, rest), { headers: as(viewer) })).status, rest).toBe(403);
    }
    for (const rest of [`/${foreignRow}`, `/${foreignRow}/body`]) {
      const { status, body } = await ask(requests(own, rest), { headers: as(viewer) });
      expect(status, rest).toBe(404);
      expect(body).not.toContain(SECRET);
    }
    // Streams are excluded, because they do not end.
    for (const path of projectPaths(own, foreignRow).filter((path) => !path.includes('/stream'))) {
      expect((await ask(path, { headers: as(viewer) })).body, path).not.toContain(SECRET);
    }
    expect((await ask(requests(own), { headers: as(viewer) })).body).toContain(ownRow);
  });

  test('a forged identity in the status of a project shows nothing of another project', async () => {
    const shopUid = async (namespace: string): Promise<string> =>
      (await cluster.kubectl(['get', 'mpr', 'shop', '-n', namespace, '-o', 'jsonpath={.metadata.uid}'])).stdout;
    const forge = async (id: string | null): Promise<void> => {
      const patch = JSON.stringify({ status: { id } });
      const args = ['patch', 'mpr', 'shop', '-n', own, '--subresource=status', '--type=merge', '-p', patch];
      expect((await cluster.kubectl(args)).code).toBe(0);
    };
    await forge(await shopUid(foreign));
    for (const path of projectPaths(own, foreignRow).filter((path) => !path.includes('/stream'))) {
      expect((await ask(path, { headers: as(viewer) })).body, path).not.toContain(SECRET);
    }
    expect((await ask(requests(own), { headers: as(viewer) })).body).not.toContain(ownRow);
    await forge(null);
    expect((await ask(requests(own), { headers: as(viewer) })).body).toContain(ownRow);
  });

  test('a recreated project does not show the log of the deleted one', async () => {
    await cluster.kubectl(['delete', 'mpr', 'shop', '-n', own]);
    await cluster.apply(
      JSON.stringify({
        apiVersion: 'standin.dev/v1alpha1',
        kind: 'Project',
        metadata: { name: 'shop', namespace: own },
        spec: { displayName: 'Again', accountRef: { name: 'team' } },
      }),
    );
    const { status, body } = await ask(`/api/v1/namespaces/${own}/projects/shop/requests`, { headers: as(viewer) });
    expect(status, body).toBe(200);
    expect(body).not.toContain(ownRow);
    ownRow = await createShop(own, 'our own shop');
  });
});

describe('a user without write permission', () => {
  test("cannot change anything and sees the API server's error", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, `${dashboard.url}/p/${own}/shop/endpoints/orders/edit`, viewer);
    await page.getByLabel('Name', { exact: true }).fill('Taken over');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`User "${viewer.user}" cannot update resource "mockendpoints"`).first().waitFor();
    await close();
    const { stdout } = await cluster.kubectl(['get', 'mep', 'orders', '-n', own, '-o', 'jsonpath={.spec.displayName}']);
    expect(stdout).toBe('our own shop');
  });
});

describe('headers that claim an identity', () => {
  const CLAIMS = {
    'x-forwarded-user': 'admin',
    'x-forwarded-email': 'admin@example.com',
    'x-forwarded-groups': 'system:masters',
    'x-forwarded-access-token': 'admin',
    'x-remote-user': 'admin',
    'x-remote-group': 'system:masters',
    'x-auth-request-user': 'admin',
    'impersonate-user': 'admin',
    'impersonate-group': 'system:masters',
    forwarded: 'for=127.0.0.1;by=admin',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'localhost',
  };

  test.each(['/navigation', '/events', '/api/v1/projects'])('get 401 from %s', async (path) => {
    expect((await ask(path, { headers: CLAIMS })).status).toBe(401);
  });

  test('are redirected to the login page', async () => {
    const { status, headers } = await ask('/projects', { headers: { ...CLAIMS, accept: 'text/html' } });
    expect({ status, location: headers['location'] }).toEqual({ status: 302, location: '/login?to=%2Fprojects' });
  });

  test('add no permissions to a token', async () => {
    const { status } = await ask(`/p/${foreign}/shop/endpoints`, { headers: { ...CLAIMS, ...as(viewer) } });
    expect(status).toBe(403);
  });

  test.each(['', 'null', 'a.b.c', 'Basic YWRtaW46YWRtaW4=', '../../secrets'])(
    'such as the token "%s" get 401',
    async (token) => {
      const headers = { authorization: token.startsWith('Basic') ? token : `Bearer ${token}` };
      expect((await ask('/navigation', { headers })).status).toBe(401);
    },
  );
});

describe('a page on another site', () => {
  let attacker: Server;
  let port: number;
  let html = '';
  beforeAll(async () => {
    attacker = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html)).listen(0);
    await once(attacker, 'listening');
    port = (attacker.address() as AddressInfo).port;
  });
  afterAll(() => {
    attacker.closeAllConnections();
    attacker.close();
  });

  const field = (name: string, value: string): string => `<input name="${name}" value="${value}">`;
  const form = (action: string, enctype: string, fields: string): string =>
    `<form method="post" action="${dashboard.url}${action}" enctype="${enctype}">${fields}</form><script>document.forms[0].submit()</script>`;

  // From a page on another port of the dashboard's host, browsers send the session cookie, because cookies ignore ports.
  const HOSTS = ['127.0.0.1', 'localhost'];
  const TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'];

  test.each(HOSTS)('on %s cannot change anything by posting a form of any type', async (host) => {
    const { page, close } = await openPage(browser);
    await signIn(page, `${dashboard.url}/projects`, editor);
    for (const type of TYPES) {
      html = form('/projects/new', type, field('spec.displayName', 'Pwned') + field('spec.accountRef', `${own}/team`));
      const answer = page.waitForResponse(`${dashboard.url}/projects/new`);
      await page.goto(`http://${host}:${port}/`);
      expect((await answer).status(), type).toBe(403);
    }
    await close();
    const { stdout } = await cluster.kubectl(['get', 'mpr', '-n', own, '-o', 'name']);
    expect(stdout).not.toContain('pwned');
  });

  test('cannot sign a user in or out', async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, `${dashboard.url}/projects`, viewer);
    for (const [action, fields] of [
      ['/login', field('token', editor.token)],
      ['/logout', ''],
    ] as const) {
      html = form(action, TYPES[0] ?? '', fields);
      const answer = page.waitForResponse(`${dashboard.url}${action}`);
      await page.goto(`http://127.0.0.1:${port}/`);
      expect((await answer).status(), action).toBe(403);
    }
    await page.goto(`${dashboard.url}/projects`);
    await page.getByRole('button', { name: `Signed in as ${viewer.user}` }).waitFor();
    await close();
  });

  test('can neither frame nor read the dashboard', async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, `${dashboard.url}/projects`, viewer);
    html = `<iframe src="${dashboard.url}/projects"></iframe>`;
    await page.goto(`http://127.0.0.1:${port}/`);
    expect(await page.frameLocator('iframe').getByText('Projects').count()).toBe(0);
    const read = `fetch('${dashboard.url}/navigation', { credentials: 'include' }).then((a) => a.text(), () => 'refused')`;
    expect(await page.evaluate<string>(read)).toBe('refused');
    await close();
  });

  test.each([
    ['no origin', {}],
    ['the origin null', { origin: 'null' }],
    ['an origin with a different port', { origin: 'http://127.0.0.1:1' }],
    ["an origin that starts with the dashboard's", { origin: 'http://127.0.0.1.evil.example' }],
  ])('that sends %s is rejected before authentication', async (_, headers: Record<string, string>) => {
    const { status } = await ask('/logout', { method: 'POST', headers: { ...FORM, ...headers }, body: '' });
    expect(status).toBe(403);
  });
});

test('a CSV export contains no formula', async () => {
  const { status, headers, body } = await ask(`/p/${own}/shop/traffic/export?format=csv`, { headers: as(viewer) });
  expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/csv; charset=utf-8' });
  expect(headers['content-disposition']).toMatch(/^attachment;/);
  expect(body).toContain('HYPERLINK');
  for (const line of body.split('\r\n')) expect(line).not.toMatch(/(^|,)"?[=+\-@\t]/);
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPage, startBrowser } from '../harness/browser.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { installStandin } from '../harness/install-standin.ts';
import { freePort } from '../harness/ports.ts';
import {
  createPerson,
  signIn,
  startClusterDashboard,
  type ClusterDashboard,
  type Person,
} from './cluster-dashboard.ts';
import { goto, responseStatus, watched } from './dashboard-stand.ts';
import { post, Tenant } from './tenant.ts';

/**
 * Tests a team's workflow in the browser with all parts of a cluster: API server, operator, gateway, ClickHouse engine and two
 * dashboards.
 */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let gateway: DeployedGateway;
let dashboards: readonly ClusterDashboard[];
let browser: Browser;
let tenant: Tenant;
let editor: Person;
let viewer: Person;

const SESSION_KEY = 'one key for all dashboards of a cluster';
const ROW = '[data-traffic-row]';
const SECRET = 'hunter2-hunter2';

beforeAll(async () => {
  [cluster, clickHouse, browser] = await Promise.all([startCluster(), startClickHouse(), startBrowser()]);
  await installStandin(cluster);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  deployment = await deploy({
    cluster,
    clickHouse,
    gateways: 1,
    gatewayEnv: { STANDIN_PORT: String(port) },
    operatorEnv: { ...clickHouse.env, STANDIN_GATEWAY_URL: url, STANDIN_REPLAY_GATEWAY_URL: url },
  });
  const [deployed] = deployment.gateways;
  if (deployed === undefined) throw new Error('no gateway is deployed');
  gateway = { ...deployed, url };
  tenant = await Tenant.create(cluster, 'story');
  await tenant.apply('Account', 'team', { plan: 'Pro' });
  const env = { STANDIN_SESSION_KEY: SESSION_KEY, STANDIN_GATEWAY_URL: url };
  // Starts the dashboards sequentially, because the first one builds the pages if the sources have changed.
  dashboards = [
    await startClusterDashboard({ cluster, clickHouse, env }),
    await startClusterDashboard({ cluster, clickHouse, env }),
  ];
  [editor, viewer] = await Promise.all([
    createPerson(cluster, tenant.namespace, { name: 'editor', role: 'standin-admin' }),
    createPerson(cluster, tenant.namespace, { name: 'viewer', role: 'standin-view' }),
  ]);
});
afterAll(async () => {
  await browser.close();
  await Promise.all(dashboards.map(({ process }) => process.kill()));
  await deployment.stop();
  await tenant.client.close();
  await clickHouse.stop();
  await cluster.stop();
});

const at = (path: string, dashboard = dashboards[0]): string => `${dashboard?.url ?? ''}${path}`;
const shop = (path: string): string => at(`/p/story/shop${path}`);

const onPage = async (person: Person, path: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await signIn(page, at(path), person);
  await use(page);
  expect(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
  await close();
};

const send = async (): Promise<number> => {
  const key = await tenant.readSecret('team-api-key');
  const body = JSON.stringify({ user: 'ada', password: SECRET });
  return (await post(gateway, `${await tenant.projectPath()}/v1/orders`, key, { body })).status;
};
test('forms create a project and an endpoint, which serves requests as soon as the page shows Ready', async () => {
  await onPage(editor, '/projects/new', async (page) => {
    await page.getByLabel('Name', { exact: true }).fill('Shop');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.waitForURL(shop('/endpoints'));
    await goto(page, shop('/endpoints/new'));
    await page.getByLabel('Name', { exact: true }).fill('Orders');
    await page.getByRole('textbox', { name: 'Path', exact: true }).fill('/v1/orders');
    await page.getByLabel('Method').selectOption('POST');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.waitForURL(shop('/endpoints/orders'));
    await page.getByText('Ready', { exact: true }).first().waitFor();
    expect(await send()).toBe(200);
    await goto(page, shop('/endpoints/orders/status'));
    await page.getByText('kubectl -n story wait --for=condition=Ready mockendpoints/orders').waitFor();
  });
});

test('a request appears without a reload, and its replay shows both responses side by side', async () => {
  await onPage(editor, '/p/story/shop/traffic', async (page) => {
    await page.locator(ROW).first().waitFor();
    const before = await page.locator(ROW).count();
    expect(await send()).toBe(200);
    await expect.poll(() => page.locator(ROW).count(), { timeout: 10_000 }).toBe(before + 1);
    await page.locator(ROW).first().click();
    await page.getByRole('link', { name: 'Replay', exact: true }).first().click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('heading', { name: 'Same response' }).waitFor();
    await page.getByText('Succeeded').first().waitFor();
  });
});

/** Opens the Share dialog of the newest request and clicks Create link, which fails without permission. */
const openShare = async (page: Page): Promise<void> => {
  await page.locator(ROW).first().click();
  await page.getByRole('button', { name: /^Share/ }).click();
  await page.locator('[data-share-preview]').waitFor();
  await page.getByRole('button', { name: 'Create link' }).click();
};

test('every dashboard shows a shared request without a login until the link is revoked', async () => {
  await onPage(editor, '/p/story/shop/traffic', async (page) => {
    await openShare(page);
    const link = new URL(await page.getByRole('textbox', { name: 'Link' }).inputValue());
    for (const dashboard of dashboards) {
      const visitor = await openPage(browser, { javaScriptEnabled: false });
      await visitor.page.goto(at(link.pathname, dashboard));
      await visitor.page.getByText('Captured by Standin and shared by a link').waitFor();
      expect(await visitor.page.content()).not.toContain(SECRET);
      await visitor.close();
    }
    await page.getByRole('link', { name: 'All links in this project' }).click();
    await page.getByText('Active', { exact: true }).waitFor();
    await page.getByRole('button', { name: /^Revoke share-/ }).click();
    await page.getByRole('button', { name: 'Revoke link' }).click();
    await page.getByText('Link revoked.').waitFor();
    for (const dashboard of dashboards) expect(await responseStatus(at(link.pathname, dashboard))).toBe(404);
  });
});

test('a page of another origin calls a mock with its key, and reads its errors', async () => {
  const key = await tenant.readSecret('team-api-key');
  const site = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<p>shop'));
  await once(site.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const accountRef = { name: 'team' };
  await tenant.apply('Project', 'web', { accountRef, cors: { allowOrigins: [origin], exposeHeaders: ['x-total'] } });
  await tenant.apply('Endpoint', 'list', {
    projectRef: { name: 'web' },
    displayName: 'List',
    slug: '/orders',
    method: 'PUT',
    action: 'JSON',
    json: { headers: [{ name: 'x-total', value: '3' }], body: '{"count": 3}' },
  });
  await tenant.untilReason('Endpoint', 'list', 'Ready');
  const url = `${gateway.url}${await tenant.projectPath('web')}`;
  const { page, close } = await openPage(browser);
  const call = (path: string, apiKey = key) =>
    page.evaluate(
      async ([to = '', apiKeyOfPage = '']) => {
        const headers = { 'x-api-key': apiKeyOfPage, 'content-type': 'application/json' };
        const response = await fetch(to, { method: 'PUT', headers, body: '{"page": 1}' });
        return [response.status, response.headers.get('x-total'), await response.json()] as const;
      },
      [`${url}${path}`, apiKey],
    );
  await page.goto(origin);
  expect(await call('/orders')).toEqual([200, '3', { count: 3 }]);
  expect(await call('/nothing')).toEqual([404, null, expect.objectContaining({ code: 'endpoint_not_found' })]);
  expect(await call('/orders', 'sk_wrong')).toEqual([401, null, expect.objectContaining({ code: 'api_key_invalid' })]);
  await page.goto(origin.replace('127.0.0.1', 'localhost'));
  await expect(call('/orders')).rejects.toThrow('Failed to fetch');
  await close();
  site.closeAllConnections();
  site.close();
});

test('the API server denies sharing to a user with read-only access', async () => {
  await onPage(viewer, '/p/story/shop/traffic', async (page) => {
    await openShare(page);
    await page.getByText(`User "${viewer.user}" cannot create resource "mockshares"`).waitFor();
  });
  expect(await tenant.list('Share')).toEqual([]);
});

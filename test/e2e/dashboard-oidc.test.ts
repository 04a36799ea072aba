import { randomUUID } from 'node:crypto';
import { openLogStore } from '@standin/logstore';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closePage, openPage, startBrowser } from '../harness/browser.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { freePort } from '../harness/ports.ts';
import { createPerson, signIn, startClusterDashboard, type ClusterDashboard } from './cluster-dashboard.ts';
import { goto, hydrated } from './dashboard-stand.ts';
import { signInAtProvider, startIdentityProvider, type IdentityProvider } from './identity-provider.ts';

/**
 * Tests sign-in with OpenID Connect. The API server and the dashboard trust the same provider, and RBAC uses the claims of the
 * provider's tokens.
 */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let provider: IdentityProvider;
let dashboard: ClusterDashboard;
let browser: Browser;

const NAMESPACE = 'oidc-team';
/** The dashboard refreshes a token 30 seconds before it expires, so it uses each of these tokens for three seconds. */
const ID_TOKEN_SECONDS = 33;

beforeAll(async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const redirectUri = `${url}/login/oidc/callback`;
  provider = await startIdentityProvider({ redirectUri, idTokenSeconds: ID_TOKEN_SECONDS, groups: ['team-a'] });
  const apiServerArgs = [
    `--oidc-issuer-url=${provider.issuer}`,
    `--oidc-client-id=${provider.clientId}`,
    `--oidc-ca-file=${provider.caFile}`,
    '--oidc-username-prefix=oidc:',
    '--oidc-groups-claim=groups',
    '--oidc-groups-prefix=oidc:',
  ];
  [cluster, clickHouse, browser] = await Promise.all([
    startCluster({ apiServerArgs }),
    startClickHouse(),
    startBrowser(),
  ]);
  await installStandin(cluster);
  const store = openLogStore(clickHouse);
  await store.migrate();
  await store.close();
  await cluster.kubectl(['create', 'namespace', NAMESPACE]);
  await cluster.kubectl([
    'create',
    'rolebinding',
    'team',
    '--clusterrole=standin-edit',
    '--group=oidc:team-a',
    '-n',
    NAMESPACE,
  ]);
  const metadata = { name: 'team', namespace: NAMESPACE };
  await cluster.apply(
    JSON.stringify({ apiVersion: 'standin.dev/v1alpha1', kind: 'Account', metadata, spec: { plan: 'Free' } }),
  );
  dashboard = await startClusterDashboard({
    cluster,
    clickHouse,
    env: {
      STANDIN_PORT: String(port),
      STANDIN_URL: url,
      STANDIN_OIDC_ISSUER: provider.issuer,
      STANDIN_OIDC_CLIENT_ID: provider.clientId,
      STANDIN_OIDC_CLIENT_SECRET: provider.clientSecret,
      STANDIN_OIDC_SCOPES: 'openid',
      STANDIN_OIDC_NAME: 'Example ID',
      NODE_EXTRA_CA_CERTS: provider.caFile,
    },
  });
});
afterAll(async () => {
  await browser.close();
  await dashboard.process.kill();
  await Promise.all([clickHouse.stop(), cluster.stop(), provider.close()]);
});

const newPage = async (): Promise<Page> =>
  (await openPage(browser, { ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })).page;
const toProvider = async (page: Page, path: string): Promise<void> => {
  await goto(page, `${dashboard.url}${path}`);
  await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
};
const open = async (name: string, path = '/projects'): Promise<Page> => {
  const page = await newPage();
  await toProvider(page, path);
  await signInAtProvider(page, name);
  await page.waitForURL(`${dashboard.url}${path}`);
  await hydrated(page);
  return page;
};

describe('the identity provider', () => {
  it('signs users in with the permissions of their groups', async () => {
    const page = await open('anna', '/projects/new');
    await page.getByRole('button', { name: 'Signed in as oidc:anna' }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Shop');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.waitForURL(`${dashboard.url}/p/${NAMESPACE}/shop/**`);
    await closePage(page);
  });

  it('refreshes a token before it expires, once for concurrent requests', async () => {
    const page = await open('berta');
    const before = provider.refreshes();
    await eventually('another token', async () => {
      await goto(page, `${dashboard.url}/projects`);
      return provider.refreshes() > before;
    });
    const reload = (): Promise<number> => page.evaluate<number>("fetch('/navigation').then(({ status }) => status)");
    expect(await Promise.all(Array.from({ length: 6 }, reload))).toEqual(Array(6).fill(200));
    await closePage(page);
  });

  it('keeps users signed in while it is unavailable for a short time', async () => {
    const page = await open('gina');
    provider.setUnavailable(true);
    const hasFailed = () => dashboard.process.log().some((line) => line.includes('identity provider unavailable'));
    try {
      await eventually('a failed renewal', async () => {
        await goto(page, `${dashboard.url}/projects`);
        return hasFailed();
      });
    } finally {
      provider.setUnavailable(false);
    }
    const before = provider.refreshes();
    await goto(page, `${dashboard.url}/projects`);
    await page.getByRole('button', { name: 'Signed in as oidc:gina' }).waitFor();
    expect(provider.refreshes()).toBe(before + 1);
    await closePage(page);
  });

  it('returns to the login page when the user cancels', async () => {
    const page = await newPage();
    await toProvider(page, '/projects');
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByText('The identity provider did not sign you in').waitFor();
    await closePage(page);
  });

  it('does not sign in a browser that did not start the login', async () => {
    const page = await newPage();
    await page.goto(`${dashboard.url}/login/oidc/callback?code=stolen&state=guessed`);
    await page.getByText('Sign in again.').waitFor();
    expect((await page.context().cookies()).filter(({ name }) => name.startsWith('standin-session'))).toEqual([]);
    await closePage(page);
  });

  it('never redirects to another site after the login', async () => {
    const page = await newPage();
    await toProvider(page, `/login?to=${encodeURIComponent('//evil.example/x')}`);
    await signInAtProvider(page, 'carla');
    await page.waitForURL(`${dashboard.url}/projects`);
    await closePage(page);
  });
});

it('a page that is denied opens without a click when the user gets the permission', async () => {
  const page = await newPage();
  const name = `late-${randomUUID()}`;
  await signIn(page, `${dashboard.url}/p/${NAMESPACE}/shop/settings`, await createPerson(cluster, NAMESPACE, { name }));
  await page.getByText('Permission denied').waitFor();
  await createPerson(cluster, NAMESPACE, { name, role: 'standin-view' });
  // The dashboard remembers for up to 15 seconds what a user may do.
  await page.getByLabel('Name', { exact: true }).waitFor({ timeout: 30_000 });
  await closePage(page);
});

describe('an unavailable service', () => {
  it('is named on the page: ClickHouse', async () => {
    const page = await open('dora');
    process.kill(clickHouse.pid ?? 0, 'SIGSTOP');
    try {
      await page.goto(`${dashboard.url}/projects`);
      await page.getByText('ClickHouse is not responding').waitFor();
      await page.getByRole('link', { name: 'Shop' }).waitFor();
    } finally {
      process.kill(clickHouse.pid ?? 0, 'SIGCONT');
    }
    await eventually('the log to be available again', async () => {
      await page.goto(`${dashboard.url}/projects`);
      return (await page.getByText('ClickHouse is not responding').count()) === 0;
    });
    await closePage(page);
  });

  it('(the API server) is named on the page, which recovers by itself', async () => {
    const page = await newPage();
    // This user does not sign in with the provider, because a newly started API server rejects the provider's tokens until it has
    // fetched the provider's keys.
    const emma = await createPerson(cluster, NAMESPACE, { name: 'emma', role: 'standin-edit' });
    await signIn(page, `${dashboard.url}/p/${NAMESPACE}/shop/settings`, emma);
    await cluster.stopApiServer('SIGKILL');
    await page.goto(`${dashboard.url}/p/${NAMESPACE}/shop/settings`);
    await page.getByText(`the Kubernetes API server at ${cluster.server} did not respond`).waitFor();
    await cluster.startApiServer();
    // The page retries without a click.
    await page.getByLabel('Name', { exact: true }).waitFor({ timeout: 30_000 });
    await closePage(page);
  });

  it('(the identity provider) is named on the page, and signing in with a token still works', async () => {
    await provider.close();
    await dashboard.process.restart();
    await dashboard.process.waitForUrl(`${dashboard.url}/healthz`, 60_000);
    const page = await newPage();
    await toProvider(page, '/projects');
    await page.getByText('The identity provider did not sign you in').waitFor();
    await page.getByLabel('Kubernetes token').waitFor();
    await closePage(page);
  });
});

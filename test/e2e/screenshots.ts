/**
 * `npm run screenshots [-- NAME…]` takes the screenshots in docs/screenshots. It shows each page in light mode, in dark mode and on
 * a phone.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { request } from 'undici';
import { openPage, startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { newest, recordTour } from './animation.ts';
import { DESKTOP, goto, SHOP, startDashboard, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, forward, readLog, ROOT } from './dev-stand.ts';
import { settled } from './expect-accessible.ts';
import { startUpstream, type Upstream } from './upstream.ts';

const FOLDER = path.join(ROOT, 'docs/screenshots');
const VARIANTS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: 'light', viewport: DESKTOP },
  dark: { colorScheme: 'dark', viewport: DESKTOP },
  phone: { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
};

interface Picture {
  readonly url: string;
  /** Opens the part to show. It may navigate to another page. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const MANIFESTS = `
{apiVersion: standin.dev/v1alpha1, kind: Account, metadata: {name: partners}, spec: {plan: Free, monthlyQuota: 100000}}
---
{apiVersion: standin.dev/v1alpha1, kind: Project, metadata: {name: notifications}, spec: {displayName: Notifications, accountRef: {name: partners}}}
---
apiVersion: standin.dev/v1alpha1
kind: Project
metadata: {name: billing, labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
spec: {displayName: Billing, accountRef: {name: partners}}
`;
const ORDER = JSON.stringify({
  customer: { name: 'Ada Lovelace', email: 'ada@example.com', password: 'correct horse battery staple' },
  card: { number: '4242 4242 4242 4242', cvc: '123' },
  items: [{ sku: 'A-100', quantity: 2, price: 10.5 }],
});

/**
 * Starts the upstream of the endpoints that forward. It declines every fifth request, and gives no response to requests for the
 * stock of one product.
 */
const startPayments = (): Promise<Upstream> => {
  let count = 0;
  return startUpstream(({ url }, response) => {
    count += 1;
    if (url.includes('sku=81-220')) return void response.destroy();
    const status = count % 5 === 0 ? 402 : 201;
    const body = `{"payment":${12345678901234567000n + BigInt(count)},"status":"${status === 201 ? 'paid' : 'refused'}","total":21.00}`;
    setTimeout(
      () =>
        response
          .writeHead(status, { 'content-type': 'application/json', 'x-request-id': String(7000 + count) })
          .end(body),
      (count * 7) % 60,
    );
  });
};

const send = async ({ url, apiKey }: DashboardRun, method: 'GET' | 'POST', target: string): Promise<number> => {
  const headers = { 'x-api-key': apiKey, 'user-agent': 'shop/4.2', accept: 'application/json' };
  const sent = { authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9', 'content-type': 'application/json' };
  const { statusCode, body } = await request(
    `${url}${target}`,
    method === 'GET' ? { method, headers } : { method, headers: { ...headers, ...sent }, body: ORDER },
  );
  await body.dump();
  return statusCode;
};

const TRAFFIC: readonly (readonly ['GET' | 'POST', string])[] = [
  ['GET', '/v1/orders?page=2'],
  ['POST', '/v1/payments'],
  ['GET', '/v1/orders'],
  ['POST', '/v1/orders'],
  ['GET', '/v1/orders?status=open'],
  ['POST', '/v1/payments?retry=1'],
  ['GET', '/v1/stock?sku=81-220'],
];
const ROUNDS = 30;

const prepareTraffic = async (run: DashboardRun, upstream: Upstream): Promise<void> => {
  const write = (name: string, text: string): Promise<void> => writeFile(path.join(run.manifests, name), text);
  const named = { displayName: 'Payments', slug: '/v1/payments' };
  await write(
    'account.yaml',
    '{apiVersion: standin.dev/v1alpha1, kind: Account, metadata: {name: default}, spec: {plan: Pro, monthlyQuota: 5000}}',
  );
  await write('more.yaml', MANIFESTS);
  await write('payments.yaml', endpoint('payments', { ...named, ...forward(`${upstream.url}/payments`) }));
  await write(
    'stock.yaml',
    endpoint('stock', { displayName: 'Stock', slug: '/v1/stock', method: 'GET', ...forward(`${upstream.url}/stock`) }),
  );
  await eventually('the endpoints to answer', async () => (await send(run, 'GET', '/v1/stock?sku=81-220')) === 502);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [method, target] of TRAFFIC) {
      await send(run, method, target);
      // Different delays produce bars of different heights.
      await delay((round * 37) % 90);
    }
  }
  await eventually(
    'the last request in the log',
    () => readLog(run.data, '--filter', 'path:/v1/payments', '--limit', '1000'),
    {
      accept: ({ length }) => length >= 2 * ROUNDS,
    },
  );
};

const sendReplay = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('heading', { name: 'Differences' }).waitFor();
};
const runPlan = async (page: Page): Promise<void> => {
  const confirm = page.getByLabel(/^Type \d+ to confirm/);
  const [count = ''] = /\d+/.exec(await page.getByText(/^Type \d+ to confirm/).innerText()) ?? [];
  await confirm.fill(count);
  await page.getByRole('button', { name: /^Send/ }).click();
  await page.getByRole('heading', { name: /^[1-9]\d* of \d+ sent/ }).waitFor();
};
const openShare = async (page: Page): Promise<void> => {
  await page.keyboard.press('s');
  await page.locator('[data-share-preview]').waitFor();
};
const openSharedPage = async (page: Page): Promise<void> => {
  await openShare(page);
  await page.getByRole('button', { name: 'Create link' }).click();
  await page.goto(await page.getByRole('textbox', { name: 'Link' }).inputValue());
};

const listPictures = async (run: DashboardRun): Promise<Readonly<Record<string, Picture>>> => {
  const exchange = `${SHOP}/traffic/${await newest(run, 'path:/v1/payments status:201')}`;
  const traffic = new URLSearchParams({ q: '-endpoint:cancel-order', live: '0', sel: await newest(run, 'status:402') });
  const plan = `${SHOP}/replays/new?${new URLSearchParams({ q: 'path:/v1/payments', from: '1h', target: 'Upstream', rate: '4' }).toString()}`;
  return {
    projects: { url: '/projects' },
    'project-form': { url: '/projects/new' },
    traffic: { url: `${SHOP}/traffic?${traffic.toString()}` },
    exchange: { url: exchange },
    'exchange-response': { url: `${exchange}?tab=response` },
    palette: { url: `${SHOP}/endpoints`, prepare: (page) => page.keyboard.press('Control+k') },
    endpoints: { url: `${SHOP}/endpoints` },
    endpoint: { url: `${SHOP}/endpoints/create-order` },
    'endpoint-form': { url: `${SHOP}/endpoints/create-order/edit` },
    'endpoint-yaml': { url: `${SHOP}/endpoints/create-order/yaml` },
    'endpoint-status': { url: `${SHOP}/endpoints/create-order/status` },
    mock: { url: `${exchange}/mock` },
    'replay-form': { url: `${exchange}/replay` },
    'replay-result': { url: `${exchange}/replay`, prepare: sendReplay },
    'replay-plan': { url: plan },
    'replay-progress': { url: plan, prepare: runPlan },
    replays: { url: `${SHOP}/replays` },
    'share-dialog': { url: exchange, prepare: openShare },
    'share-page': { url: exchange, prepare: openSharedPage },
    shares: { url: `${SHOP}/settings/shares` },
    settings: { url: `${SHOP}/settings` },
    'api-key': { url: `${SHOP}/settings/api-key` },
    usage: { url: `${SHOP}/settings/usage` },
  };
};

const take = async (
  browser: Browser,
  run: DashboardRun,
  [name, { url, prepare }]: [string, Picture],
): Promise<void> => {
  for (const [variant, options] of Object.entries(VARIANTS)) {
    const { page, context } = await openPage(browser, options);
    await goto(page, `${run.dashboard}${url}`);
    await prepare?.(page);
    // A page with a counter that keeps running never settles.
    if (name !== 'replay-progress') await settled(page);
    await page.screenshot({ path: path.join(FOLDER, `${name}-${variant}.png`) });
    await context.close();
  }
  console.log(name);
};

const upstream = await startPayments();
const [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
try {
  await prepareTraffic(run, upstream);
  const wanted = process.argv.slice(2);
  for (const picture of Object.entries(await listPictures(run))) {
    if (wanted.length === 0 || wanted.includes(picture[0])) await take(browser, run, picture);
  }
  // Last, because it changes an endpoint.
  if (wanted.length === 0 || wanted.includes('tour')) {
    await writeFile(path.join(FOLDER, 'tour.png'), await recordTour(browser, run));
    console.log('tour');
  }
} finally {
  upstream.stop();
  await Promise.all([browser.close(), run.process.kill()]);
}

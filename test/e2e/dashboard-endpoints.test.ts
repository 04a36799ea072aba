import { createHmac, randomUUID } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../cluster/run-command.ts';
import { startBrowser, type WatchedPage } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, SHOP, startDashboard, tabTo, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

let run: DashboardRun;
let browser: Browser;

beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;
const manifest = (file: string): Promise<string> => readFile(path.join(run.manifests, file), 'utf8');
const call = async (method: 'GET' | 'POST' | 'PUT', slug: string): Promise<{ status: number; text: string }> => {
  const { statusCode, body } = await request(`${run.url}${slug}`, { method, headers: { 'x-api-key': run.apiKey } });
  return { status: statusCode, text: await body.text() };
};

/** Opens a page and checks at the end that its console has no errors or warnings except those about failed requests. */
const onPage = async (url: string, use: (page: Page, watching: WatchedPage) => Promise<void>): Promise<void> => {
  const watching = await watched(browser);
  await goto(watching.page, at(url));
  await use(watching.page, watching);
  expect(watching.complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
  await watching.close();
};

const steps = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('[data-step]')].map((step) => step.dataset.state)`);
const DONE = ['done', 'done', 'done', 'done'];

/** Replaces the text of the editor that scripts show instead of a text area. */
const typeIntoEditor = async (page: Page, name: string, text: string): Promise<void> => {
  await page.getByRole('textbox', { name, exact: true }).and(page.locator('[contenteditable]')).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text);
};

describe('an endpoint', () => {
  test('is created, edited and deleted using only the keyboard, and the progress strip reaches Ready without a reload', async () => {
    await onPage(`${SHOP}/endpoints`, async (page) => {
      await page.keyboard.press('n');
      await page.getByRole('heading', { name: 'New endpoint' }).waitFor();
      await tabTo(page, 'Name');
      await page.keyboard.type('Ship order');
      await tabTo(page, 'Method');
      await page.keyboard.type('PUT');
      await tabTo(page, 'Path');
      await page.keyboard.press('Control+a');
      await page.keyboard.type('/v1/shipments');
      await expect
        .poll(() => page.getByRole('textbox', { name: 'Manifest' }).innerText())
        .toContain('slug: /v1/shipments');
      const shown = await page.getByRole('textbox', { name: 'Manifest' }).locator('.cm-line').allTextContents();
      await tabTo(page, 'Create endpoint');
      await page.keyboard.press('Enter');
      await page.waitForURL(at(`${SHOP}/endpoints/ship-order`));
      await expect.poll(() => steps(page)).toEqual(DONE);
      expect((await call('PUT', '/v1/shipments')).text).toContain('Hello from Standin');
      const written = await manifest('endpoint-ship-order.yaml');
      expect(written).toMatch(/\nmetadata:\n {2}name: ship-order\nspec:\n/);
      expect(written.split('\n')).toEqual(shown);

      await tabTo(page, 'Edit');
      await page.keyboard.press('Enter');
      await page.getByLabel('Status (optional)').waitFor();
      await tabTo(page, 'Status');
      await page.keyboard.type('202');
      await page.keyboard.press('Enter');
      await page.waitForURL(at(`${SHOP}/endpoints/ship-order`));
      await expect.poll(async () => (await call('PUT', '/v1/shipments')).status).toBe(202);

      await page.getByRole('heading', { name: 'Ship order' }).waitFor();
      await tabTo(page, 'Delete', 'Shift+Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await tabTo(page, 'Delete endpoint');
      await page.keyboard.press('Enter');
      await page.waitForURL(at(`${SHOP}/endpoints`));
      await expect.poll(async () => (await call('PUT', '/v1/shipments')).status).toBe(404);
      expect(await readdir(run.manifests)).not.toContain('endpoint-ship-order.yaml');
    });
  });

  test('is created and serves a response after three clicks in an empty project', async () => {
    await writeFile(
      path.join(run.manifests, 'empty.yaml'),
      'apiVersion: standin.dev/v1alpha1\nkind: Project\nmetadata: {name: empty}\nspec: {accountRef: {name: default}}\n',
    );
    await onPage('/projects', async (page) => {
      await page.getByRole('link', { name: 'empty', exact: true }).click();
      await page.getByRole('link', { name: 'Create endpoint' }).click();
      await page.getByRole('button', { name: 'Create endpoint' }).click();
      await page.waitForURL(at('/p/default/empty/endpoints/hello'));
      await expect.poll(() => steps(page)).toEqual(DONE);
    });
  });

  test('accepts signatures that the form describes, and a repeated delivery links to the earlier one', async () => {
    const secret = 'a webhook secret';
    const metadata = { name: 'gh', labels: { 'standin.dev/signing-secret': 'true' } };
    const own = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { current: secret } };
    await writeFile(path.join(run.manifests, 'secret.yaml'), JSON.stringify(own));
    const account = (await manifest('account.yaml')).replace('plan: Pro\n', 'plan: Pro\n  signatures: Allowed\n');
    await writeFile(path.join(run.manifests, 'account.yaml'), account);
    await onPage(`${SHOP}/endpoints/new`, async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('From GitHub');
      await page.getByLabel('Method').selectOption('POST');
      await page.getByLabel('Path', { exact: true }).fill('/from-github');
      const credential = page.locator('[data-credential]');
      expect(await credential.isVisible()).toBe(false);
      await page.getByLabel('Signature or API key').check();
      await page.getByText('Settings → Webhooks → Add webhook → Secret').waitFor();
      expect(await credential.getByLabel('Tolerance').isVisible()).toBe(false);
      await credential.getByLabel('Scheme').selectOption('HMAC');
      expect(await credential.getByLabel('Prefix').isVisible()).toBe(true);
      await credential.getByLabel('Scheme').selectOption('GitHub');
      await credential.getByLabel('Secret', { exact: true }).fill('gh');
      await credential.getByLabel('Data key', { exact: true }).fill('current');
      await page.getByRole('button', { name: 'Create endpoint' }).click();
      await page.waitForURL(at(`${SHOP}/endpoints/from-github`));
      await expect.poll(() => steps(page)).toEqual(DONE);
      await page.getByText('Paste this URL at the provider').waitFor();
    });
    const digest = createHmac('sha256', secret).update('{}').digest('hex');
    const headers = { 'x-hub-signature-256': `sha256=${digest}`, 'x-github-delivery': 'delivery-1' };
    const deliver = async (): Promise<number> => {
      const { statusCode, body } = await request(`${run.url}/from-github`, { method: 'POST', headers, body: '{}' });
      await body.dump();
      return statusCode;
    };
    expect([await deliver(), await deliver()]).toEqual([200, 200]);
    await onPage(`${SHOP}/traffic?q=credential:signature`, async (page) => {
      const rows = page.getByRole('grid').getByText('/from-github');
      await expect.poll(() => rows.count()).toBe(2);
      await rows.first().click();
      const notice = page.getByText('Delivered once before.');
      await notice.getByRole('link', { name: 'all deliveries' }).click();
      await expect
        .poll(() => new URL(page.url()).searchParams.get('q'))
        .toBe('endpoint:from-github delivery:delivery-1');
      await expect.poll(() => rows.count()).toBe(2);
      await rows.first().click();
      await notice.getByRole('link', { name: 'the first delivery' }).click();
      await page.getByText('Authenticated by').waitFor();
      await expect.poll(() => page.getByText('Delivered once before').count()).toBe(0);
    });
  });

  test('keeps its comments and the exact bytes of an unedited body when it is edited', async () => {
    const before = await manifest('create-order.yaml');
    await onPage(`${SHOP}/endpoints/create-order/edit`, async (page) => {
      await page.getByLabel('Header 1 value').fill('${url.project}/v1/orders/1002');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL(at(`${SHOP}/endpoints/create-order`));
      await expect.poll(() => steps(page)).toEqual(DONE);
    });
    expect(await manifest('create-order.yaml')).toBe(before.replace('/v1/orders/1001', '/v1/orders/1002'));
  });

  test('switches to Forward and back, and keeps its mock settings', async () => {
    const before = await manifest('list-orders.yaml');
    await onPage(`${SHOP}/endpoints/list-orders/edit`, async (page) => {
      await page.getByRole('radio', { name: 'Forward' }).check();
      expect(await page.getByLabel('Status (optional)').isVisible()).toBe(false);
      await page.getByLabel('Upstream URL').fill(`${run.ready.gateway}/nowhere`);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL(at(`${SHOP}/endpoints/list-orders`));
      await page.getByText(`Forwarded to ${run.ready.gateway}/nowhere`).waitFor();
      await expect.poll(async () => (await call('GET', '/v1/orders')).status).toBe(401);
      await page.getByRole('link', { name: 'Edit' }).click();
      await page.getByRole('radio', { name: 'Mock' }).check();
      await page.getByRole('button', { name: 'Save' }).click();
      await expect.poll(async () => (await call('GET', '/v1/orders')).text).toContain('"id": 1001');
    });
    const body = /body: .*/;
    expect(body.exec(await manifest('list-orders.yaml'))?.[0]).toBe(body.exec(before)?.[0]);
  });
});

describe('a form', () => {
  test('shows errors next to the fields while the user types, and keeps the input when it is rejected', async () => {
    await onPage(`${SHOP}/endpoints/new`, async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('Twice');
      await page.getByLabel('Path', { exact: true }).fill('/v1/orders');
      await page.getByText('Endpoint default/list-orders is older and already answers GET /v1/orders').waitFor();
      await page.getByLabel('Path', { exact: true }).fill('/v1/orders?x');
      await page.getByText('Must not contain a query or fragment').waitFor();
      await page.getByLabel('Path', { exact: true }).fill('/v1/:id');
      await page.getByText(':id is not: write {id}').waitFor();
      await page.getByLabel('Path', { exact: true }).fill('/v1/fine');
      await expect.poll(() => page.getByLabel('Path', { exact: true }).getAttribute('aria-invalid')).toBe(null);
      await typeIntoEditor(page, 'Body', '{"a": 1,}');
      await page.getByText('Is not a JSON document').waitFor();
      await page.getByLabel('Header 1 name').fill('content length');
      await page.getByRole('button', { name: 'Create endpoint' }).click();
      await page.getByRole('alert').getByText('Not saved: fix 1 field.').waitFor();
      await page.getByText('Must be an HTTP token').waitFor();
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Twice');
      expect(await page.locator('textarea[name="spec.json.body"]').inputValue()).toBe('{"a": 1,}');
      expect(await page.getByLabel('Header 1 name').inputValue()).toBe('content length');
    });
    expect(await readdir(run.manifests)).not.toContain('endpoint-twice.yaml');
  });

  test('focuses the editor of a rejected body, and says how to write an expression instead of Handlebars', async () => {
    await onPage(`${SHOP}/endpoints/new`, async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('Handlebars');
      await page.getByLabel('Path', { exact: true }).fill('/v1/handlebars');
      const hint = page.getByText('{{ is returned as it is: write an expression as ${…}.');
      expect(await hint.count()).toBe(0);
      await typeIntoEditor(page, 'Body', '{"id": {{@index}}}');
      await hint.waitFor();
      await page.getByRole('button', { name: 'Create endpoint' }).click();
      await page.getByRole('alert').getByText('Not saved: fix 1 field.').waitFor();
      const body = page.locator('[contenteditable][aria-label="Body"]');
      await expect.poll(() => page.locator('[contenteditable]:focus').getAttribute('aria-label')).toBe('Body');
      expect(await body.getAttribute('aria-invalid')).toBe('true');
      await typeIntoEditor(page, 'Body', '{"id": 1}');
      await expect.poll(() => body.getAttribute('aria-invalid')).toBe(null);
      expect(await hint.count()).toBe(0);
    });
  });

  test('shows the errors of a rejected save next to edited fields, even if the check while typing failed', async () => {
    await onPage(`${SHOP}/endpoints/new`, async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('Unchecked');
      await page.route('**/preview', (route) => route.abort());
      const path = page.getByLabel('Path', { exact: true });
      await path.fill('/v1/orders?x');
      await page.getByRole('button', { name: 'Create endpoint' }).click();
      await page.getByRole('alert').getByText('Not saved: fix 1 field.').waitFor();
      await page.getByText('Must not contain a query or fragment').waitFor();
      expect(await page.getByRole('textbox', { name: 'Manifest' }).innerText()).toContain('slug: /v1/orders?x');
      await page.unroute('**/preview');
      await path.fill('/v1/fine');
      await expect.poll(() => path.getAttribute('aria-invalid')).toBe(null);
    });
  });

  test('works without JavaScript', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(at(`${SHOP}/endpoints/new`));
    await page.getByLabel('Name', { exact: true }).fill('Plain');
    await page.getByLabel('Path', { exact: true }).fill('orders');
    await page.locator('textarea[name="spec.json.body"]').fill('{\n  "plain": 1.0\n}');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.getByText('Must begin with /').waitFor();
    await page.getByLabel('Path', { exact: true }).fill('/plain');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.waitForURL(at(`${SHOP}/endpoints/plain`));
    await expect.poll(async () => (await call('GET', '/plain')).text).toBe('{\n  "plain": 1.0\n}');
    await context.close();
  });

  test('reports a change by another user and does not overwrite it', async () => {
    // A retry needs a change, too.
    const name = `Theirs ${randomUUID()}`;
    await onPage(`${SHOP}/endpoints/cancel-order/edit`, async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('Mine');
      const theirs = (await manifest('cancel-order.yaml')).replace(/displayName: .*/, `displayName: ${name}`);
      await writeFile(path.join(run.manifests, 'cancel-order.yaml'), theirs);
      await page.getByRole('alert').getByText('This endpoint changed').waitFor();
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Mine');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Not saved: both versions changed the same field').waitFor();
      expect(await page.evaluate('document.activeElement?.textContent')).toMatch(/^Not saved/);
      expect(await manifest('cancel-order.yaml')).toBe(theirs);
      await page.getByRole('button', { name: 'Discard your changes' }).click();
      await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe(name);
    });
  });

  test('keeps the input when another user has saved, even without JavaScript', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(at(`${SHOP}/endpoints/cancel-order/edit`));
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    const theirs = (await manifest('cancel-order.yaml')).replace(/displayName: .*/, 'displayName: Theirs again');
    await writeFile(path.join(run.manifests, 'cancel-order.yaml'), theirs);
    await eventually('the dashboard to show the change', async () =>
      (await (await fetch(at(`${SHOP}/endpoints`))).text()).includes('Theirs again'),
    );
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Not saved.').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Mine');
    expect(await manifest('cancel-order.yaml')).toBe(theirs);
    await context.close();
  });
});

describe('changes from outside the dashboard', () => {
  test('show on the page without a reload: an invalid edit and its fix', async () => {
    const good = await manifest('list-orders.yaml');
    await onPage(`${SHOP}/endpoints/list-orders`, async (page) => {
      await expect.poll(() => steps(page)).toEqual(DONE);
      await writeFile(path.join(run.manifests, 'list-orders.yaml'), good.replace('slug: /v1/orders', 'slug: v1'));
      await expect.poll(async () => (await steps(page))[0]).toBe('failed');
      await page.getByText('must begin with /').first().waitFor();
      await writeFile(path.join(run.manifests, 'list-orders.yaml'), good);
      await expect.poll(() => steps(page)).toEqual(DONE);
    });
  });

  test('an endpoint that Argo CD manages is read-only, with the reason', async () => {
    const owned = (await manifest('create-order.yaml'))
      .replaceAll('create-order', 'managed')
      .replace('slug: /v1/orders', 'slug: /managed')
      .replace(
        'metadata:',
        "metadata:\n  annotations: {argocd.argoproj.io/tracking-id: 'shop:standin.dev/Endpoint:default/managed'}",
      );
    await writeFile(path.join(run.manifests, 'managed.yaml'), owned);
    const reason = 'Argo CD (shop) manages this object and would revert changes made here.';
    await onPage(`${SHOP}/endpoints`, async (page) => {
      await page.getByRole('link', { name: '/managed' }).click();
      await page.getByText(reason).waitFor();
      expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
      expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
      // The server also rejects a deletion that does not come from the page.
      const sent = await page.request.post(at(`${SHOP}/endpoints/managed`), {
        headers: { origin: run.dashboard },
        form: { version: '' },
      });
      expect(sent.status()).toBe(403);
    });
    expect(await manifest('managed.yaml')).toBe(owned);
  });
});

test('the copied curl command calls an endpoint whose slug has parameters', async () => {
  const json = { template: 'CEL', body: '{"found": "${path.id}"}' };
  const file = path.join(run.manifests, 'find-order.yaml');
  await writeFile(file, endpoint('find-order', { slug: '/found/{id}', method: 'GET', action: 'JSON', json }));
  await expect.poll(async () => (await call('GET', '/found/7')).status).toBe(200);
  await onPage(`${SHOP}/endpoints/find-order`, async (page) => {
    await page.getByRole('button', { name: 'Copy curl command with API key' }).click();
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
    await expect.poll(copied).toMatch(/^curl /);
    expect((await runCommand('bash', ['-c', await copied()])).stdout).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*"found": "1"/);
  });
});

describe('the YAML', () => {
  test('is copied as a kubectl apply command without status', async () => {
    await onPage(`${SHOP}/endpoints/create-order/yaml`, async (page) => {
      await page.getByRole('button', { name: 'Copy as kubectl apply' }).click();
      const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
      await expect
        .poll(copied)
        .toMatch(/^kubectl apply -f - <<'STANDIN_MANIFEST'\napiVersion: standin.dev\/v1alpha1\n/);
      expect(await copied()).toContain('        "total": 49.90,\n');
      expect(await copied()).not.toContain('status:\n  conditions');
      expect(await copied()).toMatch(/\nSTANDIN_MANIFEST\n$/);
    });
  });
});

describe('the list', () => {
  test('is filtered by the query in the URL', async () => {
    await onPage(`${SHOP}/endpoints?q=post orders`, async (page) => {
      await expect.poll(() => page.getByRole('link', { name: /^\/v1/ }).count()).toBe(1);
      await page.keyboard.press('/');
      await page.keyboard.press('Control+a');
      await page.keyboard.type('nothing has this');
      await page.getByRole('heading', { name: 'No matching endpoints' }).waitFor();
      await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('nothing has this');
      await page.getByRole('link', { name: /^Show all/ }).click();
      await expect.poll(() => page.getByRole('link', { name: '/v1/orders', exact: true }).count()).toBe(2);
      await page.getByRole('heading', { name: 'Endpoints' }).click();
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Overview' }).waitFor();
    });
  });
});

describe('every page', () => {
  const ENDPOINT = `${SHOP}/endpoints/create-order`;
  test.each([
    `${SHOP}/endpoints`,
    `${SHOP}/endpoints?q=nothing`,
    `${SHOP}/endpoints/new`,
    ENDPOINT,
    `${ENDPOINT}/edit`,
    `${ENDPOINT}/yaml`,
    `${ENDPOINT}/status`,
    `${SHOP}/endpoints/managed`,
    `${SHOP}/endpoints/gone`,
  ])('%s: no axe violation in either theme, no horizontal scrolling on a phone', (url) =>
    expectAccessible(browser, at(url)),
  );

  test('no axe violation with an open dialog or a rejected form', async () => {
    await expectAccessible(browser, at(ENDPOINT), async (page) => {
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').waitFor();
    });
    await expectAccessible(browser, at(`${SHOP}/endpoints/new`), async (page) => {
      await page.getByRole('radio', { name: 'Forward' }).check();
      await page.getByRole('radio', { name: 'Signature or API key' }).check();
      await expect.poll(() => page.getByRole('textbox', { name: 'Manifest' }).innerText()).toContain('action: Forward');
      await page.getByRole('button', { name: 'Create endpoint' }).click();
      await page.getByRole('alert').waitFor();
    });
  });
});

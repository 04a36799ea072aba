import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, forward, readLog } from './dev-stand.ts';
import { startUpstream, type Upstream } from './upstream.ts';
import { expectAccessible } from './expect-accessible.ts';

/** The upstream's response. The mock must keep its spaces, the integer that a double cannot represent, and 1.0. */
const BODY = '{ "id": 12345678901234567890,\n  "total": 1.0 }';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff]);

let run: DashboardRun;
let browser: Browser;
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream(({ url }, response) => {
    if (url.startsWith('/page')) response.writeHead(200, { 'content-type': 'text/html' }).end('<p>no JSON</p>');
    else if (url.startsWith('/all')) response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
    else if (url.startsWith('/image')) response.writeHead(200, { 'content-type': 'image/png' }).end(PNG);
    else
      response
        .writeHead(
          201,
          [
            ['Content-Type', 'application/json'],
            ['Content-Encoding', 'gzip'],
            ['X-Request-Cost', '3'],
          ].flat(),
        )
        .end(gzipSync(BODY));
  });
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
});
afterAll(async () => {
  upstream.stop();
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;
const manifestFile = (name: string): string => path.join(run.manifests, `${name}.yaml`);

const call = async (name: string, sent: Readonly<Record<string, string>> = {}) => {
  const options = { method: 'POST', headers: { 'x-api-key': run.apiKey, ...sent }, body: '{}' } as const;
  const { statusCode: status, headers, body } = await request(`${run.url}/${name}`, options);
  return { status, headers, text: await body.text() };
};

/** Creates an endpoint that forwards, and calls it. Returns the path of the captured request's page. */
const captured = async (
  name: string,
  manifest = endpoint(name, forward(`${upstream.url}/${name}`)),
  target = name,
): Promise<string> => {
  await writeFile(manifestFile(name), manifest);
  await expect.poll(async () => (await call(target, { 'x-plan': 'gold' })).status).not.toBe(404);
  const id = await eventually('the request in the log', async () => {
    const [entry] = await readLog(run.data, '--endpoint', name, '--limit', '1');
    return entry?.id;
  });
  return `${SHOP}/traffic/${id ?? ''}`;
};

const onPage = async (url: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await goto(page, at(url));
  await use(page);
  expect(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
  await close();
};

test('an endpoint cannot forward to the dashboard, whose API needs no login here', async () => {
  await writeFile(manifestFile('own'), endpoint('own', forward(`${run.dashboard}/api/v1/namespaces`)));
  await expect.poll(async () => (await call('own')).status).not.toBe(404);
  const { status, text } = await call('own');
  expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([502, 'upstream_blocked']);
});

describe('a captured response', () => {
  test("becomes its endpoint's mock in two clicks, decompressed and byte for byte, after a preview", async () => {
    const page = await captured('copied');
    await onPage(page, async (tab) => {
      await tab.getByRole('link', { name: 'Save as mock' }).click();
      await tab.getByRole('heading', { name: 'Save this response as a mock for copied' }).waitFor();
      const changes = await tab.getByRole('region', { name: 'Manifest changes' }).innerText();
      expect(changes).toContain('action: Forward');
      expect(changes).toContain('action: JSON');
      expect(changes).toContain('12345678901234567890');
      await tab.getByText('it was received as gzip').waitFor();
      await tab.getByText(/These headers are omitted.*content-encoding/).waitFor();
      expect((await call('copied')).headers['content-encoding']).toBe('gzip');

      await tab.getByRole('button', { name: 'Save as mock' }).click();
      await tab.waitForURL(at(`${SHOP}/endpoints/copied`));
      await expect.poll(async () => (await call('copied')).text).toBe(BODY);
    });
    const { status, headers } = await call('copied');
    expect(status).toBe(201);
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-request-cost': '3' });
    expect(headers['content-encoding']).toBeUndefined();
    // The file keeps the upstream, so users can switch back by changing a single word.
    expect(await readFile(manifestFile('copied'), 'utf8')).toContain(`${upstream.url}/copied`);
    await onPage(page, async (tab) => {
      await tab.getByRole('link', { name: 'Save as mock' }).click();
      await tab.getByText('The endpoint already returns this response.').waitFor();
    });
  });

  test('becomes the mock using only the keyboard', async () => {
    await onPage(await captured('typed'), async (tab) => {
      await tab.keyboard.press('m');
      await tab.getByRole('button', { name: 'Save as mock' }).waitFor();
      await expect.poll(() => tab.evaluate('document.activeElement?.textContent')).toBe('Save as mock');
      await tab.keyboard.press('Enter');
      await tab.waitForURL(at(`${SHOP}/endpoints/typed`));
      await expect.poll(async () => (await call('typed')).text).toBe(BODY);
    });
  });

  test('can be HTML', async () => {
    await onPage(await captured('page'), async (tab) => {
      await tab.getByRole('link', { name: 'Save as mock' }).click();
      await tab.getByRole('button', { name: 'Save as mock' }).click();
      await tab.waitForURL(at(`${SHOP}/endpoints/page`));
      await expect
        .poll(async () => (await readFile(manifestFile('page'), 'utf8')).includes('"action": "JSON"'))
        .toBe(true);
    });
    await expect.poll(async () => (await call('page')).text).toBe('<p>no JSON</p>');
    expect((await call('page')).headers['content-type']).toBe('text/html');
  });

  test('that is binary cannot replace the mock, but can be added', async () => {
    await onPage(await captured('image'), async (tab) => {
      await tab.getByRole('link', { name: 'Save as mock' }).click();
      await tab.getByText('This response is binary, and the mock can only be text. Add a response instead.').waitFor();
      expect(await tab.getByRole('button', { name: 'Save as mock' }).count()).toBe(0);
      await tab.getByRole('radio', { name: 'Add a response' }).check();
      await tab.getByText('Select at least one condition').waitFor();
      await tab.getByRole('checkbox', { name: 'header x-plan = gold' }).check();
      await tab.getByText('bodyBase64').waitFor();
      await tab.getByRole('button', { name: 'Save as mock' }).click();
      await tab.waitForURL(at(`${SHOP}/endpoints/image`));
      await tab.locator('summary', { hasText: 'header x-plan = gold' }).waitFor();
    });
  });

  test('cannot become a mock if Flux manages its endpoint', async () => {
    const managed = JSON.parse(endpoint('fluxed', forward(`${upstream.url}/fluxed`))) as { metadata: object };
    managed.metadata = { ...managed.metadata, labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop' } };
    const owned = await captured('fluxed', JSON.stringify(managed));
    const before = await readFile(manifestFile('fluxed'), 'utf8');
    await onPage(`${owned}/mock`, async (tab) => {
      await tab.getByText('Flux (shop) manages this object').waitFor();
      expect(await tab.getByRole('button', { name: 'Save as mock' }).count()).toBe(0);
      // The server also rejects a change that does not come from the page.
      const sent = await tab.request.post(at(`${owned}/mock`), {
        headers: { origin: run.dashboard },
        form: { generation: '1' },
      });
      expect(sent.status()).toBe(422);
    });
    expect(await readFile(manifestFile('fluxed'), 'utf8')).toBe(before);
    for (const url of [`${owned}/mock`, `${owned}/mock?as=response&chosen=true`])
      await expectAccessible(browser, at(url));
  });

  test('is added to an endpoint with parameters, for requests like this one', async () => {
    const responses = [{ name: 'seven', when: { pathParams: [{ name: 'id', value: '7' }] }, body: '{"seven": 1}' }];
    const spec = { ...forward(`${upstream.url}/orders`), slug: '/orders/{id}', responses };
    const page = await captured('orders', endpoint('orders', spec), 'orders/1001?page=2');
    await onPage(page, async (tab) => {
      await tab.keyboard.press('m');
      await tab.getByText('Callers whose requests meet {id} = 1001 will receive this status').waitFor();
      expect(await tab.getByRole('radio', { name: 'Add a response' }).isChecked()).toBe(true);
      expect(await tab.getByLabel('Response name').inputValue()).toBe('id-1001');
      await tab.getByRole('checkbox', { name: 'query page = 2' }).check();
      await tab.getByText('Callers whose requests meet {id} = 1001 and query page = 2 will').waitFor();
      await tab.getByLabel('Order').selectOption('After seven');
      await tab.getByText('and not the conditions of seven').waitFor();
      await tab.getByLabel('Response name').fill('Order 1001');
      await tab.getByText('must be lowercase letters').waitFor();
      await tab.getByLabel('Response name').fill('order-1001');
      await expect
        .poll(() => tab.getByRole('region', { name: 'Manifest changes' }).innerText())
        .toContain('order-1001');
      // Saves what is in the form, even if the page does not show the changes yet.
      await tab.getByLabel('Response name').fill('first-order');
      await tab.getByRole('button', { name: 'Save as mock' }).click();
      await tab.waitForURL(at(`${SHOP}/endpoints/orders`));
      await tab.locator('summary', { hasText: '{id} = 1001, query page = 2' }).waitFor();
    });
    const written = JSON.parse(await readFile(manifestFile('orders'), 'utf8')) as {
      spec: { responses: { name: string }[] };
    };
    expect(written.spec.responses.map(({ name }) => name)).toEqual(['seven', 'first-order']);
    await expect.poll(async () => (await call('orders/1001?page=2')).headers['content-encoding']).toBeUndefined();
    expect((await call('orders/1001?page=2')).text).toBe(BODY);
    // Other requests are still forwarded.
    expect((await call('orders/1001?page=3')).headers['content-encoding']).toBe('gzip');
    expect((await call('orders/7')).text).toBe('{"seven": 1}');
    await expectAccessible(browser, at(`${page}/mock`));
  });

  test('is added without JavaScript', async () => {
    const spec = { ...forward(`${upstream.url}/plain`), slug: '/plain/{id}' };
    const page = await captured('plain', endpoint('plain', spec), 'plain/1?page=2');
    const context = await browser.newContext({ javaScriptEnabled: false });
    const tab = await context.newPage();
    await tab.goto(at(`${page}/mock`));
    await tab.getByRole('checkbox', { name: 'header x-plan = gold' }).check();
    await tab.getByRole('button', { name: 'Show changes' }).click();
    await tab.getByText('{id} = 1 and header x-plan = gold will receive').waitFor();
    await tab.getByRole('button', { name: 'Save as mock' }).click();
    await tab.waitForURL(at(`${SHOP}/endpoints/plain`));
    await context.close();
    await expect.poll(async () => (await call('plain/1', { 'x-plan': 'gold' })).text).toBe(BODY);
  });

  test('does not overwrite a change by another user', async () => {
    await onPage(`${await captured('raced')}/mock`, async (tab) => {
      const theirs = endpoint('raced', { ...forward(`${upstream.url}/other`), displayName: 'Theirs' });
      await writeFile(manifestFile('raced'), theirs);
      await tab.getByRole('button', { name: 'Save as mock' }).click();
      await tab.getByRole('alert').getByText('is now at generation').waitFor();
      expect(await readFile(manifestFile('raced'), 'utf8')).toBe(theirs);
    });
  });
});

/** The name of the endpoint that the form creates for `POST /all/orders/{orderId}/lines/{lineId}`. */
const CREATED = 'post-all-orders-orderid-lines-lineid';

describe('a captured 404', () => {
  test('opens the form for an endpoint with this path, whose ids become parameters', async () => {
    const all = { ...forward(`${upstream.url}/all`), slug: '/all/{path...}' };
    await writeFile(manifestFile('all'), endpoint('all', all));
    // An earlier attempt of this test may have created the endpoint.
    await rm(manifestFile(`endpoint-${CREATED}`), { force: true });
    await expect.poll(async () => (await call('all/orders/7/lines/8')).text).toBe('{}');
    await expect.poll(async () => (await call('all/orders/1001/lines/%3Cb%3E|')).text).toBe('{}');
    const id = await eventually('the request in the log', async () => {
      const entries = await readLog(run.data, '--endpoint', 'all');
      return entries.find((entry) => entry.path.includes('/1001/'))?.id;
    });
    const page = `${SHOP}/traffic/${id ?? ''}`;
    await onPage(page, async (tab) => {
      await tab.getByRole('link', { name: 'Create endpoint for this path' }).click();
      await tab.getByRole('heading', { name: 'New endpoint' }).waitFor();
      expect(await tab.getByLabel('Path', { exact: true }).inputValue()).toBe('/all/orders/{orderId}/lines/{lineId}');
      expect(await tab.getByLabel('Method').inputValue()).toBe('POST');
      await tab.getByRole('button', { name: 'Create endpoint' }).click();
      await tab.waitForURL(at(`${SHOP}/endpoints/${CREATED}`));
      await expect.poll(async () => (await call('all/orders/7/lines/8')).text).toContain('Hello from Standin');
    });
    // The path cannot be a slug without parameters, and an endpoint has the slug with parameters.
    await onPage(page, async (tab) => {
      // The notice is temporary, so the test waits for it from the beginning.
      const notice = tab.getByText('already has this path').waitFor();
      await Promise.all([notice, tab.getByRole('link', { name: 'Create endpoint for this path' }).click()]);
      expect(tab.url()).toBe(at(`${SHOP}/endpoints/${CREATED}/edit`));
    });
    await expectAccessible(browser, at(page));
  });

  test('shows why another page opens, even if a change interrupts the load of that page', async () => {
    await writeFile(manifestFile('held'), endpoint('held', { ...forward(`${upstream.url}/held`), slug: '/held' }));
    const edit = `${SHOP}/endpoints/held/edit`;
    await onPage(`${SHOP}/endpoints`, async (tab) => {
      await tab.getByRole('link', { name: 'held' }).waitFor();
      let loads = 0;
      await tab.route(`**${edit}.data*`, async (route) => {
        loads += 1;
        if (loads > 1) return route.continue();
        // The server has responded, but the page reloads its data before the response arrives.
        await route.fetch();
        await tab.evaluate('void window.__remixRouter.revalidate()');
        return route.abort();
      });
      const notice = tab.getByText('already has this path').waitFor();
      const newEndpoint = `${SHOP}/endpoints/new?method=POST&path=/held`;
      await Promise.all([notice, tab.evaluate(`void window.__remixRouter.navigate('${newEndpoint}')`)]);
      expect(tab.url()).toBe(at(edit));
      expect(loads).toBeGreaterThan(1);
    });
  });

  test('is the only response with this action', async () => {
    await onPage(await captured('fine'), async (tab) => {
      await tab.getByRole('link', { name: 'Save as mock' }).waitFor();
      expect(await tab.getByRole('link', { name: 'Create endpoint for this path' }).count()).toBe(0);
    });
  });
});

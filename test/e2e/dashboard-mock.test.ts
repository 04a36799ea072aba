import { readFile, writeFile } from 'node:fs/promises';
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

let run: DashboardRun;
let browser: Browser;
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream(({ url }, response) => {
    if (url.startsWith('/page')) response.writeHead(200, { 'content-type': 'text/html' }).end('<p>no JSON</p>');
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
const fileOf = (name: string): string => path.join(run.manifests, `${name}.yaml`);

const call = async (name: string) => {
  const options = { method: 'POST', headers: { 'x-api-key': run.apiKey }, body: '{}' } as const;
  const { statusCode: status, headers, body } = await request(`${run.url}/${name}`, options);
  return { status, headers, text: await body.text() };
};

/** Creates an endpoint that forwards, and calls it. Returns the path of the captured request's page. */
const captured = async (
  name: string,
  manifest = endpoint(name, forward(`${upstream.url}/${name}`)),
): Promise<string> => {
  await writeFile(fileOf(name), manifest);
  await expect.poll(async () => (await call(name)).status).not.toBe(404);
  const id = await eventually('the request in the log', async () => {
    const [entry] = await readLog(run.data, '--endpoint', name, '--limit', '1');
    return entry?.id;
  });
  return `${SHOP}/traffic/${id ?? ''}`;
};

const onPage = async (url: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, context, complaints } = await watched(browser);
  await goto(page, at(url));
  await use(page);
  expect(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
  await context.close();
};

test('an endpoint cannot forward to the dashboard, whose API needs no login here', async () => {
  await writeFile(fileOf('own'), endpoint('own', forward(`${run.dashboard}/api/v1/namespaces`)));
  await expect.poll(async () => (await call('own')).status).not.toBe(404);
  const { status, text } = await call('own');
  expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([502, 'upstream_blocked']);
});

describe('a captured response', () => {
  test("becomes its endpoint's mock in two clicks, decompressed and byte for byte, after a preview", async () => {
    const page = await captured('copied');
    await onPage(page, async (tab) => {
      await tab.getByRole('link', { name: 'Save as mock' }).click();
      await tab.getByRole('heading', { name: 'Save this response as the mock for copied' }).waitFor();
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
    expect(await readFile(fileOf('copied'), 'utf8')).toContain(`${upstream.url}/copied`);
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

  test('cannot become a mock if it is not JSON or if Flux manages its endpoint', async () => {
    const html = await captured('page');
    await onPage(html, async (tab) => {
      await tab.getByRole('link', { name: 'Save as mock' }).click();
      await tab
        .getByText('A mock must be a JSON document, but this response is not one. Its content type is text/html.')
        .waitFor();
      expect(await tab.getByRole('button', { name: 'Save as mock' }).count()).toBe(0);
    });
    const managed = JSON.parse(endpoint('fluxed', forward(`${upstream.url}/fluxed`))) as { metadata: object };
    managed.metadata = { ...managed.metadata, labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop' } };
    const owned = await captured('fluxed', JSON.stringify(managed));
    const before = await readFile(fileOf('fluxed'), 'utf8');
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
    expect(await readFile(fileOf('fluxed'), 'utf8')).toBe(before);
    for (const url of [`${html}/mock`, `${owned}/mock`]) await expectAccessible(browser, at(url));
  });

  test('does not overwrite a change by another user', async () => {
    await onPage(`${await captured('raced')}/mock`, async (tab) => {
      const theirs = endpoint('raced', { ...forward(`${upstream.url}/other`), displayName: 'Theirs' });
      await writeFile(fileOf('raced'), theirs);
      await tab.getByRole('button', { name: 'Save as mock' }).click();
      await tab.getByRole('alert').getByText('is now at generation').waitFor();
      expect(await readFile(fileOf('raced'), 'utf8')).toBe(theirs);
    });
  });
});

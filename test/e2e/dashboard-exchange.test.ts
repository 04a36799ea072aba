import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../cluster/run-command.ts';
import { axeViolations, horizontalOverflow, startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, hydrated, SHOP, watched } from './dashboard-stand.ts';
import { readLog } from './dev-stand.ts';
import { startExchanges, type Captured, type ExchangeRun } from './exchange-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

let run: ExchangeRun;
let browser: Browser;
/** A request with many details to show. */
let order: Captured;

const JSON_BODY = '{"id":12345678901234567890,"total":10.0,"id":1,"note":"a \\u00e9","list":[],"more":{"x":1e2}}';
const JSON_TYPE = ['Content-Type', 'application/json'] as const;

beforeAll(async () => {
  [run, browser] = await Promise.all([startExchanges(), startBrowser()]);
  order = await run.capture('order&name=J%C3%BCrgen+M', {
    headers: [JSON_TYPE, ['X-Trace', 'one'], ['x-trace', 'two'], ['X-Empty', ''], ['X-Latin', 'caf\xe9']],
    body: JSON_BODY,
  });
});
afterAll(async () => {
  await Promise.all([browser.close(), run.stop()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;
const IS_EXPECTED = /^Failed to load resource/;

/** Opens a page and checks at the end that its console has no errors or warnings except those about failed requests. */
const onPage = async (url: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await goto(page, at(url));
  await use(page);
  expect(complaints.filter((complaint) => !IS_EXPECTED.test(complaint))).toEqual([]);
  await close();
};

/** Returns a body's text by its accessible name, such as `Request body`. */
const bodyText = (page: Page, name: string): Promise<string> =>
  page.getByLabel(name, { exact: true }).last().innerText();
const copied = (page: Page): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');

describe('a request', () => {
  test('is shown as captured: headers, query and target keep their case, order, duplicates and bytes', async () => {
    await onPage(order.url, async (page) => {
      await page.getByRole('heading', { name: 'POST /echo?order&name=J%C3%BCrgen+M' }).waitFor();
      const headers = page.getByRole('region', { name: /^Headers/ });
      const toggle = headers.getByRole('button', { name: /^All \d+ headers$/ });
      // The notable headers are shown at first, below the body. The choice applies to the response too, and outlives a reload.
      expect(await headers.locator('dt').allInnerTexts()).toEqual([
        'Content-Type',
        'X-Trace',
        'x-trace',
        'X-Empty',
        'X-Latin',
      ]);
      const top = async (name: RegExp) => (await page.getByRole('region', { name }).boundingBox())?.y ?? Number.NaN;
      expect(await top(/^Headers/)).toBeGreaterThan(await top(/^Body/));
      await Promise.all([page.waitForResponse(/\/preferences/), toggle.click()]);
      await headers.getByText('host', { exact: true }).waitFor();
      await page.keyboard.press(']');
      await expect.poll(() => toggle.getAttribute('aria-pressed')).toBe('true');
      await page.reload();
      await hydrated(page);
      await page.keyboard.press('[');
      await headers.getByText('host', { exact: true }).waitFor();
      const names = await headers.locator('dt').allInnerTexts();
      expect(names.filter((name) => /^(x-|content-type)/i.test(name) && name !== 'x-api-key')).toEqual([
        'Content-Type',
        'X-Trace',
        'x-trace',
        'X-Empty',
        'X-Latin',
      ]);
      await headers.getByText('café').waitFor();
      await headers.getByText('Fingerprint of the key. The key itself is not stored.').waitFor();
      await headers.getByRole('button', { name: 'Copy value of x-trace', exact: true }).click();
      await expect.poll(() => copied(page)).toBe('two');
      expect(await page.getByRole('region', { name: /^Query/ }).innerText()).toContain('Jürgen M');
    });
  });

  test('shows indented JSON with unchanged literals, keys and order', async () => {
    await onPage(order.url, async (page) => {
      await expect.poll(() => bodyText(page, 'Request body')).toContain('"id": 12345678901234567890,');
      const shown = await bodyText(page, 'Request body');
      for (const line of ['"total": 10.0,', '"id": 1,', '"note": "a \\u00e9",', '"list": [],', '"x": 1e2'])
        expect(shown).toContain(line);
      await page.getByRole('button', { name: 'Copy request body' }).click();
      await expect.poll(() => copied(page)).toBe(JSON_BODY);
    });
  });

  test('is browsed using only the keyboard, and the URL identifies the view', async () => {
    await onPage(order.url, async (page) => {
      await page.keyboard.press(']');
      await page.getByText('Responder').waitFor();
      await page.keyboard.press(']');
      await page.getByRole('row', { name: /Waiting for upstream/ }).waitFor();
      expect(new URL(page.url()).searchParams.get('tab')).toBe('timing');
      await page.keyboard.press('[');
      await page.getByRole('link', { name: 'Hex' }).click();
      await page.getByText('00000000').waitFor();
      await page.reload();
      await page.getByText('00000000').waitFor();
      await page.getByText('Responder').waitFor();
    });
  });

  test('says when it arrived, and has its response next to it on a wide screen', async () => {
    await onPage(order.url, async (page) => {
      const [entry] = (await readLog(run.data)).filter(({ id }) => id === order.id);
      const times = page.getByRole('article').locator('time');
      expect(await times.first().getAttribute('datetime')).toBe(entry?.receivedAt);
      const response = page.getByRole('region', { name: 'Response', exact: true });
      expect(await response.count()).toBe(0);
      for (const url of [`${order.url}?tab=response`, `${SHOP}/traffic?sel=${order.id}`]) {
        await page.setViewportSize({ width: 1600, height: 900 });
        await goto(page, at(url));
        await eventually('the response next to the request', async () => {
          const parts = [page.getByRole('region', { name: 'Request', exact: true }), response];
          const [left, right] = await Promise.all(parts.map((part) => part.boundingBox()));
          return left?.y === right?.y && (left?.x ?? 0) + (left?.width ?? 0) < (right?.x ?? 0);
        });
        // Each body has its own view.
        await response.getByRole('link', { name: 'Hex' }).click();
        await response.getByText('00000000').waitFor();
        expect(await page.getByText('00000000').count()).toBe(1);
        await expect.poll(() => horizontalOverflow(page)).toBeLessThanOrEqual(0);
        expect(await axeViolations(page)).toEqual([]);
      }
      await page.keyboard.press(']');
      await page.getByRole('row', { name: /Waiting for upstream/ }).waitFor();
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.getByRole('link', { name: 'Response', exact: true }).waitFor();
      await page.keyboard.press('[');
      await page.getByText('Responder').waitFor();
    });
  });

  test('names the response that answered, and links to all requests that it answered', async () => {
    const gold = await run.capture('plan', { headers: [['x-plan', 'gold']] });
    const entry = (await readLog(run.data)).find(({ id }) => id === gold.id);
    expect(entry).toMatchObject({
      outcome: 'mocked',
      action: 'Forward',
      responseName: 'gold',
      response: { body: '{"plan": "gold"}' },
    });
    await onPage(`${gold.url}?tab=response`, async (page) => {
      await page.getByText('Response gold', { exact: true }).waitFor();
      const source = page.getByRole('region', { name: 'Source of this response' });
      expect(await source.innerText()).toContain('Response gold of echo (generation 1)');
      await source.getByRole('link', { name: 'gold' }).click();
      const list = page.getByRole('grid');
      await list.getByText('echo · gold').waitFor();
      expect(await list.getByText('/echo').count()).toBe(1);
    });
    await onPage(`${order.url}?tab=response`, async (page) => {
      const source = page.getByRole('region', { name: 'Source of this response' });
      expect(await source.innerText()).toContain('Upstream of echo');
    });
  });

  test('is shown without JavaScript', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(at(order.url));
    expect(await page.getByLabel('Request body', { exact: true }).first().innerText()).toContain(
      '12345678901234567890',
    );
    await page.getByRole('link', { name: 'Raw', exact: true }).first().click();
    await context.close();
  });

  test('is not found if it does not exist or belongs to another project', async () => {
    await onPage(`${SHOP}/traffic/0198aaaa-0000-7000-8000-000000000000`, async (page) => {
      await page.getByRole('heading', { name: 'Request not found' }).waitFor();
    });
    expect((await request(at(`${SHOP}/traffic/nonsense/body?part=request`))).statusCode).toBe(404);
  });
});

describe('copying a request', () => {
  test('copies a cURL command that repeats the request byte for byte', async () => {
    let command = '';
    await onPage(order.url, async (page) => {
      await page.keyboard.press('c');
      await page.getByText('set STANDIN_API_KEY to it').waitFor();
      command = await copied(page);
    });
    const before = (await readLog(run.data)).length;
    await runCommand('bash', ['-c', command], { env: { ...process.env, STANDIN_API_KEY: run.apiKey } });
    const entries = await eventually('the second request', () => readLog(run.data), {
      accept: (found) => found.length > before,
    });
    const [first, second] = [entries.find(({ id }) => id === order.id), entries.at(-1)];
    const withoutHost = (headers: readonly (readonly [string, string])[] = []) =>
      headers.filter(([name]) => name.toLowerCase() !== 'host');
    expect(withoutHost(second?.request.headers)).toEqual(withoutHost(first?.request.headers));
    expect(second?.request).toMatchObject({ body: JSON_BODY, target: first?.request.target ?? '' });
  });

  test('copies fetch and HAR from the menu, and downloads HAR as a file', async () => {
    await onPage(order.url, async (page) => {
      const copyAs = async (name: string): Promise<void> => {
        await page.getByRole('button', { name: 'Copy as' }).click();
        await page.getByRole('menuitem', { name }).click();
      };
      await copyAs('fetch');
      await expect.poll(() => copied(page)).toContain('await fetch(');
      await copyAs('HAR');
      await expect.poll(() => copied(page)).toContain('"version": "1.2"');
      await page.getByRole('button', { name: 'Download', exact: true }).click();
      const downloading = page.waitForEvent('download');
      await page.getByRole('menuitem', { name: 'Request and response as HAR' }).click();
      const download = await downloading;
      expect(download.suggestedFilename()).toBe(`${order.id}.har`);
      const har = JSON.parse(await readFile(await download.path(), 'utf8')) as { log: { entries: unknown[] } };
      expect(har.log.entries).toHaveLength(1);
    });
  });
});

describe('a body', () => {
  const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

  test('is shown by its type: form, multipart form, image or bytes', async () => {
    const file = Buffer.from(PNG, 'base64');
    const boundary = 'a-boundary';
    const part = (name: string, more = ''): string =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
    const files = Buffer.concat([
      Buffer.from(`${part('title')}Überschrift\r\n${part('picture', '; filename="p.png"')}`),
      file,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]);
    const [form, parts, image] = [
      await run.capture('form', {
        headers: [['content-type', 'application/x-www-form-urlencoded']],
        body: 'a=1&b=x+%C3%A9',
      }),
      await run.capture('files', {
        headers: [['content-type', `multipart/form-data; boundary=${boundary}`]],
        body: files,
      }),
      await run.capture('image', { headers: [['content-type', 'image/png']], body: file }),
    ];
    await onPage(form.url, async (page) => {
      expect(await page.getByRole('region', { name: /^Fields/ }).innerText()).toContain('x é');
      await goto(page, at(parts.url));
      const list = page.getByRole('list', { name: 'Parts of the request body' });
      expect(await list.innerText()).toContain('Überschrift');
      const downloading = page.waitForEvent('download');
      await list.getByRole('link', { name: 'Download picture' }).click();
      expect((await readFile(await (await downloading).path())).equals(file)).toBe(true);
      await goto(page, at(`${image.url}?tab=response`));
      await expect
        .poll(() =>
          page
            .getByRole('img', { name: /^Response body/ })
            .evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth),
        )
        .toBe(1);
      await page.getByRole('link', { name: 'Hex' }).click();
      await page.getByText('89 50 4e 47').waitFor();
    });
  });

  test('that is compressed is found and shown by its text, and downloaded as it was sent', async () => {
    const sent = gzipSync('{"currency":"eur","note":"wiretransfer"}');
    const { id, url } = await run.capture('compressed', {
      headers: [JSON_TYPE, ['content-encoding', 'gzip']],
      body: sent,
    });
    const rows = await request(at(`${SHOP}/traffic/rows?q=${encodeURIComponent('body:wiretransfer')}`));
    expect(await rows.body.json()).toMatchObject({ rows: [{ id }] });
    await onPage(url, async (page) => {
      await expect.poll(() => bodyText(page, 'Request body')).toContain('"currency": "eur"');
      await page.getByText('Decoded', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Hex' }).click();
      await page.getByText('1f 8b 08').waitFor();
    });
    const { body } = await request(at(`${url}/body?part=request`));
    expect(Buffer.from(await body.arrayBuffer()).equals(sent)).toBe(true);
  });

  test('of 10 MiB opens with its first part and keeps the page responsive', async () => {
    const item = '{"sku":"0123456789","price":12.50,"tags":["a","b"]},\n';
    const long = `[${item.repeat(Math.floor((10 * 1024 * 1024) / item.length) - 1)}0]`;
    const { url } = await run.capture('long', { headers: [JSON_TYPE], body: long });
    await onPage(order.url, async (page) => {
      const begun = Date.now();
      await page.evaluate(`window.__remixRouter.navigate('${url}')`);
      await page.getByText('Showing 262 kB of 10.5 MB').waitFor();
      await page.getByText('"sku": "0123456789"').first().waitFor();
      // The target on an idle machine is 300 ms (test/bench/dashboard.ts). Other tests share this machine.
      expect(Date.now() - begun).toBeLessThan(3_000);
      // The page contains neither all lines nor all rows of bytes.
      await expect.poll(() => page.locator('.cm-line').count()).toBeGreaterThan(10);
      expect(await page.locator('.cm-line').count()).toBeLessThan(300);
      await page.getByRole('link', { name: 'Hex' }).click();
      await expect.poll(() => page.locator('[data-hex-row]').count()).toBeGreaterThan(10);
      expect(await page.locator('[data-hex-row]').count()).toBeLessThan(100);
      await page
        .getByRole('region', { name: 'Request body' })
        .evaluate((frame) => (frame as unknown as { scrollTo(x: number, y: number): void }).scrollTo(0, 1e9));
      await page.getByText('0003fff0').waitFor();
    });
    const { body } = await request(at(`${url}/body?part=request`));
    expect(await body.text()).toBe(long);
  });

  test('that was captured in part shows how much was captured', async () => {
    const { url } = await run.capture(`bytes=${11 * 1024 * 1024}`);
    await onPage(`${url}?tab=response`, async (page) => {
      await page.getByText('Captured 10.5 MB of 11.5 MB').waitFor();
      await page.getByText('Showing 262 kB of 10.5 MB').waitFor();
    });
  });
});

/**
 * The part of torture test 39 (test/torture/README.md) for captured bytes. Third-party content that could run scripts is shown as
 * text or offered as a download, never rendered.
 */
describe('hostile content', () => {
  const SCRIPT = '</script></pre><img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\u202e\u05d0\u05d1';

  test.each([
    ['text/html', SCRIPT],
    [
      'image/svg+xml',
      `<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=1"><script>window.pwned=1</script></svg>`,
    ],
    ['application/json', JSON.stringify({ html: SCRIPT })],
    ['application/x-www-form-urlencoded', `a=${SCRIPT}`],
  ])('%s is shown as inert text in every view and header', async (type, content) => {
    const { url } = await run.capture(`hostile=${encodeURIComponent(type)}&x=%3Cscript%3E`, {
      headers: [
        ['content-type', type],
        ['x-html', '<script>window.pwned=1</script>'],
      ],
      body: content,
    });
    await onPage(url, async (page) => {
      for (const view of [
        '',
        '?body=raw',
        '?body=hex',
        '?tab=response',
        '?tab=response&response-body=raw',
        '?tab=raw',
      ]) {
        await goto(page, at(`${url}${view}`));
        expect(await page.evaluate('window.pwned')).toBe(undefined);
        expect(await page.locator('main :is(script, [src], [onerror], [onload])').count()).toBe(0);
      }
    });
    for (const part of ['request', 'response']) {
      const { statusCode, headers, body } = await request(at(`${url}/body?part=${part}`));
      expect(await body.text()).toBe(content);
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'x-content-type-options': 'nosniff',
      });
      expect(headers['content-disposition']).toMatch(/^attachment; filename="[\w.-]+"$/);
      expect(String(headers['content-security-policy'])).toContain("sandbox; default-src 'none'");
    }
    expect((await request(at(`${url}/body?part=request&as=image`))).statusCode).toBe(404);
  });
});

describe('every tab', () => {
  test.each(['', '?body=hex', '?tab=response', '?tab=timing', '?tab=raw'])(
    '%s: no axe violation in either theme, no horizontal scrolling on a phone',
    (query) => expectAccessible(browser, at(`${order.url}${query}`)),
  );

  test('no axe violation with an open menu or for a missing request', async () => {
    await expectAccessible(browser, at(order.url), async (page) => {
      await page.getByRole('button', { name: 'Copy as' }).click();
      await page.getByRole('menu').waitFor();
    });
    await expectAccessible(browser, at(`${SHOP}/traffic/nothing`));
  });
});

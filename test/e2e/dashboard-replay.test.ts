import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, SHOP, startDashboard, tabTo, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, forward, readLog } from './dev-stand.ts';
import { startUpstream, type Upstream } from './upstream.ts';
import { expectAccessible } from './expect-accessible.ts';

let run: DashboardRun;
let browser: Browser;
let upstream: Upstream;
/** The page of a request that the endpoint `orders` captured. */
let captured: string;
let id: string;

/**
 * Makes the upstream respond with this order number. The numbers exceed the integers that a double can represent exactly, so a
 * dashboard that parsed them would not show how two of them differ.
 */
const answerWith = (order: string): void => {
  upstream.answer = ({ url }, response) => {
    const status = url.includes('fail') ? 503 : 200;
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-order': order })
      .end(`{"order":${order},"items":[{"sku":"a","count":1}]}`);
  };
};

const call = async (query = '', body = '{"sku":"a"}'): Promise<number> => {
  const { statusCode, body: answer } = await request(`${run.url}/orders${query}`, {
    method: 'POST',
    headers: { 'x-api-key': run.apiKey, 'content-type': 'application/json', 'x-trace': 'one' },
    body,
  });
  await answer.dump();
  return statusCode;
};
const logged = (search: string, count = 1) =>
  eventually(`${count} requests that match ${search}`, () => readLog(run.data, '--filter', search), {
    accept: ({ length }) => length >= count,
  });

beforeAll(async () => {
  upstream = await startUpstream(() => undefined);
  answerWith('12345678901234567890');
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
  await writeFile(path.join(run.manifests, 'orders.yaml'), endpoint('orders', forward(`${upstream.url}/orders`)));
  await eventually('the endpoint to answer', () => call('?n=0'), { accept: (status) => status === 200 });
  id = (await logged('query:n=0 status:200'))[0]?.id ?? '';
  captured = `${SHOP}/traffic/${id}`;
});
afterAll(async () => {
  upstream.stop();
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;

const onPage = async (url: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await goto(page, at(url));
  await use(page);
  expect(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
  await close();
};

const onReplay = async (page: Page): Promise<void> => {
  await page.waitForURL(/\/replays\/replay-[0-9a-f]+$/);
};
const bodyEditor = (page: Page) => page.locator('.cm-editor').getByRole('textbox', { name: 'Body', exact: true });
const section = (page: Page, name: string) => page.getByRole('table', { name }).innerText();

describe('one request', () => {
  test('is replayed to its endpoint with two keys, and its response is shown next to the captured one within a second', async () => {
    answerWith('12345678901234567891');
    await onPage(captured, async (page) => {
      await page.keyboard.press('r');
      await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
      await expect.poll(() => page.evaluate('document.activeElement?.textContent')).toBe('Send');
      const startedAt = performance.now();
      await page.keyboard.press('Enter');
      await onReplay(page);
      await page.getByRole('heading', { name: 'Differences' }).waitFor();
      // The target is one second on an idle machine. The test allows more time on a machine that runs a whole suite.
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      const fields = await section(page, 'Body field differences');
      expect(fields).toContain('$.order');
      expect(fields).toContain('12345678901234567890');
      expect(fields).toContain('12345678901234567891');
      expect(fields).not.toContain('sku');
      expect(await section(page, 'Status, time and header differences')).toContain('x-order');
      await page.getByText('Succeeded').first().waitFor();
    });
    await onPage(`${SHOP}/traffic?q=query:n=0`, async (page) => {
      await page.keyboard.press('j');
      await page.keyboard.press('r');
      await page.getByRole('heading', { name: 'Replay request' }).waitFor();
    });
    // The request went through the gateway, so it was captured again, with a header that names the original.
    const [again] = await logged(`header.standin-replay-of:${id}`);
    expect(again?.request.headers).toContainEqual(['x-trace', 'one']);
    await onPage(`${SHOP}/traffic/${again?.id ?? ''}?tab=replays`, async (page) => {
      await page.getByRole('link', { name: 'another request' }).click();
      await page.waitForURL(at(captured));
    });
  });

  test('is resent with one key, which asks because its endpoint has an upstream, and nothing is sent without consent', async () => {
    const before = upstream.received.length;
    await onPage(captured, async (page) => {
      await page.keyboard.press('Shift+R');
      const dialog = page.getByRole('dialog', { name: 'Resend this POST request?' });
      await dialog.getByText(`${upstream.url}/orders`).waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
      expect(upstream.received.length).toBe(before);
      await page.keyboard.press('Shift+R');
      await dialog.waitFor();
      await page.keyboard.press('Enter');
      await onReplay(page);
      await page.locator('[data-result="200"]').waitFor();
    });
    expect(upstream.received.slice(before).map(({ url, body }) => [url, body.toString()])).toEqual([
      ['/orders?n=0', '{"sku":"a"}'],
    ]);
  });

  test('is resent at once if it is safe and its endpoint is a mock', async () => {
    const mock = { method: 'GET', action: 'JSON', json: { body: '{}' } };
    await writeFile(path.join(run.manifests, 'stock.yaml'), endpoint('stock', mock));
    const get = () => request(`${run.url}/stock?n=get`, { headers: { 'x-api-key': run.apiKey } });
    await eventually('the mock to answer', get, { accept: ({ statusCode }) => statusCode === 200 });
    const [first] = await logged('query:n=get status:200');
    await onPage(`${SHOP}/traffic?sel=${first?.id ?? ''}`, async (page) => {
      await page.getByRole('button', { name: 'Resend' }).waitFor();
      // Caps Lock does not turn the shortcut for the form into the one that sends.
      await page.evaluate(`document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'R', bubbles: true }))`);
      await page.getByRole('heading', { name: 'Replay request' }).waitFor();
      await page.goBack();
      await page.getByRole('button', { name: 'Resend' }).click();
      await onReplay(page);
      await page.locator('[data-result="200"]').waitFor();
    });
    await logged(`header.standin-replay-of:${first?.id ?? ''}`);
  });

  test('is edited with one key, in an editor that checks JSON', async () => {
    await onPage(captured, async (page) => {
      await page.keyboard.press('e');
      await expect.poll(() => page.evaluate('document.activeElement?.getAttribute("aria-label")')).toBe('Body');
      await page.keyboard.type(' {');
      await page.locator('.cm-lintPoint-error').first().waitFor({ state: 'attached' });
    });
  });

  test('whose upstream cannot be reached has a response from the gateway, which cannot be a mock', async () => {
    await writeFile(path.join(run.manifests, 'dead.yaml'), endpoint('dead', forward('http://127.0.0.1:9/')));
    const post = () => request(`${run.url}/dead`, { method: 'POST', headers: { 'x-api-key': run.apiKey } });
    await eventually('the endpoint to answer', post, { accept: ({ statusCode }) => statusCode === 502 });
    const [entry] = await logged('endpoint:dead status:502');
    await onPage(`${SHOP}/traffic/${entry?.id ?? ''}?tab=response`, async (page) => {
      const source = page.getByRole('region', { name: 'Source of this response' });
      expect(await source.innerText()).toContain('Gateway, instead of the upstream of dead');
      await page.getByText('Why this response').click();
      await page.getByText('Forwarded to the upstream.').waitFor();
      expect(await page.getByRole('link', { name: 'Save as mock' }).count()).toBe(0);
      await page.goto(at(`${SHOP}/traffic/nothing`));
      await page.getByRole('heading', { name: 'Request not found' }).waitFor();
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    });
  });

  test('can be edited before it is sent, and the page lists the headers that are removed and added', async () => {
    await onPage(captured, async (page) => {
      await page.getByRole('link', { name: 'Replay', exact: true }).click();
      await page.getByRole('radio', { name: 'Another URL' }).check();
      await page.getByLabel('URL', { exact: true }).fill(`${upstream.url}/elsewhere?from=replay`);
      await page.getByLabel('Method').selectOption('PUT');
      const headers = page.getByLabel('Headers', { exact: true });
      await headers.fill(`${await headers.inputValue()}\nX-Edited: yes\nProxy-Connection: close`);
      await bodyEditor(page).fill('{"sku":"ü"}');
      await page.getByRole('heading', { name: 'Header changes' }).waitFor();
      await page.getByText('Proxy-Connection belongs to the original connection', { exact: true }).waitFor();
      await page.getByText('the log contains only a fingerprint of the key').waitFor();
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await onReplay(page);
      await page.locator('[data-result="200"]').waitFor();
      await page.getByRole('link', { name: 'Edit and replay' }).click();
      await expect.poll(() => bodyEditor(page).innerText()).toBe('{"sku":"ü"}');
      expect(await page.getByRole('radio', { name: 'Another URL' }).isChecked()).toBe(true);
    });
    const sent = upstream.received.find(({ url }) => url.startsWith('/elsewhere'));
    expect(sent).toMatchObject({ method: 'PUT', url: '/elsewhere?from=replay&n=0' });
    expect(sent?.body.toString('utf8')).toBe('{"sku":"ü"}');
    expect(sent?.rawHeaders).toContain('X-Edited');
    expect(sent?.rawHeaders.map((name) => name.toLowerCase())).not.toContain('x-api-key');
  });

  test('keeps the bytes of the body and of the headers that the user did not edit', async () => {
    const body = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\nvoilà\r\n--x--\r\n';
    const word = Buffer.from('voilà').toString('latin1');
    const { statusCode } = await request(`${run.url}/orders?n=bytes`, {
      method: 'POST',
      headers: { 'x-api-key': run.apiKey, 'content-type': 'multipart/form-data; boundary=x', 'x-word': word },
      body,
    });
    expect(statusCode).toBe(200);
    const [entry] = await logged('query:n=bytes');
    await onPage(`${SHOP}/traffic/${entry?.id ?? ''}/replay`, async (page) => {
      await page.getByRole('radio', { name: 'Another URL' }).check();
      await page.getByLabel('URL', { exact: true }).fill(`${upstream.url}/bytes`);
      const headers = page.getByLabel('Headers', { exact: true });
      await headers.fill(`${await headers.inputValue()}\nX-Edited: yes`);
      await bodyEditor(page).click();
      await page.keyboard.press('ControlOrMeta+Home');
      for (let line = 0; line < 3; line += 1) await page.keyboard.press('ArrowDown');
      await page.keyboard.press('End');
      await page.keyboard.type('2');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await onReplay(page);
      await page.locator('[data-result="200"]').waitFor();
      await page.getByRole('link', { name: 'Edit and replay' }).click();
      await bodyEditor(page).waitFor();
      await page.getByLabel('URL', { exact: true }).fill(`${upstream.url}/again`);
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await onReplay(page);
      await page.locator('[data-result="200"]').waitFor();
    });
    for (const path of ['/bytes', '/again']) {
      const sent = upstream.received.find(({ url }) => url.startsWith(path));
      expect(sent?.body.toString('utf8')).toBe(body.replace('1', '12'));
      expect(sent?.rawHeaders).toContain(word);
      expect(sent?.rawHeaders).toContain('X-Edited');
    }
  });

  test('with invalid input shows errors next to their fields and keeps the input', async () => {
    await onPage(`${captured}/replay`, async (page) => {
      await page.getByRole('radio', { name: 'Another URL' }).check();
      await page.getByLabel('URL', { exact: true }).fill('ftp://example.com');
      await page.getByLabel('Path and query').fill('orders');
      await page.getByLabel('Headers', { exact: true }).fill('no colon in this line');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByRole('alert').waitFor();
      await page.getByText('Must be http:// or https://').waitFor();
      await page.getByText('Must begin with /').waitFor();
      await page.getByText(/Line 1:/).waitFor();
      expect(await page.getByLabel('URL', { exact: true }).inputValue()).toBe('ftp://example.com');
      expect(await page.getByLabel('Headers', { exact: true }).inputValue()).toBe('no colon in this line');
      await page.getByRole('radio', { name: 'Original endpoint' }).check();
      await page.getByLabel('Path and query').fill('/x');
      await page.getByLabel('Headers', { exact: true }).fill('a: b');
      await bodyEditor(page).fill('x'.repeat(200_001));
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText('Exceeds 200 kB, the maximum size of the edits in a Replay.').waitFor();
    });
  });

  test('with a body that is too large to edit is sent as captured', async () => {
    const body = JSON.stringify('y'.repeat(250_000));
    await call('?n=large', body);
    const [large] = await logged('query:n=large');
    await onPage(`${SHOP}/traffic/${large?.id ?? ''}/replay`, async (page) => {
      await page.getByText('The body (250 kB) is too large to edit and is sent as captured.').waitFor();
      await page.getByRole('radio', { name: 'Original upstream' }).check();
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await onReplay(page);
      await page.locator('[data-result="200"]').waitFor();
    });
    expect(upstream.received.filter(({ url }) => url.includes('n=large')).map((one) => one.body.length)).toEqual([
      body.length,
      body.length,
    ]);
  });

  test('that the address policy blocks shows the reason', async () => {
    await onPage(`${captured}/replay`, async (page) => {
      await page.getByRole('radio', { name: 'Another URL' }).check();
      await page.getByLabel('URL', { exact: true }).fill('http://169.254.169.254/latest/meta-data');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await onReplay(page);
      await page.locator('[data-result="0"]').waitFor();
      await page
        .getByText(/not allowed|address/)
        .first()
        .waitFor();
    });
  });
});

describe('many requests', () => {
  const COUNT = 30;
  beforeAll(async () => {
    for (let n = 0; n < COUNT; n += 1) await call(`?batch=${n}${n % 10 === 0 ? '&fail' : ''}`);
    await logged('query:batch=', COUNT);
  });

  const plan = (more: Record<string, string> = {}): string =>
    `${SHOP}/replays/new?${new URLSearchParams({ q: 'query:batch=', from: '1h', target: 'Upstream', ...more }).toString()}`;

  test('need an explicit time range or search', async () => {
    await onPage(`${SHOP}/traffic`, async (page) => {
      await page.getByRole('link', { name: 'Replay these' }).click();
      await page.getByRole('heading', { name: 'No requests selected' }).waitFor();
      expect(await page.getByRole('button', { name: /^Send/ }).count()).toBe(0);
      // When the user chooses a relative time range, the page converts it to fixed times and keeps these times.
      await page.getByRole('link', { name: 'Use the last hour' }).click();
      await page.getByRole('heading', { name: /^\d+ requests to their original endpoints$/ }).waitFor();
      const times = ['Start time', 'End time'].map((name) => page.getByLabel(name).inputValue());
      const [from = Number.NaN, to = Number.NaN] = (await Promise.all(times)).map(Date.parse);
      expect(to - from).toBe(3_600_000);
    });
  });

  test('are selected in Traffic, confirmed by count, sent in the original order and compared one by one', async () => {
    await onPage(`${SHOP}/traffic?q=query:batch=`, async (page) => {
      await page.getByRole('link', { name: 'Replay these' }).click();
      await page.getByRole('heading', { name: `${COUNT} requests to their original endpoints` }).waitFor();
      // The relative time range is now fixed, so it does not include later requests.
      expect(new URL(page.url()).searchParams.get('to')).toMatch(/^\d{4}-.*Z$/);
      await page.getByRole('radio', { name: 'Original upstream' }).check();
      await page.getByLabel('Maximum requests per second').fill('100');
      await page.getByLabel('Order').selectOption('As received, one at a time');
      await page.getByRole('heading', { name: `${COUNT} requests to their original upstreams` }).waitFor();
      await page.getByText('The first 5, oldest first').waitFor();
      await expect.poll(() => page.url()).toContain('order=Original');

      const before = upstream.received.length;
      await page.getByLabel(`Type ${COUNT} to confirm`).fill('3');
      await page.getByRole('button', { name: `Send ${COUNT} requests` }).click();
      await page.getByText(`Type ${COUNT} to confirm the number of requests.`).waitFor();
      expect(upstream.received.length).toBe(before);
      await page.getByLabel(`Type ${COUNT} to confirm`).fill(String(COUNT));
      await page.getByRole('button', { name: `Send ${COUNT} requests` }).click();
      await onReplay(page);
      await page.getByRole('heading', { name: `${COUNT} of ${COUNT} sent` }).waitFor();
      const order = upstream.received.slice(before).map(({ url }) => Number(/batch=(\d+)/.exec(url)?.[1]));
      expect(order).toEqual(Array.from({ length: COUNT }, (_, n) => n));

      await page.getByRole('link', { name: /^503/ }).click();
      await expect.poll(() => page.locator('[data-row]').count()).toBe(3);
      await page.locator('[data-row]').first().click();
      await page.getByRole('heading', { name: 'Replay result' }).waitFor();
      await page.getByRole('link', { name: 'Replay', exact: true }).first().click();
      await page.getByText('Command line').click();
      await page.getByText(/standin replay/).waitFor();
      await page.getByRole('button', { name: 'Copy as kubectl create' }).click();
      const copied = await page.evaluate<string>('navigator.clipboard.readText()');
      expect(copied).toContain("kubectl create -f - <<'STANDIN_REPLAY'");
      expect(copied).toContain('generateName: replay-');
      expect(copied).toContain('order: Original');
    });
  });

  test('can be paused, resumed and cancelled, using only the keyboard', async () => {
    await onPage(plan({ rate: '1' }), async (page) => {
      await tabTo(page, `Type ${COUNT} to confirm`);
      await page.keyboard.type(String(COUNT));
      await page.keyboard.press('Enter');
      await onReplay(page);
      await page.getByRole('button', { name: 'Pause' }).waitFor();
      await page.getByRole('heading', { name: new RegExp(`^[1-9]\\d* of ${COUNT} sent`) }).waitFor();
      await tabTo(page, 'Pause');
      await page.keyboard.press('Enter');
      await page.getByText('Suspended').first().waitFor();
      await tabTo(page, 'Resume');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Pause' }).waitFor();
      await tabTo(page, 'Cancel replay');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await tabTo(page, 'Cancel replay');
      await page.keyboard.press('Enter');
      await page.getByText('Cancelled').first().waitFor();
      expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0);
      const [, sent = ''] = /(\d+) of/.exec(await page.getByRole('heading', { name: /sent/ }).innerText()) ?? [];
      expect(Number(sent)).toBeLessThan(COUNT);
      await page.keyboard.press('g');
      await page.keyboard.press('r');
      await page.waitForURL(at(`${SHOP}/replays`));
      await page.locator('[data-row]').first().waitFor();
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await onReplay(page);
    });
  });

  test('show an error in the plan next to its field', async () => {
    await onPage(plan({ q: 'status:>>1', rate: '0' }), async (page) => {
      await expect.poll(() => page.getByLabel('Search (optional)').getAttribute('aria-invalid')).toBe('true');
      await page.getByLabel('Search (optional)').fill('query:batch=');
      await expect.poll(() => page.getByLabel('Maximum requests per second').getAttribute('aria-invalid')).toBe('true');
      await page.getByLabel('Maximum requests per second').fill('5');
      await page.getByRole('heading', { name: `${COUNT} requests to their original upstreams` }).waitFor();
      await page.getByLabel('Search (optional)').fill('path:/nothing');
      await page.getByText('No matching requests.').waitFor();
    });
  });
});

describe('no axe violation in either theme, no horizontal scrolling on a phone:', () => {
  const PLAN = `${SHOP}/replays/new?${new URLSearchParams({ q: 'query:batch=', from: '1h', target: 'Upstream' }).toString()}`;

  test('the list of replays', () => expectAccessible(browser, at(`${SHOP}/replays`)));
  test('the plan for many requests', () => expectAccessible(browser, at(PLAN)));
  test('the form for one request', () =>
    expectAccessible(browser, at(`${captured}/replay`), async (page) => {
      await page.getByRole('radio', { name: 'Another URL' }).check();
    }));
  test('the replays of a request', () =>
    expectAccessible(browser, at(`${captured}?tab=replays`), async (page) => {
      await page
        .getByRole('link', { name: /^to the original endpoint/ })
        .first()
        .waitFor();
    }));
  test('a response next to the captured one', () =>
    expectAccessible(browser, at(`${captured}/replay`), async (page) => {
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByRole('heading', { name: 'Differences' }).waitFor();
      await page.getByText('Full response and sent headers').click();
    }));
  test('a replay that is about to be cancelled', () =>
    expectAccessible(browser, at(`${PLAN}&rate=1`), async (page) => {
      const confirm = page.getByLabel(/^Type \d+ to confirm/);
      const [count = ''] = /\d+/.exec(await page.getByText(/^Type \d+ to confirm/).innerText()) ?? [];
      await confirm.fill(count);
      await page.getByRole('button', { name: /^Send/ }).click();
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Suspended').first().waitFor();
      await page.getByRole('button', { name: 'Cancel replay' }).click();
      await page.getByRole('dialog').waitFor();
    }));
});

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { SHOP, startDashboard, onPageWithFailures, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, forward, mock, readLog } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';
import { startUpstream, type Upstream } from './upstream.ts';

let run: DashboardRun;
let browser: Browser;
let upstream: Upstream;
/** The page of a captured request. */
let captured = '';
let id = '';
/** The page of a captured request to another endpoint. */
let toMock = '';

/** Creates an endpoint that forwards, and calls it. Returns the id of the captured request. */
const capture = async (name: string): Promise<string> => {
  await writeFile(path.join(run.manifests, `${name}.yaml`), endpoint(name, forward(`${upstream.url}/${name}`)));
  const headers = { 'x-api-key': run.apiKey, 'x-plan': 'gold' };
  const call = async () => (await request(`${run.url}/${name}`, { method: 'POST', headers, body: '{}' })).statusCode;
  await eventually('the endpoint to answer', call, { accept: (status) => status === 200 });
  const find = async () => (await readLog(run.data, '--filter', `endpoint:${name} status:200`))[0]?.id;
  return eventually('the request in the log', find, { accept: (found) => found !== undefined }) as Promise<string>;
};

beforeAll(async () => {
  upstream = await startUpstream((_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('ok'));
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
  id = await capture('orders');
  captured = `${SHOP}/traffic/${id}`;
  toMock = `${SHOP}/traffic/${await capture('mocked')}/mock?as=response`;
});
afterAll(async () => {
  upstream.stop();
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;

const onPage = (url: string, use: (page: Page) => Promise<void>): Promise<void> =>
  onPageWithFailures(browser, at(url), use);

const press = (page: Page, button: string | RegExp): Promise<void> =>
  page.getByRole('button', { name: button, exact: true }).click();

interface FormCase {
  readonly form: string;
  readonly url: () => string;
  /** Opens the form, if the page does not show it. */
  readonly open?: (page: Page) => Promise<void>;
  /** The label of the field with the input to keep, and the input. */
  readonly field: string;
  readonly input: string;
  /** Fills the other fields. */
  readonly fill?: (page: Page) => Promise<void>;
  readonly button: string | RegExp;
  readonly message: string;
  /** What the page shows when the form is submitted again. */
  readonly saved: (page: Page) => Promise<void>;
}

const FORMS: readonly FormCase[] = [
  {
    form: 'the replay of a request',
    url: () => `${captured}/replay`,
    field: 'Path and query',
    input: '/orders?kept=1',
    button: 'Send',
    message: 'not sent.',
    saved: (page) => page.waitForURL(/\/replays\/replay-[0-9a-f]+$/),
  },
  {
    form: 'the replay of many requests',
    url: () => `${SHOP}/replays/new?q=id:${id}&from=1h`,
    field: 'Type 1 to confirm',
    input: '1',
    button: /^Send 1 request/,
    message: 'not sent.',
    saved: (page) => page.waitForURL(/\/replays\/replay-[0-9a-f]+$/),
  },
  {
    form: 'a purge',
    url: () => `${SHOP}/settings/purges?q=body:nothing&to=1h`,
    field: 'Reason',
    input: 'Erasure request 42',
    fill: (page) => page.getByLabel('Type shop to confirm').fill('shop'),
    button: 'Delete permanently',
    message: 'not created.',
    saved: (page) => page.getByText(/^Purge purge-[0-9a-f]{8} was created\.$/).waitFor(),
  },
  {
    form: 'a mock of a captured response',
    url: () => toMock,
    field: 'Response name',
    input: 'kept',
    fill: async (page) => {
      await page.getByRole('checkbox', { name: 'header x-plan = gold' }).check();
      await page.waitForURL(/name=kept.*when=/);
    },
    button: 'Save as mock',
    message: 'not saved.',
    saved: (page) => page.waitForURL(at(`${SHOP}/endpoints/mocked`)),
  },
  {
    form: 'a link to share',
    url: () => captured,
    open: (page) => press(page, 'Share'),
    field: 'Headers',
    input: 'x-kept',
    button: 'Create link',
    message: 'not created.',
    saved: (page) => page.getByText('The link was created.').waitFor(),
  },
];

const cases = FORMS.map((form) => [form.form, form] as const);

/** Opens the form and enters the input. */
const edit = async (page: Page, { open, field, input, fill }: FormCase) => {
  await open?.(page);
  const control = page.getByLabel(field, { exact: true });
  await control.fill(input);
  await fill?.(page);
  return control;
};

/** Whether the focused element is visible, and not behind what is fixed at the top or the bottom of the window. */
const IS_FOCUS_IN_VIEW = `(() => {
  const { left, top, bottom } = document.activeElement.getBoundingClientRect();
  return [top + 1, bottom - 1].every((y) => document.activeElement.contains(document.elementFromPoint(left + 1, y)));
})()`;

describe('the form for', () => {
  test.each(cases)('%s keeps its input while the server reports an error', async (_, form) => {
    await onPage(form.url(), async (page) => {
      const control = await edit(page, form);
      await page.route('**/*.data*', (route) => route.fulfill({ status: 503, body: 'no server' }));
      await press(page, form.button);
      await page.getByText(`Possibly ${form.message}`).waitFor();
      expect(await control.inputValue()).toBe(form.input);
      expect(await page.getByRole('heading', { name: 'Something went wrong' }).count()).toBe(0);
    });
  });

  test.each(cases)('%s keeps its input while the server does not respond, and is submitted later', async (_, form) => {
    await onPage(form.url(), async (page) => {
      const control = await edit(page, form);
      await page.context().setOffline(true);
      await press(page, form.button);
      const message = page.getByText(`Possibly ${form.message} The dashboard’s server does not respond.`);
      await message.waitFor();
      await expect.poll(() => page.evaluate(IS_FOCUS_IN_VIEW)).toBe(true);
      expect(await page.evaluate('document.activeElement?.textContent')).toContain(await message.innerText());
      expect(await control.inputValue()).toBe(form.input);
      await page.context().setOffline(false);
      await press(page, form.button);
      await form.saved(page);
    });
  });
});

describe('a form whose values are in the URL', () => {
  test.each([
    ['the replay of many requests', `${SHOP}/replays/new?from=1h`, 'Search (optional)'],
    ['a purge', `${SHOP}/settings/purges?q=body:nothing&to=1h`, 'Search (optional)'],
    ['a mock', undefined, 'Response name'],
  ])('keeps the input of %s while its preview cannot be loaded', async (_, url = toMock, field) => {
    await onPage(url, async (page) => {
      const control = page.getByLabel(field, { exact: true });
      await control.fill('first');
      await page.waitForURL(/first/);
      if (await page.getByLabel('Reason').count()) await page.getByLabel('Reason').fill('Erasure request 42');
      await page.context().setOffline(true);
      await control.fill('second');
      await page.getByText('This page tries every few seconds').waitFor();
      expect(await control.inputValue()).toBe('second');
      await page.context().setOffline(false);
      await expect.poll(() => page.getByText('This page tries every few seconds').count()).toBe(0);
      expect(await control.inputValue()).toBe('second');
      expect(page.url()).toContain('second');
      if (await page.getByLabel('Reason').count())
        expect(await page.getByLabel('Reason').inputValue()).toBe('Erasure request 42');
    });
  });

  test('keeps the reason for a purge while its search is invalid', async () => {
    await onPage(`${SHOP}/settings/purges?q=body:nothing&to=1h`, async (page) => {
      await page.getByLabel('Reason').fill('Erasure request 42');
      const search = page.getByLabel('Search (optional)');
      await search.fill('status:many');
      await page.getByText('A status has a form like 404').waitFor();
      await search.fill('body:other');
      await expect.poll(() => page.getByLabel('Reason').count()).toBe(1);
      expect(await page.getByLabel('Reason').inputValue()).toBe('Erasure request 42');
    });
  });
});

/** Breaks the connections of all POST requests until the returned function is called. Live pages can still reload. */
const breakSubmissions = async (page: Page): Promise<() => Promise<void>> => {
  await page.route(SUBMISSIONS, (route) =>
    route.request().method() === 'POST' ? route.abort('connectionreset') : route.continue(),
  );
  return () => page.unroute(SUBMISSIONS);
};
const SUBMISSIONS = /\.data(\?|$)/;

/** Lets the server process the next POST whose URL matches, and then breaks its connection. Returns the number of such requests. */
const loseAnswer = async (page: Page, url: RegExp): Promise<() => number> => {
  let lost = 0;
  await page.route(url, async (route) => {
    if (route.request().method() !== 'POST' || lost > 0) return route.continue();
    await route.fetch({ maxRedirects: 0 });
    lost += 1;
    return route.abort('connectionreset');
  });
  return () => lost;
};

/** Waits until this request was sent, and longer than a second one would need. */
const sentOnce = async (target: string): Promise<void> => {
  const sent = (): number => upstream.received.filter(({ url }) => url.startsWith(target)).length;
  await expect.poll(sent).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(sent()).toBe(1);
};

describe('a submission whose response is lost is not repeated when it is submitted again:', () => {
  test('the replay of a request', async () => {
    await onPage(`${captured}/replay`, async (page) => {
      await page.getByRole('radio', { name: 'Another URL' }).check();
      await page.getByLabel('URL', { exact: true }).fill(`${upstream.url}/lost-one`);
      const lost = await loseAnswer(page, /replay\.data/);
      await press(page, 'Send');
      await page.getByText('Possibly not sent. The dashboard’s server does not respond.').waitFor();
      expect(lost()).toBe(1);
      await press(page, 'Try again');
      await page.waitForURL(/\/replays\/replay-[0-9a-f]+$/);
      await sentOnce('/lost-one');
    });
  });

  test('the replay of many requests', async () => {
    const query = new URLSearchParams({ q: `id:${id}`, from: '1h', target: 'URL' });
    query.set('url', `${upstream.url}/lost-many`);
    await onPage(`${SHOP}/replays/new?${query.toString()}`, async (page) => {
      await page.getByLabel('Type 1 to confirm').fill('1');
      await loseAnswer(page, /new\.data/);
      await press(page, /^Send 1 request/);
      await page.getByText('Possibly not sent. The dashboard’s server does not respond.').waitFor();
      await press(page, 'Try again');
      await page.waitForURL(/\/replays\/replay-[0-9a-f]+$/);
      await sentOnce('/lost-many');
    });
  });

  test('a resend', async () => {
    const before = upstream.received.length;
    await onPage(captured, async (page) => {
      await press(page, 'Resend');
      const dialog = page.getByRole('dialog', { name: 'Resend this POST request?' });
      await dialog.waitFor();
      await loseAnswer(page, /resend$/);
      await dialog.getByRole('button', { name: 'Resend' }).click();
      await page.getByText('Possibly not sent. The dashboard’s server does not respond.').waitFor();
      await press(page, 'Resend');
      await dialog.getByRole('button', { name: 'Resend' }).click();
      await page.waitForURL(/\/replays\/replay-[0-9a-f]+$/);
      await page.locator('[data-result="200"]').waitFor();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
    });
    expect(upstream.received.length - before).toBe(1);
  });
});

describe('a dialog or a button', () => {
  test('shows why an endpoint was not deleted, and deletes it later', async () => {
    await writeFile(path.join(run.manifests, 'deleted.yaml'), endpoint('deleted', mock('{}')));
    await expect.poll(async () => (await fetch(at(`${SHOP}/endpoints/deleted`))).status).toBe(200);
    await onPage(`${SHOP}/endpoints/deleted`, async (page) => {
      await press(page, 'Delete');
      const dialog = page.getByRole('dialog', { name: /^Delete / });
      const mend = await breakSubmissions(page);
      await dialog.getByRole('button', { name: 'Delete endpoint' }).click();
      await dialog.getByText('Possibly not deleted. The dashboard’s server does not respond.').waitFor();
      expect(page.url()).toBe(at(`${SHOP}/endpoints/deleted`));
      await mend();
      await dialog.getByRole('button', { name: 'Delete endpoint' }).click();
      await page.waitForURL(at(`${SHOP}/endpoints`));
    });
  });

  test('shows why a project was not deleted, and keeps the confirmation', async () => {
    await onPage(`${SHOP}/settings`, async (page) => {
      await press(page, 'Delete project…');
      const dialog = page.getByRole('dialog', { name: 'Delete project shop?' });
      await dialog.getByLabel('Type shop to confirm').fill('shop');
      await page.context().setOffline(true);
      await dialog.getByRole('button', { name: 'Delete project' }).click();
      await dialog.getByText('Possibly not deleted. The dashboard’s server does not respond.').waitFor();
      expect(await dialog.getByLabel('Type shop to confirm').inputValue()).toBe('shop');
    });
  });

  test('shows why a key was not shown or regenerated', async () => {
    await onPage(`${SHOP}/settings/api-key`, async (page) => {
      await breakSubmissions(page);
      await press(page, 'Reveal');
      await page.getByText('The dashboard’s server does not respond.').waitFor();
      await press(page, 'Regenerate key…');
      await page.getByRole('dialog').getByRole('button', { name: 'Regenerate key' }).click();
      await page.getByText('Possibly not started. The dashboard’s server does not respond.').waitFor();
    });
  });

  test('shows that a request to an endpoint was possibly not sent, and keeps the request', async () => {
    await onPage(`${SHOP}/endpoints/orders`, async (page) => {
      await press(page, 'Send');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Body').fill('kept');
      await page.context().setOffline(true);
      await dialog.getByRole('button', { name: 'Send', exact: true }).click();
      await dialog.getByText('Possibly not sent. The dashboard’s server does not respond.').waitFor();
      // The page reloads its data whenever an object changes, and when its stream of changes breaks.
      await page.evaluate('window.__remixRouter.revalidate()');
      await expect.poll(() => page.evaluate('window.__remixRouter.state.revalidation')).toBe('idle');
      expect(await dialog.getByLabel('Body').inputValue()).toBe('kept');
    });
  });
});

test('a form that cannot be submitted is accessible', async () => {
  for (const [url, field, button] of [
    [`${captured}/replay`, 'Path and query', 'Send'],
    [`${SHOP}/replays/new?q=id:${id}&from=1h`, 'Type 1 to confirm', 'Send 1 request'],
  ] as const) {
    await expectAccessible(browser, at(url), async (page) => {
      await page.getByLabel(field, { exact: true }).fill('kept');
      await page.route('**/*.data*', (route) => route.abort());
      await press(page, button);
      await page.getByText('The dashboard’s server does not respond.').first().waitFor();
    });
  }
});

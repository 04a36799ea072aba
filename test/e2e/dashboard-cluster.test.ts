import type { LogRow } from '@standin/contract';
import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { closePage, startBrowser } from '../harness/browser.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { DASHBOARD_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';
import {
  createPerson,
  signIn,
  startClusterDashboard,
  type ClusterDashboard,
  type Person,
} from './cluster-dashboard.ts';
import { goto, hydrated, watched } from './dashboard-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

/** Tests the dashboard in a browser, with the ClickHouse engine and a real API server with RBAC. Other files test the operator. */

let cluster: Cluster;
let clickHouse: TestClickHouse;
let store: LogStore;
let dashboard: ClusterDashboard;
let browser: Browser;
let namespace: string;
let elsewhere: string;
let editor: Person;
let viewer: Person;
let outsider: Person;

const object = (kind: string, name: string, spec: object, where = namespace): string =>
  JSON.stringify({ apiVersion: 'standin.dev/v1alpha1', kind, metadata: { name, namespace: where }, spec });

/** Runs kubectl with arguments that contain no spaces. */
const kubectl = (command: string) => cluster.kubectl(command.split(' '));

beforeAll(async () => {
  [cluster, clickHouse, browser] = await Promise.all([sharedCluster(), startClickHouse(), startBrowser()]);
  store = openLogStore(clickHouse);
  await store.migrate();
  [namespace, elsewhere] = await Promise.all([createNamespace(cluster), createNamespace(cluster)]);
  for (const where of [namespace, elsewhere]) {
    await cluster.apply(object('Account', 'team', { plan: 'Free' }, where));
    await cluster.apply(
      object('Project', 'shop', { displayName: `Shop of ${where}`, accountRef: { name: 'team' } }, where),
    );
  }
  [dashboard, editor, viewer, outsider] = await Promise.all([
    startClusterDashboard({ cluster, clickHouse }),
    createPerson(cluster, namespace, { name: 'editor', role: 'standin-edit' }),
    createPerson(cluster, namespace, { name: 'viewer', role: 'standin-view' }),
    createPerson(cluster, namespace, { name: 'outsider' }),
  ]);
});
afterAll(async () => {
  await browser.close();
  await dashboard.process.kill();
  await store.close();
  await clickHouse.stop();
  await Promise.all([namespace, elsewhere].map((name) => deleteNamespace(cluster, name)));
});

const open = async (person: Person, path = '/projects'): Promise<Page> => {
  const { page } = await watched(browser);
  await signIn(page, `${dashboard.url}${path}`, person);
  return page;
};

/** A page of a user whose token was accepted at the beginning. */
let passing: Promise<Page>;
// The API server caches for ten seconds that a token is valid. Other tests run in the meantime.
beforeAll(() => {
  passing = (async () => {
    const person = await createPerson(cluster, namespace, { name: 'passing', role: 'standin-view' });
    const page = await open(person);
    await cluster.kubectl(['delete', 'serviceaccount', 'passing', '-n', namespace]);
    return page;
  })();
  // The error is reported when the test awaits the page.
  passing.catch(() => undefined);
});

describe('signing in', () => {
  it('reports an invalid token and returns to the requested page', async () => {
    const { page, close, complaints } = await watched(browser);
    await goto(page, `${dashboard.url}/p/${namespace}/shop/endpoints?q=a`);
    expect(new URL(page.url()).pathname).toBe('/login');

    const token = page.getByLabel('Kubernetes token');
    const button = page.getByRole('button', { name: 'Sign in with this token' });
    await button.click();
    await page.getByText('Enter a token.').waitFor();
    await token.fill('two words');
    await button.click();
    await page.getByText('Invalid bearer token').waitFor();
    await token.fill('eyJhbGciOiJub25lIn0.e30.');
    await button.click();
    await page.getByText('does not accept this token').waitFor();
    // A page never contains a credential.
    expect(await page.content()).not.toContain('eyJhbGciOiJub25lIn0');

    await token.fill(viewer.token);
    await token.press('Enter');
    await page.waitForURL(`${dashboard.url}/p/${namespace}/shop/endpoints?q=a`);
    await page.getByRole('button', { name: `Signed in as ${viewer.user}` }).waitFor();
    expect(await page.content()).not.toContain(viewer.token);
    expect(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
    await close();
  });

  it('stores the session in a cookie that scripts and other sites cannot use', async () => {
    const page = await open(viewer);
    const cookies = await page.context().cookies();
    const session = cookies.filter(({ name }) => name.startsWith('standin-session'));
    expect(session.length).toBeGreaterThan(0);
    for (const cookie of session) {
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' });
      expect(cookie.value).not.toContain(viewer.token.split('.')[1]);
    }
    await closePage(page);
  });

  it('ends when the user signs out', async () => {
    const page = await open(viewer);
    await page.getByRole('button', { name: `Signed in as ${viewer.user}` }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByText('You have signed out.').waitFor();
    expect((await page.context().cookies()).filter(({ name }) => name.startsWith('standin-session'))).toEqual([]);
    await page.goto(`${dashboard.url}/projects`);
    expect(new URL(page.url()).pathname).toBe('/login');
    await closePage(page);
  });

  it('is required again when the session cookie of an open page is gone', async () => {
    const page = await open(viewer, `/p/${namespace}/shop/endpoints`);
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.waitForURL(`${dashboard.url}/login?to=${encodeURIComponent(`/p/${namespace}/shop/settings`)}`);
    await page.getByLabel('Kubernetes token').fill(viewer.token);
    await page.getByRole('button', { name: 'Sign in with this token' }).click();
    await page.waitForURL(`${dashboard.url}/p/${namespace}/shop/settings`);
    await closePage(page);
  });

  it('keeps the session when the user follows a link from another site', async () => {
    const page = await open(viewer);
    const target = `${dashboard.url}/p/${namespace}/shop/endpoints`;
    await page.goto(`data:text/html,<a href="${target}">look</a>`);
    await page.getByText('look').click();
    await page.waitForURL(target);
    await hydrated(page);
    await page.getByRole('button', { name: `Signed in as ${viewer.user}` }).waitFor();
    await closePage(page);
  });

  it('has an accessible login page', async () => {
    await expectAccessible(browser, `${dashboard.url}/login?reason=expired`);
  });
});

describe('resources', () => {
  it('are listed for the namespaces that the user may read', async () => {
    const page = await open(viewer);
    await page.getByRole('link', { name: `Shop of ${namespace}` }).waitFor();
    expect(await page.getByRole('link', { name: /^Shop of/ }).count()).toBe(1);
    await closePage(page);
  });

  it('include a project that a role names, even if listing is forbidden', async () => {
    const named = await createPerson(cluster, elsewhere, { name: 'named' });
    const role = { apiGroups: ['standin.dev'], resources: ['mockprojects'], resourceNames: ['shop'], verbs: ['get'] };
    await cluster.apply(
      JSON.stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'named', namespace: elsewhere },
        rules: [role],
      }),
    );
    await kubectl(`create rolebinding named --role=named --serviceaccount=${elsewhere}:named -n ${elsewhere}`);
    const page = await open(named);
    await page.getByRole('link', { name: `Shop of ${elsewhere}` }).waitFor();
    expect(await page.getByRole('link', { name: /^Shop of/ }).count()).toBe(1);
    await closePage(page);
  });

  it("are created and changed only with the user's permissions", async () => {
    const page = await open(editor, '/projects/new');
    await page.getByLabel('Name', { exact: true }).fill('Created here');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.waitForURL(`**/p/${namespace}/created-here/endpoints`);

    await goto(page, `${dashboard.url}/p/${namespace}/created-here/settings`);
    await page.getByLabel('Retention').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const get = ['get', 'mpr', 'created-here', '-n', namespace, '-o', 'json', '--show-managed-fields'];
    const { metadata, spec } = JSON.parse((await cluster.kubectl(get)).stdout) as {
      metadata: { managedFields: { manager: string }[] };
      spec: object;
    };
    expect(spec).toMatchObject({ displayName: 'Created here', accountRef: { name: 'team' }, retentionDays: 7 });
    expect(metadata.managedFields.map(({ manager }) => manager)).toEqual(['standin-dashboard']);
    // The dashboard's own ServiceAccount lacks these permissions.
    const own = await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, DASHBOARD_SERVICE_ACCOUNT);
    for (const verb of ['create', 'update', 'patch', 'delete']) {
      const { stdout } = await cluster.kubectl(['auth', 'can-i', verb, 'mockprojects.standin.dev', '-A'], { as: own });
      expect(stdout.trim(), verb).toBe('no');
    }
    await closePage(page);
  });

  it('show an error from the API server next to its field', async () => {
    const page = await open(editor, `/p/${namespace}/shop/endpoints/new`);
    await page.getByLabel('Name', { exact: true }).fill('Orders');
    const path = page.getByRole('textbox', { name: 'Path', exact: true }).first();
    await path.fill('no-slash');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await eventually('an error at the path', () => path.getAttribute('aria-invalid'), {
      accept: (value) => value === 'true',
    });
    await path.fill('/v1/orders');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.waitForURL(`**/p/${namespace}/shop/endpoints/orders`);
    await closePage(page);
  });

  it("show the API server's error message when it denies access", async () => {
    const page = await open(viewer, `/p/${namespace}/shop/settings`);
    await page.getByLabel('Name', { exact: true }).fill('Mine now');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`User "${viewer.user}" cannot update resource "mockprojects"`).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Mine now');

    await page.goto(`${dashboard.url}/p/${elsewhere}/shop/endpoints`);
    await page.getByText(`User "${viewer.user}" cannot get resource "mockprojects"`).waitFor();
    await closePage(page);

    const outsiderPage = await open(outsider, `/p/${namespace}/shop/endpoints`);
    await outsiderPage.getByText('Permission denied').waitFor();
    await outsiderPage.goto(`${dashboard.url}/projects`);
    await outsiderPage.getByText('No projects yet').waitFor();
    await closePage(outsiderPage);
  });

  it('are not saved if another user changed them in the meantime', async () => {
    const page = await open(editor, `/p/${namespace}/shop/settings`);
    await page.getByLabel('Retention').fill('9');
    // The open form must not notice the change, as when a change arrives just before the click.
    await page.route('**/events**', (route) => route.abort());
    await kubectl(`patch mpr shop -n ${namespace} --type=merge -p {"spec":{"retentionDays":3}}`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Not saved: both versions changed the same field').waitFor();
    expect(await page.getByRole('group', { name: 'spec.retentionDays' }).innerText()).toMatch(
      /Your version\s+9\s+Saved version\s+3$/,
    );
    const kept = await cluster.kubectl(['get', 'mpr', 'shop', '-n', namespace, '-o', 'jsonpath={.spec.retentionDays}']);
    expect(kept.stdout).toBe('3');
    await closePage(page);
  });

  it('are neither saved nor deleted if another user deleted and created them again in the meantime', async () => {
    const create = (displayName: string) =>
      cluster.apply(
        object('Endpoint', 'again', {
          projectRef: { name: 'shop' },
          displayName,
          slug: '/again',
          method: 'GET',
          action: 'JSON',
          json: { body: '1' },
        }),
      );
    const saved = async () =>
      (await cluster.kubectl(['get', 'mep', 'again', '-n', namespace, '-o', 'jsonpath={.spec.displayName}'])).stdout;
    await create('First');
    const page = await open(editor, `/p/${namespace}/shop/endpoints/again/edit`);
    const version = await page.locator('input[name=version]').inputValue();
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await page.route('**/events**', (route) => route.abort());
    await cluster.kubectl(['delete', 'mep', 'again', '-n', namespace]);
    await create('Second');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Not saved: both versions changed the same field').waitFor();
    expect(await saved()).toBe('Second');

    // As from a page that does not show the new object yet.
    const deletion = await page.request.post(`${dashboard.url}/p/${namespace}/shop/endpoints/again`, {
      headers: { origin: dashboard.url },
      form: { version },
    });
    expect(deletion.status()).toBe(409);
    expect(await saved()).toBe('Second');
    await closePage(page);
  });

  it('are edited as YAML, without what only the API server writes', async () => {
    await cluster.apply(
      object('Endpoint', 'as-text', {
        projectRef: { name: 'shop' },
        displayName: 'As text',
        slug: '/as-text',
        method: 'GET',
        action: 'JSON',
        json: { body: '1' },
      }),
    );
    const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
    await cluster.kubectl(['annotate', '--overwrite', 'mep', 'as-text', '-n', namespace, `${lastApplied}={}`]);
    const page = await open(editor, `/p/${namespace}/shop/endpoints/as-text/yaml`);
    await page.locator('[data-editor=open]').waitFor();
    const shown = await page.locator('textarea[name=yaml]').inputValue();
    expect(shown).not.toMatch(/uid:|managedFields|last-applied|^status:/m);
    const save = async (text: string): Promise<void> => {
      await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
      await page.getByRole('textbox', { name: 'Endpoint YAML' }).click();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.press('ControlOrMeta+v');
      await page.getByRole('button', { name: 'Save' }).click();
    };
    await save(shown.replace(`namespace: ${namespace}`, `namespace: ${elsewhere}`));
    await page.getByText(`metadata.namespace: must be ${namespace}. An object cannot be moved`).waitFor();
    await save(shown.replace('slug: /as-text', 'slug: as-text'));
    await page.getByText(/^Line \d+: spec\.slug: /).waitFor();
    await save(shown.replace('name: shop', 'name: other'));
    await page.getByText(/^Line \d+: spec\.projectRef: /).waitFor();
    await save(shown.replace('metadata:', 'metadata:\n  labels: {team: a}').replace('As text', 'As edited text'));
    await page.waitForURL(`${dashboard.url}/p/${namespace}/shop/endpoints/as-text`);
    const get = ['get', 'mep', 'as-text', '-n', namespace, '-o', 'json'];
    const { metadata, spec } = JSON.parse((await cluster.kubectl(get)).stdout) as {
      metadata: { labels: object; annotations: object };
      spec: object;
    };
    expect(spec).toMatchObject({ displayName: 'As edited text', slug: '/as-text' });
    expect(metadata.labels).toEqual({ team: 'a' });
    // The page hides this annotation, which `kubectl apply` needs for the next change.
    expect(Object.keys(metadata.annotations)).toContain(lastApplied);
    await closePage(page);
  });

  it('update on the page when another user changes them', async () => {
    const page = await open(viewer, `/p/${namespace}/shop/endpoints`);
    await cluster.apply(
      object('Endpoint', 'live', {
        projectRef: { name: 'shop' },
        displayName: 'Seen live',
        slug: '/live',
        method: 'GET',
        action: 'JSON',
        json: { body: '1' },
      }),
    );
    await page.getByRole('link', { name: '/live' }).waitFor();
    await cluster.kubectl(['delete', 'mep', 'live', '-n', namespace]);
    await page.getByRole('link', { name: '/live' }).waitFor({ state: 'detached' });
    await closePage(page);
  });
});

describe('the API key', () => {
  it("is read with the user's permission on that Secret", async () => {
    await kubectl(`create secret generic team-api-key --from-literal=api-key=sk_of_team -n ${namespace}`);
    const status = JSON.stringify({ status: { apiKey: { secretName: 'team-api-key' } } });
    await kubectl(`patch mac team -n ${namespace} --subresource=status --type=merge -p ${status}`);
    const reader = await createPerson(cluster, namespace, { name: 'key-reader', role: 'standin-view' });
    await kubectl(`create role key --verb=get --resource=secrets --resource-name=team-api-key -n ${namespace}`);
    await kubectl(`create rolebinding key --role=key --serviceaccount=${namespace}:key-reader -n ${namespace}`);

    const page = await open(reader, `/p/${namespace}/shop/settings/api-key`);
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.getByText('sk_of_team').waitFor();
    await closePage(page);

    const refused = await open(viewer, `/p/${namespace}/shop/settings/api-key`);
    await refused.getByRole('button', { name: 'Reveal' }).click();
    await refused.getByText('cannot get resource "secrets"').waitFor();
    await closePage(refused);
  });

  it('is replaced with only the permission to create KeyRegenerations', async () => {
    const rotator = await createPerson(cluster, namespace, { name: 'rotator' });
    const group = 'rbac.authorization.k8s.io';
    const rules = [
      { apiGroups: ['standin.dev'], resources: ['mockprojects', 'mockaccounts'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['standin.dev'], resources: ['mockkeyregenerations'], verbs: ['create'] },
    ];
    const metadata = { name: 'rotator', namespace };
    const subjects = [{ kind: 'ServiceAccount', ...metadata }];
    const roleRef = { apiGroup: group, kind: 'Role', name: 'rotator' };
    const items = [
      { apiVersion: `${group}/v1`, kind: 'Role', metadata, rules },
      { apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects },
    ];
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    const page = await open(rotator, `/p/${namespace}/shop/settings/api-key`);
    await page.getByText('6 of 6 regenerations left').waitFor();
    await page.getByRole('button', { name: 'Regenerate key…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Regenerate key' }).click();
    const made = ['get', 'mkr', '-n', namespace, '-o', 'jsonpath={.items[*].spec.accountRef.name}'];
    await eventually('the regeneration', async () => (await cluster.kubectl(made)).stdout, {
      accept: (accounts) => accounts === 'team',
    });
    await closePage(page);
  });
});

describe('logs', () => {
  const insert = async (where: string, changes: Partial<LogRow> = {}): Promise<LogRow> => {
    const uid = await cluster.kubectl(['get', 'mpr', 'shop', '-n', where, '-o', 'jsonpath={.metadata.uid}']);
    const row = newLogRow({ namespace: where, project: 'shop', projectUid: uid.stdout, ...changes });
    await store.insert({ rows: encodeRow(row), rowCount: 1, token: row.id });
    return row;
  };
  const requests = async (where: string, token: string, rest = ''): Promise<{ status: number; body: string }> => {
    const url = `${dashboard.url}/api/v1/namespaces/${where}/projects/shop/requests${rest}`;
    const answer = await request(url, { headers: { authorization: `Bearer ${token}` } });
    return { status: answer.statusCode, body: await answer.body.text() };
  };

  it('are readable with the permission, for that project only', async () => {
    const [own, foreign] = [await insert(namespace), await insert(elsewhere)];
    const allowed = await requests(namespace, viewer.token);
    expect(allowed.status, allowed.body).toBe(200);
    expect(allowed.body).toContain(own.id);
    expect(allowed.body).not.toContain(foreign.id);
    expect((await requests(elsewhere, viewer.token)).status).toBe(403);
  });

  it('are shown again after a sign-in that a dialog has required', async () => {
    const { id } = await insert(namespace);
    const path = `/p/${namespace}/shop/traffic/${id}`;
    const page = await open(viewer, path);
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Share' }).click();
    await page.waitForURL(`${dashboard.url}/login?to=${encodeURIComponent(path)}`);
    await page.getByLabel('Kubernetes token').fill(viewer.token);
    await page.getByRole('button', { name: 'Sign in with this token' }).click();
    await page.waitForURL(`${dashboard.url}${path}`);
    await page.getByRole('button', { name: 'Share' }).waitFor();
    await closePage(page);
  });

  it.each([
    ['a replay', (id: string) => `/traffic/${id}/replay`, 'Path and query', 'Send'],
    [
      'many replays',
      (id: string) => `/replays/new?q=id%3A${id}&from=2020-01-01T00%3A00%3A00Z&to=2030-01-01T00%3A00%3A00Z`,
      'Type 1 to confirm',
      'Send 1 request',
    ],
    ['a purge', () => '/settings/purges?q=body%3Anothing&to=1h', 'Reason', 'Delete permanently'],
    ['the deletion of a project', () => '/settings', 'Type shop to confirm', 'Delete project'],
  ])('stay open in the form for %s while the user is signed out', async (what, pathFor, field, button) => {
    const name = `forms-${what.replaceAll(' ', '-')}`;
    const person = await createPerson(cluster, namespace, { name, role: 'standin-edit' });
    await kubectl(
      `create rolebinding ${name}-purge --clusterrole=standin-purge --serviceaccount=${namespace}:${name} -n ${namespace}`,
    );
    const { id } = await insert(namespace);
    const page = await open(person, `/p/${namespace}/shop${pathFor(id)}`);
    if (button === 'Delete project') await page.getByRole('button', { name: 'Delete project…' }).click();
    const input = page.getByLabel(field, { exact: true });
    await input.fill('1');
    const submit = page.getByRole('button', { name: button, exact: true });
    const message = page.getByText(/^Not (sent|created|deleted)\. You are signed out\. Sign in in another tab\./);
    await page.context().clearCookies();
    await submit.click();
    await message.waitFor();
    // A reload of the page's data does not replace the form either.
    await page.evaluate('window.__remixRouter.revalidate()');
    await expect.poll(() => page.evaluate('window.__remixRouter.state.revalidation')).toBe('idle');
    expect(await input.inputValue()).toBe('1');
    const tab = await page.context().newPage();
    await signIn(tab, `${dashboard.url}/projects`, person);
    await submit.click();
    // The server rejects the input or redirects.
    await message.waitFor({ state: 'detached' });
    await closePage(page);
  });

  /** Returns the lines about reads that the dashboard has written after `from` lines of output. */
  const readsSince = (from: number): readonly Record<string, unknown>[] =>
    dashboard.process
      .log()
      .slice(from)
      .flatMap((line) => (line.includes('"stage":"audit"') ? [JSON.parse(line) as Record<string, unknown>] : []));

  it('record who read them, through pages and the API alike, without captured data', async () => {
    const secret = 'hunter2-of-the-caller';
    const { id } = await insert(namespace, {
      requestBody: Buffer.from(`{"password":"${secret}"}`),
      requestHeaders: [['x-token', secret]],
    });
    const start = dashboard.process.log().length;
    const q = `path:"/\\n{\\"user\\":\\"root\\"}\u2028" OR method:POST OR path:"${'y'.repeat(1_500)}"`;
    const query = `?q=${encodeURIComponent(q)}&from=2026-01-01T00:00:00Z`;
    const list = await requests(namespace, viewer.token, query);
    expect(list.body).toContain(secret);
    await requests(namespace, viewer.token, `/${id}`);
    const page = await open(viewer, `/p/${namespace}/shop/traffic?q=method%3APOST&sel=${id}`);
    await page.getByText(secret).first().waitFor();
    const lines = await eventually('the line about the stream', () => Promise.resolve(readsSince(start)), {
      accept: (found) => found.some(({ read }) => read === 'stream'),
    });
    await closePage(page);
    const uid = await cluster.kubectl(['get', 'mpr', 'shop', '-n', namespace, '-o', 'jsonpath={.metadata.uid}']);
    const who = {
      user: viewer.user,
      namespace,
      project: 'shop',
      projectUid: uid.stdout,
      level: 'info',
      msg: 'log read',
    };
    const [listed, got] = lines;
    expect(listed).toMatchObject({ ...who, via: 'api', read: 'list', from: '2026-01-01T00:00:00Z' });
    expect(String(listed?.['filter'])).toMatch(/method:POST OR path:y+/);
    expect(got).toMatchObject({ ...who, via: 'api', read: 'request', requests: [id] });
    const viaPages = lines.filter(({ via }) => via === 'page');
    expect(viaPages).toContainEqual(expect.objectContaining({ ...who, read: 'list', filter: 'method:POST' }));
    expect(viaPages).toContainEqual(expect.objectContaining({ ...who, read: 'request', requests: [id] }));
    expect(viaPages.filter(({ read }) => read === 'stream')).toHaveLength(1);
    const text = dashboard.process.log().slice(start).join('\n');
    expect(text).not.toContain(secret);
    expect(text).not.toMatch(/^\{"user":"root"\}/m);
    expect(text).not.toContain('\u2028');
    for (const line of lines) expect(JSON.stringify(line).length).toBeLessThan(4_000);
  });

  it('are not readable with only the permission to read the project', async () => {
    const onlooker = await createPerson(cluster, namespace, { name: 'onlooker' });
    const create = [
      'create',
      'role',
      'onlooker',
      '--verb=get,list,watch',
      '--resource=mockprojects.standin.dev',
      '-n',
      namespace,
    ];
    await cluster.kubectl(create);
    await kubectl(`create rolebinding onlooker --role=onlooker --serviceaccount=${namespace}:onlooker -n ${namespace}`);
    const refused = await requests(namespace, onlooker.token);
    expect(refused.status).toBe(403);
    expect(refused.body).toContain('mockprojects/logs');
    const isRefusal = ({ msg, user }: Record<string, unknown>): boolean =>
      msg === 'log read refused' && user === onlooker.user;
    const line = await dashboard.process.waitForEvent('the line about the refused read', isRefusal);
    expect(line).toMatchObject({ level: 'warn', stage: 'audit', via: 'api', namespace, project: 'shop' });
    const page = await open(onlooker);
    await page.getByRole('link', { name: `Shop of ${namespace}` }).waitFor();
    await page.getByText('no permission').first().waitFor();
    await closePage(page);
  });
});

describe('a token that is no longer accepted', () => {
  it('redirects to the login page and keeps the return path', async () => {
    const page = await passing;
    const isAsked = async (): Promise<boolean> => {
      await page.goto(`${dashboard.url}/p/${namespace}/shop/settings`);
      return new URL(page.url()).pathname === '/login';
    };
    await eventually('the login page', isAsked, { timeoutMs: 30_000 });
    await page.getByText('no longer accepts your token').waitFor();
    expect(new URL(page.url()).searchParams.get('to')).toBe(`/p/${namespace}/shop/settings`);
    await closePage(page);
  });
});

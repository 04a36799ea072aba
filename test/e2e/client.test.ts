import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  connect,
  matchers,
  type CreatedProject,
  type EndpointManifest,
  type Standin,
  type StandinMatchers,
} from '../../cli/client/index.ts';
import { runCommand } from '../cluster/run-command.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { ROOT, startDev, type DevRun } from './dev-stand.ts';

declare module 'vitest' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- as vitest's documentation asks
  interface Matchers<R> extends StandinMatchers<R> {}
}
expect.extend(matchers);

const mock = (name: string, slug: string): EndpointManifest => ({
  metadata: { name },
  spec: { displayName: name, slug, method: 'POST', action: 'JSON', json: { status: 201, body: '{"id": 1}' } },
});
const endpoints = [mock('create-order', '/v1/orders'), mock('create-refund', '/v1/refunds')];

let dev: DevRun;
let standin: Standin;

beforeAll(async () => {
  dev = await startDev();
  standin = await connect({ data: dev.data });
});
afterAll(() => dev.process.kill());

const post = (project: CreatedProject, slug: string, body = '{}'): Promise<number> =>
  fetch(`${project.url}${slug}`, { method: 'POST', headers: { 'x-api-key': project.apiKey }, body }).then(
    ({ status }) => status,
  );

const create = async (): Promise<CreatedProject> => {
  const project = await standin.createProject({ endpoints });
  onTestFinished(() => project.delete());
  return project;
};

/** Lists the names of all objects of a kind. */
const names = async (kind: 'projects' | 'endpoints'): Promise<readonly string[]> => {
  const { api } = JSON.parse(await readFile(path.join(dev.data, 'running.json'), 'utf8')) as {
    readonly api: { readonly url: string; readonly token: string };
  };
  const response = await fetch(`${api.url}/api/v1/${kind}`, { headers: { authorization: `Bearer ${api.token}` } });
  const { items } = (await response.json()) as { readonly items: readonly { readonly name: string }[] };
  return items.map(({ name }) => name);
};

/** Returns the message with which an expectation fails. */
const failure = async (expectation: Promise<unknown>): Promise<string> => {
  const error: unknown = await expectation.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error('the expectation holds');
  return error.message;
};

describe('a project for each test', () => {
  test('responds when it is created, and has only its own requests', async () => {
    const [one, other] = await Promise.all([create(), create()]);
    expect(await post(one, '/v1/orders')).toBe(201);
    expect(await post(other, '/v1/refunds')).toBe(201);
    await expect(one).toHaveReceivedOnly(['path:/v1/orders']);
    await expect(other).toHaveReceivedOnly(['path:/v1/refunds']);
    expect(await one.count()).toBe(1);
    const [request] = await one.wait('method:POST');
    expect(request?.path).toBe('/v1/orders');
    expect(await one.requests('method:GET')).toEqual([]);
    // The directory is the user's.
    expect(await readdir(dev.manifests)).not.toContainEqual(expect.stringContaining(one.name));
  });

  test('can be deleted with its requests', async () => {
    const project = await standin.createProject({ endpoints });
    await post(project, '/v1/orders');
    await expect(project).toHaveReceived('path:/v1/orders');
    await project.delete({ requests: true });
    const removed = standin.project('default', project.name);
    await expect(removed.count()).rejects.toMatchObject({ code: 'project_not_found' });
    await expect.poll(() => post(project, '/v1/orders')).toBe(404);
  });

  test('is not created in part', async () => {
    const invalid = { ...mock('bad', 'no-slash') };
    const error: unknown = await standin.createProject({ endpoints: [...endpoints, invalid] }).catch(String);
    expect(error).toContain('endpoints.2.spec.slug');
    expect(await names('endpoints')).not.toContainEqual(expect.stringMatching(/-bad$/));
    expect(await names('projects')).toEqual(['shop']);
  });
});

describe('the matchers', () => {
  test('hold for what was received', async () => {
    const project = await create();
    await post(project, '/v1/orders', '{"total": 1}');
    await post(project, '/v1/refunds');
    await expect(project).toHaveReceived('path:/v1/orders body:"\\"total\\": 1"', { times: 1 });
    await expect(project).not.toHaveReceived('method:DELETE');
    await expect(project).not.toHaveReceived('path:/v1/orders', { times: 2 });
    await expect(project).toHaveReceivedInOrder(['path:/v1/orders', 'path:/v1/refunds']);
    await expect(project).not.toHaveReceivedInOrder(['path:/v1/refunds', 'path:/v1/orders']);
    await expect(project).toHaveReceivedOnly(['path:/v1/*']);
  });

  test('fail with the terms that the nearest requests do not meet', async () => {
    const project = await create();
    await post(project, '/v1/orders', '{"total": 1}');
    expect(await failure(expect(project).toHaveReceived('path:/v1/orders body:total-2'))).toMatch(
      /^path:\/v1\/orders body:total-2: expected at least 1, found 0\n {2}nearest:\n {4}POST \/v1\/orders {2}201 .*\n {6}does not meet body:total-2$/,
    );
    expect(await failure(expect(project).not.toHaveReceived('method:POST'))).toMatch(
      /^method:POST: expected none, found 1\n {2}found:\n {4}POST \/v1\/orders {2}201 /,
    );
  });

  test('wait for requests that arrive later', async () => {
    const project = await create();
    const later = delay(200).then(() => post(project, '/v1/orders'));
    await expect(project).toHaveReceived('path:/v1/orders', { timeout: '10s' });
    await later;
  });
});

const CLIENT = path.join(ROOT, 'cli/client/index.ts');

/** A test file with a project of its own. */
const testFile = (slug: string, matcher: string): string => `
import { connect, matchers } from '${CLIENT}';
expect.extend(matchers);
const mock = { slug: '${slug}', method: 'POST', displayName: 'Mock', action: 'JSON', json: { status: 201, body: '{}' } };
let project;
beforeAll(async () => {
  const standin = await connect({ data: '${dev.data}' });
  project = await standin.createProject({ endpoints: [{ metadata: { name: 'mock' }, spec: mock }] });
  console.log('created ' + project.name);
});
afterAll(() => project.delete());
test('a call', async () => {
  const headers = { 'x-api-key': project.apiKey };
  await fetch(project.url + '${slug}', { method: 'POST', headers, body: '{}' });
  ${matcher}
}, 60_000);
`;

const runVitest = (folder: string, ...args: readonly string[]) =>
  runCommand(
    process.execPath,
    [path.join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder, '--globals', ...args],
    { cwd: folder, timeoutMs: 100_000 },
  );

test('test files of vitest run side by side, and print why one fails', async () => {
  const folder = await createTempFolder('client');
  const holds = `await expect(project).toHaveReceivedOnly(['path:/a'])`;
  const fails = `await expect(project).toHaveReceived('path:/b method:PUT')`;
  await writeFile(path.join(folder, 'a.test.js'), testFile('/a', holds));
  await writeFile(path.join(folder, 'b.test.js'), testFile('/b', fails));
  const { code, stdout, stderr } = await runVitest(folder);
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringMatching(/1 failed.*1 passed/) as string });
  expect(stderr).toContain('path:/b method:PUT: expected at least 1, found 0');
  expect(stderr).toContain('does not meet method:PUT');
});

test('a run that is killed does not affect the next one, and leaves nothing after a restart', async () => {
  const folder = await createTempFolder('client');
  await writeFile(path.join(folder, 'k.test.js'), testFile('/k', `process.kill(process.pid, 'SIGKILL')`));
  await runVitest(folder, '--pool', 'forks');
  expect(await names('projects')).toEqual(['shop', expect.stringMatching(/^test-/)]);
  await writeFile(
    path.join(folder, 'k.test.js'),
    testFile('/k', `await expect(project).toHaveReceivedOnly(['path:/k'])`),
  );
  expect(await runVitest(folder)).toMatchObject({ code: 0 });
  await dev.process.kill();
  dev = await startDev({ folders: dev });
  standin = await connect({ data: dev.data });
  expect(await names('projects')).toEqual(['shop']);
});

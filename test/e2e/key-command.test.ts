import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { ask, readDocument, violations, type ApiAnswer, type OpenApi } from './api-stand.ts';
import { startDashboard, type DashboardRun } from './dashboard-stand.ts';
import { call, newFolders, standin } from './dev-stand.ts';

/** Tests `standin key regenerate` and the JSON API that it uses, with a directory of manifests. */

let dev: DashboardRun;
let document: OpenApi;
let api: string;

const manifest = (kind: string, name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'standin.dev/v1alpha1', kind, metadata: { name }, spec });

beforeAll(async () => {
  const folders = await newFolders();
  const write = (name: string, text: string): Promise<void> => writeFile(path.join(folders.manifests, name), text);
  await write('own.json', manifest('Account', 'own', { apiKey: { secretName: 'brought' } }));
  await write('broken.json', manifest('Account', 'broken', { plan: 'Gold' }));
  dev = await startDashboard({ folders });
  api = `${dev.dashboard}/api/v1`;
  document = await readDocument(api);
});
afterAll(() => dev.process.kill());

const regenerate = (...args: string[]) => standin(['key', 'regenerate', ...args, '--data', dev.data]);
const account = (name = 'default'): string => `${api}/namespaces/default/accounts/${name}`;
const status = async (apiKey: string): Promise<number> => (await call({ url: dev.url, apiKey }, '/v1/orders')).status;
const keyNow = async (): Promise<string> =>
  (expectAnswer('getApiKey', 200, await ask(`${account()}/key`)) as { apiKey: string }).apiKey;

/** Checks that a response conforms to the OpenAPI document and has this status. */
const expectAnswer = (operation: string, expected: number, answer: ApiAnswer): unknown => {
  const found = { status: answer.status, violations: violations(document, operation, answer) };
  expect(found).toEqual({ status: expected, violations: [] });
  return answer.json;
};

describe('standin key regenerate', () => {
  test('prints only the new key on stdout when the old key no longer works', async () => {
    const old = await keyNow();
    expect(await status(old)).toBe(201);
    const { code, stdout, stderr } = await regenerate('default', '-n', 'default', '--yes');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('No gateway accepts the old key') as string,
    });
    expect(stdout).toMatch(/^standin_\w{49}\n$/);
    expect(await status(old)).toBe(401);
    expect(await status(stdout.trim())).toBe(201);
    expect(stderr).not.toContain(stdout.trim());
  });

  test('prints JSON with --server and -o json', async () => {
    const { code, stdout } = await standin([
      'key',
      'regenerate',
      'default',
      '--server',
      dev.dashboard,
      '-y',
      '-o',
      'json',
    ]);
    expect(code).toBe(0);
    const made = JSON.parse(stdout) as { apiKey: string; regeneration: string };
    expect(made).toMatchObject({ namespace: 'default', account: 'default', acknowledged: '1/1' });
    expect(made.apiKey).toBe(await keyNow());
    const shown = await ask(`${account()}/regenerations/${made.regeneration}`);
    expect(expectAnswer('getKeyRegeneration', 200, shown)).toMatchObject({ status: { phase: 'Completed' } });
  });

  test('changes nothing without confirmation or an unambiguous account', async () => {
    const before = await keyNow();
    expect(await regenerate('default')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('--yes') as string,
    });
    const { code, stderr } = await regenerate('--yes');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('specify an account: ') as string });
    expect((await regenerate('missing', '--yes')).stderr).toContain('you cannot see account missing on');
    expect((await regenerate('missing', '-n', 'default', '--yes')).stderr).toContain('Account missing does not exist');
    expect(await keyNow()).toBe(before);
  });

  test('exits with code 4 if the account has its own Secret', async () => {
    const { code, stdout, stderr } = await regenerate('own', '--yes');
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain('uses its own Secret brought');
  });

  test('exits with code 5 on timeout and prints what it is waiting for', async () => {
    const { code, stdout, stderr } = await regenerate('broken', '--yes', '--timeout', '1s');
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(stderr).toMatch(/not regenerated within 1 s \(Account broken is not valid.*continues/s);
  });

  test('exits with code 3 at the seventh regeneration in an hour, says when the next one is possible, and changes nothing', async () => {
    const shown = () => ask(account());
    const { regenerations } = expectAnswer('getAccount', 200, await shown()) as { regenerations: { left: number } };
    expect(regenerations.left).toBe(4);
    for (let left = regenerations.left; left > 0; left -= 1) {
      const headers = { 'content-type': 'application/json' };
      const created = await ask(`${account()}/regenerations`, { method: 'POST', headers, body: '{}' });
      const { name } = expectAnswer('createKeyRegeneration', 201, created) as { name: string };
      await eventually(`${name} to complete`, () => ask(`${account()}/regenerations/${name}`), {
        accept: ({ json }) => (json as { status: { phase?: string } }).status.phase === 'Completed',
      });
    }
    const sixth = await keyNow();
    const { code, stdout, stderr } = await regenerate('default', '--yes');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    const { regenerations: after } = expectAnswer('getAccount', 200, await shown()) as {
      regenerations: { left: number; resetsAt: string };
    };
    expect(after.left).toBe(0);
    expect(stderr).toContain(`possible at ${after.resetsAt}`);
    expect(await keyNow()).toBe(sixth);
    expect(await status(sixth)).toBe(201);
    const list = expectAnswer('listKeyRegenerations', 200, await ask(`${account()}/regenerations`));
    const phases = (list as { items: { status: { phase: string } }[] }).items.map(({ status: { phase } }) => phase);
    expect(phases.toSorted()).toEqual([...Array<string>(6).fill('Completed'), 'Refused']);
  });
});

test('the API returns 404 with a code for unknown regenerations and keys', async () => {
  expect(expectAnswer('getKeyRegeneration', 404, await ask(`${account()}/regenerations/none`))).toMatchObject({
    code: 'regeneration_not_found',
  });
  expect(expectAnswer('getApiKey', 404, await ask(`${account('own')}/key`))).toMatchObject({ code: 'key_not_found' });
  const accounts = expectAnswer('listAccounts', 200, await ask(`${api}/accounts`));
  expect((accounts as { items: { name: string }[] }).items.map(({ name }) => name)).toEqual([
    'broken',
    'default',
    'own',
  ]);
});

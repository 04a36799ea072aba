import { stat } from 'node:fs/promises';
import path from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRunFile } from '../../cli/src/server/run-file.ts';
import { startDashboard, type DashboardRun } from './dashboard-stand.ts';
import { standin } from './dev-stand.ts';

/** Tests `standin dev --require-token`, which protects the dashboard from other users of the machine. */

let run: DashboardRun;
let token: string;

beforeAll(async () => {
  run = await startDashboard({ args: ['--require-token'] });
  token = run.ready.dashboardToken ?? '';
});
afterAll(async () => {
  await run.process.kill();
});

const ask = async (url: string, headers: Record<string, string> = {}) => {
  const { statusCode, headers: answered, body } = await request(new URL(url, run.dashboard), { headers });
  return { status: statusCode, headers: answered, text: await body.text() };
};

const signedIn = async (): Promise<Record<string, string>> => {
  const { headers } = await ask(`/?token=${token}`);
  return { cookie: String(headers['set-cookie']).split(';')[0] ?? '' };
};

describe('without the token', () => {
  test.for(['/', '/projects', '/p/default/shop', '/p/default/shop/traffic', '/projects.data', '/login', '/nowhere'])(
    'the page %s says where to find the token',
    async (page) => {
      const { status, text } = await ask(page);
      expect(status).toBe(401);
      expect(text).toContain('Open the URL that standin dev printed');
      expect(text).not.toMatch(/shop|standin_/);
    },
  );

  test('the API rejects requests, even with the cookie', async () => {
    for (const headers of [{}, { authorization: 'Bearer guessed' }, await signedIn()]) {
      const { status, text } = await ask('/api/v1/projects', headers);
      expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([401, 'unauthorized']);
    }
  });

  test('probes, static files and public links need no token', async () => {
    expect(await ask('/healthz')).toMatchObject({ status: 200, text: 'ok\n' });
    expect(await ask('/favicon.svg')).toMatchObject({ status: 200 });
    expect((await ask(`/s/${'a'.repeat(43)}`)).status).toBe(404);
  });

  test('an invalid token is reported', async () => {
    const { status, text } = await ask('/?token=guessed');
    expect([status, text]).toEqual([403, expect.stringContaining('Invalid token.')]);
  });
});

describe('with the token', () => {
  test('the printed URL opens the dashboard and redirects to a URL without the token', async () => {
    const { status, headers } = await ask(`/projects?token=${token}`);
    expect([status, headers['location']]).toEqual([303, '/projects']);
    expect(String(headers['set-cookie'])).toMatch(/SameSite=Strict; HttpOnly$/);
    expect(await ask('/projects', await signedIn())).toMatchObject({ status: 200 });
  });

  test('programs can use the API, and commands read the token from a file that only its owner can read', async () => {
    expect(await ask('/api/v1/projects', { authorization: `Bearer ${token}` })).toMatchObject({ status: 200 });
    expect((await readRunFile(run.data))?.api?.token).toBe(token);
    expect((await stat(path.join(run.data, 'running.json'))).mode & 0o777).toBe(0o600);
    expect(await standin(['usage', '--data', run.data])).toMatchObject({ code: 0 });
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { ask, readDocument, violations } from './api-stand.ts';
import { startDashboard, type DashboardRun } from './dashboard-stand.ts';
import { call, standin } from './dev-stand.ts';

/** Tests `standin expect` against `standin dev`, as a user types the command. */

let dev: DashboardRun;

beforeAll(async () => {
  dev = await startDashboard();
});
afterAll(() => dev.process.kill());

const expectRequests = (...args: string[]) => standin(['expect', ...args, '-p', 'shop', '--data', dev.data]);
const send = (body: string) => call(dev, '/v1/orders', { body });

describe('standin expect', () => {
  test('is met as soon as enough requests have arrived, and prints their ids', async () => {
    const api = `${dev.dashboard}/api/v1`;
    const url = `${api}/namespaces/default/projects/shop/expectations`;
    const pending = expectRequests('method:POST body:refund-1', '--min', '2', '--deadline', '5m', '-o', 'json');
    await eventually('the expectation', () => ask(url), {
      accept: ({ json }) => (json as { items: unknown[] }).items.length > 0,
      timeoutMs: 60_000,
    });
    await send('refund-1');
    await send('refund-1 again');
    const { code, stdout } = await pending;
    expect(code).toBe(0);
    const done = JSON.parse(stdout) as { expectation: string; requestIds: string[] };
    expect(done).toMatchObject({ phase: 'Met', matched: 2 });
    expect(done.requestIds).toHaveLength(2);
    const document = await readDocument(api);
    const shown = await ask(`${url}/${done.expectation}`);
    expect(violations(document, 'getExpectation', shown)).toEqual([]);
    expect(shown.json).toMatchObject({ spec: { count: { min: 2 } }, status: { requestIds: done.requestIds } });
    expect(violations(document, 'listExpectations', await ask(url))).toEqual([]);
  });

  test('that none arrives is not met if one did, even before the command', async () => {
    await send('email-1');
    const { code, stdout } = await expectRequests('body:email-1', '--max', '0', '--from', '1m', '--deadline', '1s');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Unmet: /);
    const never = ['expect', 'body:email-2', '-p', 'shop', '--max', '0', '--deadline', '1s', '--server', dev.dashboard];
    expect(await standin(never)).toMatchObject({ code: 0 });
  });

  test('shows which conditions of the search the nearest request does not meet', async () => {
    await send('payment-1');
    const args = ['--from', '1m', '--deadline', '1s'];
    const { code, stdout } = await expectRequests('method:POST path:/v1/orders body:payment-2', ...args);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ {2}[0-9a-f-]{36} does not meet body:payment-2$/m);
  });

  test.each([
    [['path:/a status:many'], 'A status has a form like'],
    [['path:/a', '--deadline', '0s'], 'deadline: must be between 1s and 12h'],
    [['path:/a', '--deadline', '8760h'], 'deadline: must be between 1s and 12h'],
    [['path:/a', '--min', '2', '--max', '1'], 'must not be less than min'],
    [['path:/a', '--min', 'one'], 'must be a number from 0 to'],
    [['path:/a', '-n', 'nowhere'], 'there is no project "shop" in namespace nowhere'],
    [[], "missing required argument 'SEARCH'"],
  ])('%j ends with 2 and says why', async (args, message) => {
    const { code, stdout, stderr } = await expectRequests(...args);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message) as string,
    });
  });
});

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ServerError, type ApiClient, type ApiRequest } from './api-client.ts';
import { openApi } from './connect.ts';
import { chooseProject, findRequest, missingProject, withProjectNames } from './projects.ts';
import { writeRunFile } from './run-file.ts';

const SHOP = { namespace: 'default', name: 'shop' };
const BILLING = { namespace: 'default', name: 'billing' };

describe('the error for a missing project', () => {
  it.each([
    [
      'others exist',
      { project: 'nope' },
      [SHOP, BILLING],
      'there is no project "nope"; available projects: billing, shop',
    ],
    [
      'it is in another namespace',
      { namespace: 'team-a', project: 'shop' },
      [SHOP],
      'there is no project "shop" in namespace team-a; available projects: default/shop',
    ],
    [
      'the others are in several namespaces',
      { project: 'nope' },
      [SHOP, { namespace: 'team-a', name: 'shop' }],
      'there is no project "nope"; available projects: default/shop, team-a/shop',
    ],
    ['none exist', { project: 'nope' }, [], 'there is no project "nope"; no projects are available'],
    [
      'the name contains control characters',
      { project: 'a\u001b[2J' },
      [],
      'there is no project "a\\u001b[2J"; no projects are available',
    ],
  ])('names the existing projects: %s', (_, wanted, known, message) => {
    expect(missingProject(known, wanted)?.message).toBe(message);
  });

  it.each([[{ project: 'shop' }], [{ namespace: 'default', project: 'shop' }]])('is undefined for %j', (wanted) => {
    expect(missingProject([SHOP], wanted)).toBeUndefined();
  });

  it('names the first ten of many projects', () => {
    const many = Array.from({ length: 11 }, (_, n) => ({
      namespace: 'default',
      name: `p${String(n).padStart(2, '0')}`,
    }));
    expect(missingProject(many, { project: 'nope' })?.message).toMatch(/: p00, .*p09, …$/);
  });
});

/** Simulates a `standin dev` with the project shop. It responds with this status to all requests except `/healthz`, which gets 200. */
const openLocal = async (status = 200): Promise<ApiClient> => {
  const server = createServer(({ url }, response) => {
    response.writeHead(url === '/healthz' ? 200 : status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ items: [SHOP] }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-known-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeRunFile(folder, {
    pid: 1,
    clickhouse: { url: 'http://localhost:1', username: 'default', password: '' },
    gateway: 'http://localhost:1',
    api: { url: `http://localhost:${(server.address() as AddressInfo).port}`, hasPages: true },
  });
  return openApi({ data: folder });
};

describe('a request to standin dev for a project', () => {
  const MISSING = new ServerError('There is no project nope.', { status: 404, code: 'project_not_found' });

  it('fails with the names of the existing projects', async () => {
    const api = await openLocal();
    await expect(withProjectNames(api, { project: 'nope' }, Promise.reject(MISSING))).rejects.toThrow(
      'there is no project "nope"; available projects: shop',
    );
  });

  it('succeeds if the project exists', async () => {
    const work = Promise.resolve('its log');
    await expect(withProjectNames(await openLocal(), { project: 'shop' }, work)).resolves.toBe('its log');
  });

  it('succeeds if the project has captured rows but no manifest', async () => {
    const work = Promise.resolve('its log');
    await expect(withProjectNames(await openLocal(), { project: 'nope' }, work)).resolves.toBe('its log');
  });

  it('fails with the original error if the projects cannot be listed', async () => {
    const api = await openLocal(500);
    await expect(withProjectNames(api, { project: 'nope' }, Promise.reject(MISSING))).rejects.toBe(MISSING);
  });

  it('passes any other error on unchanged', async () => {
    const other = new ServerError('The log is unavailable.', { status: 503, code: 'log_unavailable' });
    const api = await openLocal();
    await expect(withProjectNames(api, { project: 'nope' }, Promise.reject(other))).rejects.toBe(other);
  });
});

describe('a request that is looked up in all projects', () => {
  const REFUSALS = { shop: { status: 404, code: 'request_not_found' }, billing: { status: 403, code: 'forbidden' } };
  /** Creates an API with these projects, none of which has the request. */
  const apiWithProjects = (...names: readonly (keyof typeof REFUSALS)[]): ApiClient => {
    const items = names.map((name) => ({ namespace: 'default', name }));
    const ask = ({ path: asked }: ApiRequest) => {
      const name = names.find((one) => asked.includes(`/projects/${one}/`));
      return name === undefined ? Promise.resolve({ items }) : Promise.reject(new ServerError('no', REFUSALS[name]));
    };
    return { ask } as unknown as ApiClient;
  };

  it('is not found if no project has it', async () => {
    expect(await findRequest(apiWithProjects('shop'), 'id-1')).toBeUndefined();
  });

  it('is only looked up in the given project', async () => {
    expect(await findRequest(apiWithProjects('shop', 'billing'), 'id-1', { project: 'shop' })).toBeUndefined();
  });

  it('is only looked up in the given namespace', async () => {
    const asked: ApiRequest[] = [];
    const ask = (request: ApiRequest) => {
      asked.push(request);
      return Promise.resolve({ items: [] });
    };
    const api = { ask } as unknown as ApiClient;
    expect(await findRequest(api, 'id-1', { namespace: 'team-a' })).toBeUndefined();
    expect(asked).toEqual([{ path: '/projects', query: { namespace: 'team-a' } }]);
  });

  it('fails with the names of the projects whose logs the user cannot read', async () => {
    await expect(findRequest(apiWithProjects('shop', 'billing'), 'id-1')).rejects.toThrow(
      'there is no request id-1 in the logs that you can read; you do not have permission to read the log of default/billing',
    );
  });
});

describe('a project that is not visible', () => {
  const ask = () => Promise.resolve({ items: [] });
  const api = { ask, server: 'mocks.example.com' } as unknown as ApiClient;

  it.each([
    [{}, 'you cannot see any project on mocks.example.com'],
    [{ namespace: 'team-a' }, 'you cannot see any project in namespace team-a on mocks.example.com'],
    [{ project: 'shop' }, 'you cannot see project shop on mocks.example.com'],
  ])('is reported with its name and namespace: %j', async (choice, message) => {
    await expect(chooseProject(api, choice)).rejects.toThrow(message);
  });
});

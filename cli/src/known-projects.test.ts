import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeRunFile } from './server/run-file.ts';
import { checkProject, missingProject } from './known-projects.ts';

const SHOP = { namespace: 'default', name: 'shop' };
const BILLING = { namespace: 'default', name: 'billing' };
const noRows = () => Promise.resolve(false);

describe('a project that is not there', () => {
  it.each([
    ['there are others', { project: 'nope' }, [SHOP, BILLING], 'there is no project "nope"; there are: billing, shop'],
    [
      'it is in another namespace',
      { namespace: 'team-a', project: 'shop' },
      [SHOP],
      'there is no project "shop" in the namespace team-a; there is: default/shop',
    ],
    [
      'the others are in several namespaces',
      { project: 'nope' },
      [SHOP, { namespace: 'team-a', name: 'shop' }],
      'there is no project "nope"; there are: default/shop, team-a/shop',
    ],
    ['there is none', { project: 'nope' }, [], 'there is no project "nope"; there is none'],
    [
      'its name has what a terminal acts on',
      { project: 'a\u001b[2J' },
      [],
      'there is no project "a\\u001b[2J"; there is none',
    ],
  ])('is said where %s', (_, wanted, known, message) => {
    expect(missingProject(known, wanted)?.message).toBe(message);
  });

  it.each([[{ project: 'shop' }], [{ namespace: 'default', project: 'shop' }]])('is none of %j', (wanted) => {
    expect(missingProject([SHOP], wanted)).toBeUndefined();
  });

  it('is shown with the first ten of many', () => {
    const many = Array.from({ length: 11 }, (_, n) => ({
      namespace: 'default',
      name: `p${String(n).padStart(2, '0')}`,
    }));
    expect(missingProject(many, { project: 'nope' })?.message).toMatch(/: p00, .*p09, …$/);
  });
});

describe('the projects of a data folder', () => {
  const newFolder = async (): Promise<string> => {
    const folder = await mkdtemp(path.join(tmpdir(), 'standin-known-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    return folder;
  };
  const run = {
    pid: 1,
    clickhouse: { url: 'http://localhost:1', username: 'default', password: '' },
    gateway: 'http://localhost:1',
    from: 'cluster',
  } as const;

  it('are not known where it was used with no directory, or its file cannot be read', async () => {
    const folder = await newFolder();
    await expect(checkProject(folder, { project: 'nope' }, noRows)).resolves.toBeUndefined();
    await mkdir(path.join(folder, 'state'));
    await writeFile(path.join(folder, 'state/objects.json'), '{"version": 2}');
    await expect(checkProject(folder, { project: 'nope' }, noRows)).resolves.toBeUndefined();
  });

  it("are the cluster's, as the dashboard tells them", async () => {
    const folder = await newFolder();
    await writeRunFile(folder, run);
    await expect(checkProject(folder, { project: 'nope' }, noRows)).resolves.toBeUndefined();

    const server = createServer((_, response) => response.end(JSON.stringify({ items: [SHOP] }))).listen(
      0,
      '127.0.0.1',
    );
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    await writeRunFile(folder, { ...run, dashboard: `http://localhost:${(server.address() as AddressInfo).port}` });
    await expect(checkProject(folder, { project: 'nope' }, noRows)).rejects.toThrow('there is: shop');
    await expect(checkProject(folder, { project: 'shop' }, noRows)).resolves.toBeUndefined();
    await expect(checkProject(folder, { project: 'nope' }, () => Promise.resolve(true))).resolves.toBeUndefined();
  });
});

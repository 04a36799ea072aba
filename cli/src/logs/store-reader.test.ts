import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LogEntry, LogSummary } from '@standin/exchange';
import { EVERY_PROJECT, type LogFilter } from '@standin/logstore';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { writeRunFile } from '../server/run-file.ts';
import { allEntries, checkNames } from './store-reader.ts';

const NO_ROWS = { project: () => Promise.resolve(false), endpoint: () => Promise.resolve(false) };
const RUN = {
  pid: 1,
  clickhouse: { url: 'http://localhost:1', username: 'default', password: '' },
  gateway: 'http://localhost:1',
} as const;

let folder: string;
const writeState = async (state: object): Promise<void> => {
  await mkdir(path.join(folder, 'state'));
  await writeFile(path.join(folder, 'state/objects.json'), JSON.stringify(state));
};

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'standin-known-'));
  onTestFinished(() => rm(folder, { recursive: true }));
});

describe('the projects and endpoints of a data folder', () => {
  it('are unknown if the folder was used without a directory', async () => {
    await expect(checkNames(folder, { project: 'nope' }, NO_ROWS)).resolves.toBeUndefined();
  });

  it('are unknown if their file cannot be read', async () => {
    await writeState({ version: 2 });
    await expect(checkNames(folder, { project: 'nope' }, NO_ROWS)).resolves.toBeUndefined();
  });

  describe('after it was used with a directory', () => {
    beforeEach(async () => {
      const lastFirstSeen = '2026-11-21T07:00:00Z';
      const seen = { firstSeen: lastFirstSeen, generation: 1, specSha256: '', objectSha256: '', resourceVersion: 1 };
      await writeState({
        version: 1,
        resourceVersion: 1,
        lastFirstSeen,
        gone: {},
        objects: { 'Project/default/shop': seen, 'Endpoint/default/create-order': seen },
      });
    });

    it('are those in the directory', async () => {
      await expect(checkNames(folder, { project: 'shop' }, NO_ROWS)).resolves.toBeUndefined();
      await expect(checkNames(folder, { namespace: 'default', project: 'shop' }, NO_ROWS)).resolves.toBeUndefined();
      await expect(checkNames(folder, { project: 'nope' }, NO_ROWS)).rejects.toThrow(
        'there is no project "nope"; available projects: shop',
      );
    });

    it('are those in the directory: endpoints', async () => {
      await expect(checkNames(folder, { endpoint: 'create-order' }, NO_ROWS)).resolves.toBeUndefined();
      await expect(checkNames(folder, { project: 'shop', endpoint: 'nope' }, NO_ROWS)).rejects.toThrow(
        'there is no endpoint "nope"; available endpoints: create-order',
      );
    });

    it('include a project or an endpoint that has captured rows but no manifest', async () => {
      const hasRows = { project: () => Promise.resolve(true), endpoint: () => Promise.resolve(true) };
      await expect(checkNames(folder, { project: 'nope' }, hasRows)).resolves.toBeUndefined();
      await expect(checkNames(folder, { project: 'shop', endpoint: 'nope' }, hasRows)).resolves.toBeUndefined();
    });

    it('are unknown if the last standin dev used a cluster, with or without a dashboard', async () => {
      await writeRunFile(folder, { ...RUN, from: 'cluster' });
      await expect(checkNames(folder, { project: 'nope' }, NO_ROWS)).resolves.toBeUndefined();
      await writeRunFile(folder, { ...RUN, from: 'cluster', api: { url: 'http://localhost:1', hasPages: false } });
      await expect(checkNames(folder, { project: 'nope' }, NO_ROWS)).resolves.toBeUndefined();
    });
  });
});

it.each([0, 1, 1_000, 2_500])('reads all of %i entries, a page at a time', async (count) => {
  const rows = Array.from({ length: count }, (_, index) => ({ id: String(index) }) as LogSummary);
  const store = {
    summaries: ({ after, limit }: LogFilter) => {
      const start = after === undefined ? 0 : Number(after.id) + 1;
      return Promise.resolve(rows.slice(start, start + limit));
    },
    entries: async function* (page: readonly LogSummary[]) {
      for (const { id } of page) yield await Promise.resolve({ id } as LogEntry);
    },
  };
  const read: string[] = [];
  for await (const { id } of allEntries(store, { projectUid: EVERY_PROJECT })) read.push(id);
  expect(read).toEqual(rows.map(({ id }) => id));
});

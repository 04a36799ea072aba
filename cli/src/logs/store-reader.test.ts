import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { writeRunFile } from '../server/run-file.ts';
import { knownProjects } from './store-reader.ts';

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-known-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};

it('knows no projects where the folder was used with no directory, or its file cannot be read', async () => {
  const folder = await newFolder();
  expect(await knownProjects(folder)).toBeUndefined();
  await mkdir(path.join(folder, 'state'));
  await writeFile(path.join(folder, 'state/objects.json'), '{"version": 2}');
  expect(await knownProjects(folder)).toBeUndefined();
});

it('knows the projects of a directory, and not those of a cluster that standin dev used since', async () => {
  const folder = await newFolder();
  const seen = {
    firstSeen: '2026-11-21T07:00:00Z',
    generation: 1,
    specSha256: '',
    objectSha256: '',
    resourceVersion: 1,
  };
  const objects = { 'Project/default/shop': seen };
  const state = { version: 1, resourceVersion: 1, lastFirstSeen: seen.firstSeen, objects, gone: {} };
  await mkdir(path.join(folder, 'state'));
  await writeFile(path.join(folder, 'state/objects.json'), JSON.stringify(state));
  expect(await knownProjects(folder)).toEqual([{ namespace: 'default', name: 'shop' }]);
  await writeRunFile(folder, {
    pid: 1,
    clickhouse: { url: 'http://localhost:1', username: 'default', password: '' },
    gateway: 'http://localhost:1',
    from: 'cluster',
  });
  expect(await knownProjects(folder)).toBeUndefined();
});

import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { encodeRow, LOG_COLUMNS } from '@standin/logstore';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { testRow } from '../record/spool/spool.testing.ts';
import { Quarantine, readQuarantine } from './quarantine.ts';

let dir: string;
let folder: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'standin-quarantine-'));
  folder = path.join(dir, 'quarantine');
});
afterEach(() => rm(dir, { recursive: true }));

/** Adds a row, and returns the path of its files without their ending. */
const add = async (row: string): Promise<string> => {
  const before = await readdir(folder).catch((): string[] => []);
  await new Quarantine(dir).addRow({ row: Buffer.from(row), columnCount: 1, reason: row });
  const added = (await readdir(folder)).find((name) => name.endsWith('.bin') && !before.includes(name));
  return path.join(folder, (added ?? '').replace(/\.bin$/, ''));
};
const brokenBytes = async (): Promise<string> => {
  const file = await add('broken');
  await rm(`${file}.bin`);
  await mkdir(`${file}.bin`);
  return file;
};
const brokenDescription = async (change: (file: string) => Promise<unknown>): Promise<string> => {
  const file = await add('broken');
  await change(`${file}.json`);
  return file;
};

test.each([
  ['bytes cannot be read', brokenBytes, { kind: 'row', reason: 'broken', bytes: undefined, problem: /EISDIR/ }],
  [
    'description is missing',
    () => brokenDescription(rm),
    { kind: 'damage', bytes: 6, problem: /^cannot read the description: .*ENOENT/ },
  ],
  [
    'description is cut',
    () => brokenDescription((file) => writeFile(file, '{"kind": "ro')),
    { kind: 'damage', bytes: 6, problem: /^cannot read the description: / },
  ],
  [
    'description is of another program',
    () => brokenDescription((file) => writeFile(file, '{"kind": "other"}')),
    { kind: 'damage', bytes: 6, problem: /^cannot read the description: / },
  ],
] as const)(
  'an entry whose %s is listed with the problem, and the others are listed, too',
  async (_, make, expected) => {
    await add('first');
    const file = `${await make()}.bin`;
    await add('last');
    const all = await readQuarantine(dir);
    expect(all.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['first', 'last']));
    expect(all).toHaveLength(3);
    const { problem, ...known } = expected;
    expect(all.find((one) => one.file === file)).toMatchObject({
      ...known,
      problem: expect.stringMatching(problem) as string,
    });
  },
);

test('a folder without a quarantine has no entries', async () => {
  expect(await readQuarantine(dir)).toEqual([]);
});

test('a row of another version is listed as bytes, because its columns may differ', async () => {
  const quarantine = new Quarantine(dir);
  const [same, another] = [testRow(), testRow()];
  await quarantine.addRow({ row: encodeRow(same), columnCount: LOG_COLUMNS.length, reason: 'same' });
  await quarantine.addRow({ row: encodeRow(another), columnCount: LOG_COLUMNS.length - 1, reason: 'another' });
  const found = await readQuarantine(dir);
  expect(new Map(found.map(({ reason, row }) => [reason, row?.id]))).toEqual(
    new Map([
      ['same', same.id],
      ['another', undefined],
    ]),
  );
});

import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONFIG_KINDS } from '@standin/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FolderReader } from './folder-reader.ts';
import { ManifestFolder, type Fingerprint } from './manifest-folder.ts';

/** A folder where something happens to each file after a scan has found its name, and before the scan looks at the file. */
class MovingFolder extends ManifestFolder {
  onLook: ((file: string) => Promise<void>) | undefined;

  override async fingerprint(file: string): Promise<Fingerprint | undefined> {
    await this.onLook?.(file);
    return super.fingerprint(file);
  }
}

let dir: string;
let folder: MovingFolder;
let reader: FolderReader;
let reported: string[][];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'folder-reader-'));
  folder = new MovingFolder(dir, undefined);
  reported = [];
  reader = new FolderReader(folder, {
    kinds: CONFIG_KINDS,
    onDesired: ({ objects }) => reported.push([...objects.values()].map(({ where }) => where)),
    onError: (error) => {
      throw error;
    },
  });
  await writeFile(
    join(dir, 'a.yaml'),
    'apiVersion: standin.dev/v1alpha1\nkind: Endpoint\nmetadata:\n  name: a\nspec:\n  slug: /a\n',
  );
  await reader.check();
});
afterEach(async () => {
  reader.stop();
  await rm(dir, { recursive: true });
});

it('keeps the objects of a file that is renamed during a scan, before the file system reports it', async () => {
  folder.onLook = async (file) => {
    folder.onLook = undefined;
    await rename(join(dir, file), join(dir, 'b.yaml'));
  };
  await reader.check();
  expect(reported).toEqual([['a.yaml:1']]);
  await vi.waitFor(() => expect(reported).toEqual([['a.yaml:1'], ['b.yaml:1']]));
});

it('removes the objects of a file that is removed during a scan', async () => {
  folder.onLook = async (file) => {
    folder.onLook = undefined;
    await rm(join(dir, file));
  };
  await reader.check();
  await vi.waitFor(() => expect(reported).toEqual([['a.yaml:1'], []]));
});

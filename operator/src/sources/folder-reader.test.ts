import { renameSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONFIG_KINDS } from '@standin/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FolderReader } from './folder-reader.ts';
import { ManifestFolder, type Fingerprint, type FolderScan } from './manifest-folder.ts';

/** A folder where something happens during a scan. */
class MovingFolder extends ManifestFolder {
  /** Called after a scan has found the name of a file, and before the scan looks at the file. */
  onLook: ((file: string) => Promise<void>) | undefined;
  /** Called before a scan enters a folder. */
  onEnter: ((folder: string) => void) | undefined;
  /** Called when a scan has seen all files. */
  onEnd: (() => Promise<void>) | undefined;

  override ignores(path: string): boolean {
    this.onEnter?.(path);
    return super.ignores(path);
  }

  override async scan(): Promise<FolderScan> {
    const scan = await super.scan();
    await this.onEnd?.();
    return scan;
  }

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

it('keeps the objects of a file that is moved to a folder which a slow scan has already left', async () => {
  await rename(join(dir, 'a.yaml'), join(dir, 'moved'));
  await Promise.all(['one', 'other'].map((name) => mkdir(join(dir, name))));
  const [left = '', next = ''] = (await readdir(dir)).filter((name) => name !== 'moved');
  const [from, to] = [`${next}/a.yaml`, `${left}/a.yaml`];
  await rename(join(dir, 'moved'), join(dir, from));
  await reader.check();
  folder.onEnter = (path) => {
    if (path !== next) return;
    folder.onEnter = undefined;
    renameSync(join(dir, from), join(dir, to));
    for (const file of [from, to]) reader.note(file);
  };
  folder.onEnd = async () => {
    folder.onEnd = undefined;
    // Longer than a file must be unchanged before it is read.
    await new Promise((resolve) => setTimeout(resolve, 100));
  };
  await reader.check();
  await vi.waitFor(() => expect(reported).toEqual([['a.yaml:1'], [`${from}:1`], [`${to}:1`]]));
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from './suite/source-files.ts';

/** What these tests read of an entry of package-lock.json. */
interface LockEntry {
  readonly link?: true;
  readonly inBundle?: true;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Folder from the checkout's root → what is installed there. */
const entries = Object.entries(
  (JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, LockEntry> })
    .packages,
);
const folders = new Set(entries.map(([folder]) => folder));

/** The package's folder as Node finds it from `from`, in the nearest node_modules. */
const folderOf = (name: string, from: string): string | undefined => {
  const parent = path.posix.dirname(from);
  const folder = path.posix.join(from, 'node_modules', name);
  if (folders.has(folder)) return folder;
  return from === '.' || from === '' ? undefined : folderOf(name, parent);
};

describe('package-lock.json', () => {
  const fromRegistry = entries.filter(([folder, { link }]) => folder.includes('node_modules/') && link !== true);

  // Prevents: an entry that was typed in, for which npm installs whatever the registry sends.
  test('has the hash of every package', () => {
    expect(fromRegistry.length).toBeGreaterThan(1_000);
    // A bundled package is part of its parent's archive, whose hash covers it.
    const unverified = fromRegistry.filter(([, entry]) => entry.integrity === undefined && entry.inBundle !== true);
    expect(unverified.map(([folder]) => folder)).toEqual([]);
    const weak = fromRegistry.filter(([, { integrity }]) => integrity !== undefined && !/^sha512-/.test(integrity));
    expect(weak.map(([folder]) => folder)).toEqual([]);
  });

  // Prevents: a lockfile that sends every checkout to the mirror of the machine that wrote it.
  test('has no download address', () => {
    expect(fromRegistry.filter(([, { resolved }]) => resolved !== undefined).map(([folder]) => folder)).toEqual([]);
  });

  // Prevents: an installation that lacks a native build on every platform but the one that wrote the lockfile.
  test('has every package that another one names, also those for other platforms', () => {
    const missing = entries.flatMap(([folder, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => folderOf(name, folder) === undefined)
        .map((name) => `${folder} names ${name}`),
    );
    // The registry that resolved the lockfile has chdb's library for this platform only. `standin dev` and the engine's image need
    // it, and do not run elsewhere until these three are added.
    expect(missing).toEqual(
      ['darwin-arm64', 'darwin-x64', 'linux-arm64-gnu'].map((name) => `node_modules/chdb names @chdb/lib-${name}`),
    );
  });
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from './suite/source-files.ts';

type Versions = Readonly<Record<string, string>>;

/** The fields of a package-lock.json entry that these tests read. */
interface LockEntry {
  readonly link?: true;
  readonly inBundle?: true;
  /** For a link, the folder of the workspace. */
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dependencies?: Versions;
  readonly optionalDependencies?: Versions;
  readonly devDependencies?: Versions;
  readonly peerDependencies?: Versions;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** Maps each folder, relative to the checkout, to its entry. */
const lock = new Map(
  Object.entries(
    (JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, LockEntry> })
      .packages,
  ),
);

/**
 * Returns the folder of the package that Node loads when a file in `from` imports `name`. It is in the nearest `node_modules` that
 * contains the package. For a link, returns the workspace's folder. Returns undefined if the lockfile contains no such package.
 */
const installedFolder = (name: string, from: string): string | undefined => {
  const folder = path.posix.join(from, 'node_modules', name);
  const entry = lock.get(folder);
  if (entry !== undefined) return entry.link === true ? entry.resolved : folder;
  return from === '' || from === '.' ? undefined : installedFolder(name, path.posix.dirname(from));
};

const fromRegistry = [...lock].filter(([folder, { link }]) => folder.includes('node_modules/') && link !== true);
const workspaces = [...lock].filter(([folder]) => !folder.includes('node_modules/'));

describe('package-lock.json', () => {
  // For an entry without a hash, npm would install whatever the registry sends.
  test('has the hash of every package', () => {
    expect(fromRegistry.length).toBeGreaterThan(1_000);
    // The hash of an archive covers its bundled packages.
    const own = fromRegistry.filter(([, { inBundle }]) => inBundle !== true);
    expect(own.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-')).map(([folder]) => folder)).toEqual(
      [],
    );
  });

  // With download URLs, every checkout would download from the mirror of the machine that wrote the lockfile.
  test('has no download URLs', () => {
    expect(fromRegistry.filter(([, { resolved }]) => resolved !== undefined).map(([folder]) => folder)).toEqual([]);
  });

  // Without this test, native builds could be missing on all platforms except the one that wrote the lockfile.
  test('has every dependency of every package, including those for other platforms', () => {
    const missing = [...lock].flatMap(([folder, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => installedFolder(name, folder) === undefined)
        .map((name) => `${folder} names ${name}`),
    );
    // The registry that resolved the lockfile has the chdb library for Linux x64 only. `standin dev` and the engine image need the
    // library, and do not run on other platforms until the packages for them are added.
    expect(missing).toEqual(
      ['darwin-arm64', 'darwin-x64', 'linux-arm64-gnu'].map((name) => `node_modules/chdb names @chdb/lib-${name}`),
    );
  });
});

/**
 * Returns the folders of all packages in an installation of this workspace without dev dependencies, and the workspace's own
 * folder.
 */
const productionPackages = (folder: string, found = new Set<string>()): ReadonlySet<string> => {
  found.add(folder);
  const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta } = lock.get(folder) ?? {};
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta?.[name]?.optional !== true);
  for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
    const next = installedFolder(name, folder);
    if (next !== undefined && !found.has(next)) productionPackages(next, found);
  }
  return found;
};

// Without this test, a process with tenants' keys could contain a test server or a bundler, because a dependency was declared in
// the wrong place.
describe.for(['cli', 'operator', 'gateway', 'dashboard', 'packages/engine'])(
  'the production packages of %s',
  (folder) => {
    const names = [...productionPackages(folder)].map((found) => found.replace(/^.*node_modules\//, ''));

    test('include all declared dependencies and no development tools', () => {
      const declared = Object.keys(lock.get(folder)?.dependencies ?? {}).filter((name) => !/^@standin\//.test(name));
      expect(names).toEqual(expect.arrayContaining(declared));
      const production = new Set(workspaces.flatMap(([, { dependencies }]) => Object.keys(dependencies ?? {})));
      const development = workspaces
        .flatMap(([, { devDependencies }]) => Object.keys(devDependencies ?? {}))
        // Type packages contain no code. The Kubernetes client declares some of them as dependencies. The tests read the conformance
        // suite in a dependency of @bufbuild/cel.
        .filter((name) => !production.has(name) && !name.startsWith('@types/') && name !== '@bufbuild/cel-spec');
      expect(development).toEqual(
        expect.arrayContaining(['vitest', 'vite', 'eslint', 'testcontainers', 'oidc-provider']),
      );
      expect(names.filter((name) => development.includes(name))).toEqual([]);
    });
  },
);

import { describe, expect, it } from 'vitest';
import { selectTests } from './changed.ts';

/** A checkout in small: the path and the text of each file. */
const FILES: Readonly<Record<string, string>> = {
  'package.json': '{ "scripts": { "bench": "node test/bench/main.ts" } }',
  'vitest.config.ts': "export default { setupFiles: ['test/harness/setup.ts'], include: ['docs/**/*.test.ts'] };",
  'knip.config.ts': "export default { entry: ['gateway/src/main.ts'] };",
  Dockerfile: 'COPY . .',
  'packages/contract/package.json':
    '{ "name": "@standin/contract", "exports": { ".": "./src/index.ts", "./mark": "./src/mark.ts" } }',
  'packages/contract/src/index.ts': "export * from './limits.ts'; export type { Port } from './port.ts';",
  'packages/contract/src/limits.ts': '',
  'packages/contract/src/port.ts': '',
  'packages/contract/src/mark.ts': '',
  'gateway/src/main.ts': "import { LIMITS } from '@standin/contract'; console.log('see docs/guides/install.md');",
  'gateway/src/match.ts': "import '@standin/contract/mark';",
  'gateway/src/match.test.ts': "import './match.ts';",
  'gateway/schema.sql': '',
  'crds/manifests/endpoint.yaml': '',
  'crds/testdata/refused/unknown.yaml': '',
  'docs/guides/install.md': '',
  'docs/guides/gitops.md': '',
  'docs/guides/sharing.md': '',
  'test/bench/main.ts': "import '@standin/contract/mark';",
  'test/cluster/images.ts': "read(path.join(ROOT, 'Dockerfile'));",
  'test/cluster/program/main.go': '',
  'test/cluster/go-program.ts': "export const PROGRAM = path.join(import.meta.dirname, 'program');",
  'test/suite/source-files.ts': '',
  'test/harness/setup.ts': '',
  'test/docs.test.ts': "import './suite/source-files.ts';",
  'test/e2e/images.test.ts': "import '../cluster/images.ts';",
  'test/e2e/gateway.test.ts': "startProcess({ main: 'gateway/src/main.ts' });",
  'test/e2e/cluster.test.ts': "import '../cluster/go-program.ts'; apply(path.join(ROOT, 'crds', 'manifests'));",
  'test/e2e/refused.test.ts': 'read(`${ROOT}/crds/testdata/refused/${name}.yaml`);',
  'test/e2e/install.test.ts': "read(path.join(FOLDER, '../../gitops.md')); read('docs/guides/install.md');",
};
const files = Object.entries(FILES).map(([path, text]) => ({ path, text }));
const all = Object.keys(FILES).filter((file) => file.endsWith('.test.ts'));

/** Returns the names of the selected tests, without the test that reads every file. */
const selected = (...changed: string[]): readonly string[] => {
  const tests = [...selectTests(changed, files, new Set([...Object.keys(FILES), ...changed])).keys()];
  return tests.filter((file) => file !== 'test/docs.test.ts').map((file) => file.replace(/.*\/|\.test\.ts$/g, ''));
};

describe('npm test -- --changed', () => {
  it.each([
    { what: 'a module', changed: 'gateway/src/match.ts', tests: ['match', 'images'] },
    {
      what: 'a module of a process that a test starts',
      changed: 'packages/contract/src/limits.ts',
      tests: ['images', 'gateway'],
    },
    {
      what: 'a module with its own entry in a package',
      changed: 'packages/contract/src/mark.ts',
      tests: ['match', 'images'],
    },
    { what: 'a module of which only types are imported', changed: 'packages/contract/src/port.ts', tests: ['images'] },
    {
      what: 'a manifest in a folder that a test names',
      changed: 'crds/manifests/endpoint.yaml',
      tests: ['cluster'],
    },
    { what: 'a file whose name a test composes', changed: 'crds/testdata/refused/unknown.yaml', tests: ['refused'] },
    { what: 'a source in another language', changed: 'test/cluster/program/main.go', tests: ['cluster'] },
    { what: 'a page that a test names', changed: 'docs/guides/install.md', tests: ['install'] },
    { what: 'a page of which a test has the name', changed: 'docs/guides/gitops.md', tests: ['install'] },
    { what: 'any other page', changed: 'docs/guides/sharing.md', tests: [] },
    { what: 'a test', changed: 'gateway/src/match.test.ts', tests: ['match'] },
    { what: 'a command that no test runs', changed: 'test/bench/main.ts', tests: [] },
    { what: 'the configuration of a static check', changed: 'knip.config.ts', tests: [] },
    { what: 'a deleted manifest', changed: 'crds/manifests/deleted.yaml', tests: ['cluster'] },
  ])('selects the tests that can depend on $what', ({ changed, tests }) => {
    expect(selected(changed).toSorted()).toEqual(tests.toSorted());
  });

  it('selects everything that uses a workspace if nothing names the changed file', () => {
    expect(selected('gateway/schema.sql').toSorted()).toEqual(['gateway', 'images', 'match']);
  });

  it.each(['vitest.config.ts', 'test/harness/setup.ts', 'package.json', 'package-lock.json', '.npmrc'])(
    'selects all tests for %s',
    (changed) => {
      expect([...selectTests([changed], files, new Set([...Object.keys(FILES), changed])).keys()]).toEqual(all);
    },
  );

  it('selects tests that read all files for any change, and no tests without a change', () => {
    expect([...selectTests(['docs/guides/sharing.md'], files, new Set(Object.keys(FILES)))]).toEqual([
      ['test/docs.test.ts', ['docs/guides/sharing.md', 'test/suite/source-files.ts', 'test/docs.test.ts']],
    ]);
    expect(selectTests([], files, new Set(Object.keys(FILES))).size).toBe(0);
  });
});

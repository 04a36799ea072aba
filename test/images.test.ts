import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { ROOT } from './suite/source-files.ts';

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const workspace = JSON.parse(read('package.json')) as {
  version: string;
  workspaces: string[];
  devDependencies: Record<string, string>;
};

describe('the Dockerfile', () => {
  const dockerfile = read('Dockerfile');

  // Prevents: images that run on a different Node than the tests.
  test('builds on the Node that the tests run on', () => {
    const [, version] = /^ARG NODE_IMAGE=node:([\d.]+)-bookworm-slim$/m.exec(dockerfile) ?? [];
    expect(version).toBe(workspace.devDependencies['node']);
  });

  // Prevents: `npm ci` in an image refuses the lockfile because a workspace that it names is missing.
  test('has the manifest of every workspace', () => {
    const copied = [...dockerfile.matchAll(/^COPY (\S+)\/package\.json \1\/$/gm)].map(([, folder]) => folder);
    expect(copied).toEqual(workspace.workspaces);
  });

  // Prevents: a build that works with one builder only, or that names a registry.
  test('is plain: no syntax of BuildKit, no host', () => {
    expect(dockerfile).not.toMatch(/^# syntax=|--mount=|<<-?\s*['"]?EOF|COPY --link|https?:\/\//m);
    const bases = [...dockerfile.matchAll(/^FROM (\S+) AS/gm)].map(([, base]) => base);
    expect(bases.filter((base) => base?.includes('/'))).toEqual([]);
  });
});

// Prevents: a chart that installs an image that does not exist.
test('the chart names the version of the workspace', () => {
  const chart = parse(read('charts/standin/Chart.yaml')) as { appVersion: string };
  expect(chart.appVersion).toBe(workspace.version);
});

// Prevents: a new Go module, or a whole kind of dependency, that stays at its first version.
test('Dependabot watches packages, Go modules, the base image and actions', () => {
  const { updates } = parse(read('.github/dependabot.yml')) as {
    updates: { 'package-ecosystem': string; directory?: string; directories?: string[] }[];
  };
  const watched = updates.flatMap(({ directory, directories = [directory ?? ''], ...update }) =>
    directories.map((folder) => `${update['package-ecosystem']} ${folder}`),
  );
  const modules = globSync('test/cluster/*/go.mod', { cwd: ROOT }).map((file) => `gomod /${path.dirname(file)}`);
  expect(watched.sort()).toEqual([...modules, 'docker /', 'github-actions /', 'npm /'].sort());
});

describe('a workflow', () => {
  const workflows = globSync('.github/workflows/*.yaml', { cwd: ROOT }).map((file) => ({ file, text: read(file) }));
  const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);

  // Prevents: a release that turns out to be broken only when it is made.
  test.for(workflows)('$file runs scripts, builds targets and calls files that are there', ({ text }) => {
    expect(parse(text)).toMatchObject({ jobs: expect.anything() as unknown });
    const run = [...text.matchAll(/npm (?:run )?(\w+)/g)].map(([, script]) => script);
    expect(run.filter((script) => script !== 'ci' && !scripts.includes(script ?? ''))).toEqual([]);
    const targets = [...text.matchAll(/target: (\w+)/g)].map(([, target]) => target);
    expect(targets.filter((target) => !read('Dockerfile').includes(`AS ${target}\n`))).toEqual([]);
    const files = [
      ...text.matchAll(/(?:uses: \.\/|\ssed [^|\n]*? |go-version-file: |"PATH=[^\n]* )(\.?[\w.]+\/[\w./-]+)/g),
    ];
    expect(files.filter(([, file]) => !existsSync(path.join(ROOT, file ?? ''))).map(([, file]) => file)).toEqual([]);
  });

  // Prevents: the owner of an action moves a tag to other code.
  test.for(workflows)('$file names the commit of each action', ({ text }) => {
    const actions = [...text.matchAll(/uses: ([^\n]+)/g)].map(([, action]) => action);
    expect(actions.filter((action) => !/^(\.\/|\S+@[\da-f]{40} # v\d+\.\d+\.\d+$)/.test(action ?? ''))).toEqual([]);
  });

  // Prevents: a fork that pushes to the registry of another owner.
  test.for(workflows)('$file names no registry, only the variables of its repository', ({ text }) => {
    expect(text).not.toMatch(/\b(ghcr|docker|quay|gcr|pkg|ecr|azurecr)\.(io|dev)\b/);
  });

  // Prevents: one step that affects all other steps that run third-party code.
  test.for(workflows)('$file may read, and only its jobs more', ({ text }) => {
    expect(parse(text)).toMatchObject({ permissions: { contents: 'read' } });
  });
});

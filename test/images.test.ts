import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { ROOT } from './suite/source-files.ts';

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
/** The actions that this repository offers. */
const ACTIONS = globSync('.github/actions/*/action.yml', { cwd: ROOT });
const workspace = JSON.parse(read('package.json')) as {
  version: string;
  workspaces: string[];
};
const cli = JSON.parse(read('cli/package.json')) as { devDependencies: Record<string, string> };

describe('the Dockerfile', () => {
  const dockerfile = read('Dockerfile');

  // Without this test, images could run a version of Node that the tests do not cover.
  test('uses the same version of Node as the tests', () => {
    const [, version] = /^ARG NODE_IMAGE=node:([\d.]+)-bookworm-slim$/m.exec(dockerfile) ?? [];
    expect(version).toBe(cli.devDependencies['node']);
  });

  // If a workspace is missing, `npm ci` in an image rejects the lockfile.
  test('copies the package.json of every workspace', () => {
    const copied = [...dockerfile.matchAll(/^COPY (\S+)\/package\.json \1\/$/gm)].map(([, folder]) => folder);
    expect(copied).toEqual(workspace.workspaces);
  });

  // Without this test, the build could work with only one builder, or depend on one registry.
  test('contains no BuildKit syntax, URLs or registry hosts', () => {
    expect(dockerfile).not.toMatch(/^# syntax=|--mount=|<<-?\s*['"]?EOF|COPY --link|https?:\/\//m);
    const bases = [...dockerfile.matchAll(/^FROM (\S+) AS/gm)].map(([, base]) => base);
    expect(bases.filter((base) => base?.includes('/'))).toEqual([]);
  });
});

// If the versions differ, the chart installs an image that does not exist.
test("the chart's app version is the workspace's version", () => {
  const chart = parse(read('charts/standin/Chart.yaml')) as { appVersion: string };
  expect(chart.appVersion).toBe(workspace.version);
});

// Without this test, Dependabot might not watch a new Go module or a whole ecosystem, which would then never be updated.
test('Dependabot watches packages, Go modules, the base image and actions', () => {
  const { updates } = parse(read('.github/dependabot.yml')) as {
    updates: { 'package-ecosystem': string; directory?: string; directories?: string[] }[];
  };
  const watched = updates.flatMap(({ directory, directories = [directory ?? ''], ...update }) =>
    directories.map((folder) => `${update['package-ecosystem']} ${folder}`),
  );
  const modules = globSync('test/cluster/*/go.mod', { cwd: ROOT }).map((file) => `gomod /${path.dirname(file)}`);
  const ownActions = ACTIONS.map((file) => `github-actions /${path.dirname(file)}`);
  expect(watched.sort()).toEqual([...modules, ...ownActions, 'docker /', 'github-actions /', 'npm /'].sort());
});

describe('a workflow', () => {
  const withText = (file: string): { file: string; text: string } => ({ file, text: read(file) });
  const workflows = globSync('.github/workflows/*.yaml', { cwd: ROOT }).map(withText);
  const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);

  // Without this test, an error in a workflow for releases would be found only during a release.
  test.for(workflows)('$file refers only to existing scripts, targets and files', ({ text }) => {
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

  // A tag is not sufficient, because the owner of an action could move it to different code.
  test.for([...workflows, ...ACTIONS.map(withText)])('$file pins each action to a commit', ({ text }) => {
    const actions = [...text.matchAll(/uses: ([^\n]+)/g)].map(([, action]) => action);
    expect(actions.filter((action) => !/^(\.\/|\S+@[\da-f]{40} # v\d+\.\d+\.\d+$)/.test(action ?? ''))).toEqual([]);
  });

  // With a registry host, a fork would push to the registry of the original owner.
  test.for(workflows)('$file contains no registry host', ({ text }) => {
    expect(text).not.toMatch(/\b(ghcr|docker|quay|gcr|pkg|ecr|azurecr)\.(io|dev)\b/);
  });

  // With more permissions, third-party code in one step could get permissions that it does not need.
  test.for(workflows)('$file has only read permissions by default', ({ text }) => {
    expect(parse(text)).toMatchObject({ permissions: { contents: 'read' } });
  });
});

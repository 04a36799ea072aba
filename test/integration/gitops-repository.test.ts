import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { validateManifests } from '@standin/operator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readForeignCrds } from '../cluster/foreign-crds.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import {
  objectNames,
  ofKind,
  type ApplicationSpec,
  type AppProjectSpec,
  type GroupKind,
  type KindSpecs,
} from '../harness/gitops-objects.ts';
import { asList, CHARTS, helm, parseObjects, type RenderedObject } from '../harness/helm.ts';
import { SYSTEM_NAMESPACE } from '../harness/install-standin.ts';

/**
 * Tests docs/guides/gitops/repository with a real API server and the CRDs of Argo CD and Flux. The tests apply the objects in the order
 * and with the permissions of these tools, whose controllers do not run here.
 */

let cluster: OwnCluster;

const CHECKOUT = path.join(import.meta.dirname, '../..');
const REPOSITORY = path.join(CHECKOUT, 'docs/guides/gitops/repository');
const OWN_URL = 'https://git.example.com/platform/standin-gitops.git';
const VALUES = 'platform/standin/values.yaml';
const TEAMS = readdirSync(path.join(REPOSITORY, 'teams')).sort();
const KUSTOMIZATIONS = globSync('**/kustomization.yaml', { cwd: REPOSITORY }).map((file) => path.dirname(file));
/** The steps that a tool applies, in order. flux/ and argocd/ configure the tools. */
const STEPS = ['platform/namespaces', 'the chart', 'platform/accounts', ...TEAMS.map((team) => `teams/${team}`)];

const fileText = (file: string): string => readFileSync(path.join(REPOSITORY, file), 'utf8');

/** Returns the output of `kubectl kustomize` for a folder. */
const build = async (folder: string): Promise<readonly RenderedObject[]> => {
  const { code, stdout, stderr } = await cluster.kubectl(['kustomize', path.join(REPOSITORY, folder)]);
  expect(code, `${folder}: ${stderr}`).toBe(0);
  return parseObjects(stdout);
};
const buildAll = async (folders: readonly string[]) => (await Promise.all(folders.map(build))).flat();

const CHART_ARGS = ['standin', path.join(CHARTS, 'standin'), '-n', SYSTEM_NAMESPACE];
const withValues = [...CHART_ARGS, '--values', path.join(REPOSITORY, VALUES)];
const render = async (): Promise<string> => {
  const { code, stdout, stderr } = await helm(['template', ...withValues]);
  expect(code, stderr).toBe(0);
  return stdout;
};

const apply = (objects: readonly RenderedObject[], ...flags: readonly string[]) =>
  cluster.kubectl(['apply', '--validate=strict', ...flags, '-f', '-'], { input: asList(objects) });
const dryRun = (objects: readonly RenderedObject[]) => apply(objects, '--dry-run=server');
const asDeployer = (team: string) => `--as=system:serviceaccount:flux-system:standin-team-${team}`;

const argoObjects = async () => [...parseObjects(fileText('argocd/root.yaml')), ...(await build('argocd/apps'))];
const fluxObjects = async () => [
  ...parseObjects(fileText('flux/root.yaml')),
  ...(await buildAll(['flux/cluster', 'flux/standin', 'flux/teams'])),
];

beforeAll(async () => {
  cluster = await startCluster();
  // The CRDs are too large for the annotation that `kubectl apply` adds.
  const crds = (await readForeignCrds('gitops')).join('\n---\n');
  const create = await cluster.kubectl(['create', '-f', '-'], { input: crds });
  expect(create.code, create.stderr).toBe(0);
  const namespaces = ['argocd', 'flux-system'];
  await cluster.apply(asList(namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))));
  await established();
});
afterAll(() => cluster.stop());

/**
 * Waits until the CRDs are established. Retries, because kubectl fails on a CRD without a condition instead of waiting for the
 * condition.
 */
const established = () =>
  eventually(
    'the CRDs',
    () => cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']),
    { accept: ({ code }) => code === 0 },
  );

describe('every folder', () => {
  it.for(KUSTOMIZATIONS)('%s builds and includes every file', async (folder) => {
    expect((await build(folder)).length).toBeGreaterThan(0);
    const {
      resources = [],
      configMapGenerator = [],
      configurations = [],
    } = parse(fileText(path.join(folder, 'kustomization.yaml'))) as {
      readonly resources?: readonly string[];
      readonly configMapGenerator?: readonly { readonly files: readonly string[] }[];
      readonly configurations?: readonly string[];
    };
    const used = [...resources, ...configurations, ...configMapGenerator.flatMap(({ files }) => files)];
    const inside = used.filter((name) => !name.startsWith('../')).sort();
    const files = globSync('**/*.yaml', { cwd: path.join(REPOSITORY, folder) });
    expect(inside).toEqual(files.filter((name) => name !== 'kustomization.yaml').sort());
  });

  it('has a kustomization, except files that are applied manually or by the ApplicationSet', () => {
    const roots = new Set(['argocd/root.yaml', 'flux/root.yaml']);
    const folders = globSync('**/*.yaml', { cwd: REPOSITORY })
      .filter((file) => !roots.has(file))
      .map((file) => path.dirname(file));
    expect([...new Set(folders)].filter((folder) => !KUSTOMIZATIONS.includes(folder))).toEqual(['argocd/apps/teams']);
  });
});

describe('the values of the chart', () => {
  it('render deterministically without a Secret, because Argo CD renders without a cluster', async () => {
    const first = await render();
    expect(objectNames(parseObjects(first), 'Secret')).toEqual([]);
    expect(await render()).toBe(first);
  });

  it('refer to Secrets that docs/guides/gitops.md says how to create', async () => {
    const page = readFileSync(path.join(REPOSITORY, '../../gitops.md'), 'utf8');
    const named = [...fileText(VALUES).matchAll(/(?:existingSecret|tlsSecret): (\S+)/g)].map(([, name]) => name);
    const made = [...page.matchAll(/kubectl create secret \S+ (\S+)/g)].map(([, name]) => name);
    expect(made.sort()).toEqual(named.sort());
    const rendered = await render();
    for (const name of named) expect(rendered).toMatch(new RegExp(`(secretName|name): "?${String(name)}\\b`));
  });
});

describe('each step', { retry: 0 }, () => {
  it('is rejected before the steps that it depends on', async () => {
    const chart = await dryRun(parseObjects(await render()));
    expect([chart.code, chart.stderr]).toEqual([
      1,
      expect.stringContaining('namespaces "payments" not found') as string,
    ]);
    for (const folder of STEPS.filter((step) => /^(teams|platform\/accounts)/.test(step))) {
      const { code, stderr } = await dryRun(await build(folder));
      expect([code, stderr], folder).toEqual([1, expect.stringContaining('no matches for kind') as string]);
    }
  });

  it('is accepted in order with strict validation: namespaces, chart, accounts, and each team with its Flux permissions', async () => {
    const accept = async (objects: readonly RenderedObject[], ...flags: readonly string[]): Promise<void> => {
      const { code, stdout, stderr } = await apply(objects, ...flags);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.trim().split('\n')).toHaveLength(objects.length);
    };
    await accept(await build('platform/namespaces'));
    // Applies the rendered chart like Argo CD, in a dry run, then installs the chart like Flux.
    await accept(parseObjects(await render()), '--dry-run=server');
    const install = await helm(['install', ...withValues, '--kubeconfig', cluster.kubeconfigPath]);
    expect(install.code, install.stderr).toBe(0);
    await established();
    await accept(await build('platform/accounts'));
    await accept(await build('flux/teams'));
    for (const team of TEAMS) await accept(await build(`teams/${team}`), '--server-side', asDeployer(team));

    const { stdout } = await cluster.kubectl(['get', 'mac,mpr,mep', '-A', '-o', 'json']);
    const { items } = JSON.parse(stdout) as { items: readonly RenderedObject[] };
    const places = items.map(({ kind, metadata: { namespace, name } }) => `${kind} ${namespace ?? ''}/${name}`);
    expect(places.sort()).toEqual([
      'Account payments/payments',
      'Account search/search',
      'Endpoint payments/authorize',
      'Endpoint payments/decline',
      'Endpoint search/products',
      'Project payments/psp',
      'Project search/catalog',
    ]);
  });

  it.for(['argocd', 'flux'])('%s/ is accepted with strict validation and no warnings', async (flavour) => {
    const objects = await (flavour === 'argocd' ? argoObjects() : fluxObjects());
    const { code, stdout, stderr } = await dryRun(objects);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trim().split('\n')).toHaveLength(objects.length);
    // Proves that the checks above can fail. kubectl reports an unknown field once per kind.
    const theirs = objects.filter(({ apiVersion }) => /argoproj|toolkit/.test(apiVersion));
    const misspelled = theirs.map((object) => ({ ...object, spec: { ...(object['spec'] as object), sorce: {} } }));
    const refused = (await dryRun(misspelled)).stderr.match(/unknown field "sorce"/g);
    expect(refused).toHaveLength(new Set(theirs.map(({ kind }) => kind)).size);
  });

  it('does not let a team change its account, its namespace or objects of another team in Flux', async () => {
    const [own, other] = TEAMS as [string, string];
    const refusedTo = async (objects: readonly RenderedObject[]) =>
      (await apply(objects, '--server-side', asDeployer(own))).stderr;
    expect(await refusedTo(await build(`teams/${other}`))).toMatch(
      /cannot (get|patch) resource "mockprojects".* in the namespace "search"/,
    );
    const accounts = (await build('platform/accounts')).filter(({ metadata }) => metadata.namespace === own);
    expect(accounts).toHaveLength(1);
    expect(await refusedTo(accounts)).toMatch(/cannot (get|patch) resource "mockaccounts"/);
    expect(await refusedTo(await build('platform/namespaces'))).toMatch(/cannot (get|patch) resource "namespaces"/);
    // Flux uses the team's ServiceAccount to delete the objects that the folder no longer contains.
    for (const resource of ['mockprojects', 'mockendpoints']) {
      const can = await cluster.kubectl([
        'auth',
        'can-i',
        'delete',
        `${resource}.standin.dev`,
        '-n',
        own,
        asDeployer(own),
      ]);
      expect(can.stdout.trim()).toBe('yes');
    }
  });
});

describe('Argo CD', () => {
  /** Returns all Applications, including those that the ApplicationSet creates from the existing folders. */
  const applications = async () => {
    const objects = await argoObjects();
    const [set] = ofKind(objects, 'ApplicationSet');
    if (set === undefined) throw new Error('the repository has no ApplicationSet');
    const [{ git }] = set.spec.generators;
    const folders = git.directories.flatMap(({ path: pattern }) => globSync(pattern, { cwd: REPOSITORY }));
    const made = folders.map((folder) => {
      const filled = JSON.stringify(set.spec.template)
        .replaceAll('{{.path.basename}}', path.basename(folder))
        .replaceAll('{{.path.path}}', folder);
      const { metadata, spec } = JSON.parse(filled) as KindSpecs['ApplicationSet']['template'];
      return { name: metadata.name, namespace: 'argocd', spec };
    });
    return [...ofKind(objects, 'Application'), ...made];
  };
  const applicationSources = ({ source, sources = [] }: ApplicationSpec) => (source === undefined ? sources : [source]);
  const projects = async () => ofKind(await argoObjects(), 'AppProject');
  const applicationObjects = async (spec: ApplicationSpec): Promise<readonly RenderedObject[]> => {
    const [source] = applicationSources(spec);
    if (source?.repoURL === OWN_URL) return build(source.path ?? '');
    return parseObjects(await render());
  };

  it('refers to existing paths and applies each step once', async () => {
    const all = await applications();
    const paths = all
      .flatMap(({ spec }) => applicationSources(spec))
      .flatMap(({ repoURL, path: folder, helm: chart }) => {
        const root = repoURL === OWN_URL ? REPOSITORY : CHECKOUT;
        if (folder !== undefined) expect(existsSync(path.join(root, folder)), folder).toBe(true);
        for (const file of chart?.valueFiles ?? []) expect(file).toBe(`$values/${VALUES}`);
        return folder === undefined ? [] : [repoURL === OWN_URL ? folder : 'the chart'];
      });
    expect(paths.sort()).toEqual(['argocd/apps', ...STEPS].sort());
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  });

  it('has a project for each application that allows its repositories and only its objects', async () => {
    const known = new Map((await projects()).map(({ name, spec }) => [name, spec]));
    const { stdout } = await cluster.kubectl(['api-resources', '--namespaced=false', '--no-headers']);
    const clusterKinds = new Set(stdout.split('\n').map((line) => line.trim().split(/\s+/).at(-1)));
    const isAllowed = (project: AppProjectSpec, namespace: string, { apiVersion, kind }: RenderedObject): boolean => {
      const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
      const has = (list: readonly GroupKind[]): boolean =>
        list.some((entry) => entry.group === group && entry.kind === kind);
      if (clusterKinds.has(kind)) return has(project.clusterResourceWhitelist);
      const isDestination = project.destinations.some((entry) => ['*', namespace].includes(entry.namespace));
      return (
        isDestination && (project.namespaceResourceWhitelist === undefined || has(project.namespaceResourceWhitelist))
      );
    };
    const all = (await applications()).filter(({ name }) => name !== 'standin-root');
    for (const { name, spec } of all) {
      const project = known.get(spec.project);
      if (project === undefined) throw new Error(`${name}: no project ${spec.project}`);
      expect(project.sourceRepos).toEqual(
        expect.arrayContaining(applicationSources(spec).map(({ repoURL }) => repoURL)),
      );
      for (const other of all) {
        const isOwn = other.name === name;
        const isTeam = spec.project !== 'standin-platform';
        if (!isOwn && !isTeam) continue;
        const content = await applicationObjects(other.spec);
        const allowed = content.filter((object) =>
          isAllowed(project, object.metadata.namespace ?? other.spec.destination.namespace ?? '', object),
        );
        expect(allowed, `${other.name} by the project of ${name}`).toHaveLength(isOwn ? content.length : 0);
      }
    }
  });

  it('retries applications that depend on others and skips the dry run for missing kinds', async () => {
    for (const { name, spec } of await applications()) {
      const content = await applicationObjects(spec);
      const isAfter = (kinds: RegExp): boolean => content.some(({ apiVersion }) => kinds.test(apiVersion));
      const isLater = !['standin-root', 'standin-namespaces'].includes(name);
      expect((spec.syncPolicy.retry?.limit ?? 0) > 0, name).toBe(isLater);
      const skips = spec.syncPolicy.syncOptions?.includes('SkipDryRunOnMissingResource=true') ?? false;
      expect(skips, name).toBe(isAfter(/^standin\.dev/));
    }
  });
});

describe('Flux', () => {
  const at = (folder: string): string => path.posix.normalize(folder);

  it('refers to existing paths, sources and accounts and applies each step once', async () => {
    const objects = await fluxObjects();
    const kustomizations = ofKind(objects, 'Kustomization');
    const sources = ofKind(objects, 'GitRepository').map(({ namespace, name }) => `${namespace ?? ''}/${name}`);
    for (const { name, namespace, spec } of kustomizations) {
      expect(KUSTOMIZATIONS, name).toContain(at(spec.path));
      expect(sources, name).toContain(`${namespace ?? ''}/${spec.sourceRef.name}`);
      const team = /^teams\/(.*)/.exec(at(spec.path))?.[1];
      const own = team === undefined ? [undefined, undefined] : [`standin-team-${team}`, team];
      expect([spec.serviceAccountName, spec.targetNamespace], name).toEqual(own);
    }
    expect(objectNames(objects, 'ServiceAccount').sort()).toEqual(TEAMS.map((team) => `standin-team-${team}`));
    const driven = kustomizations.map(({ spec }) => at(spec.path)).sort();
    const steps = STEPS.map((step) => (step === 'the chart' ? 'flux/standin' : step));
    expect(driven).toEqual(['flux/cluster', 'flux/teams', ...steps].sort());
  });

  it('waits for each step before the next one', async () => {
    const kustomizations = ofKind(await build('flux/cluster'), 'Kustomization');
    const byName = new Map(kustomizations.map(({ name, spec }) => [name, spec]));
    const chain = (name: string): string[] => {
      const spec = byName.get(name);
      if (spec === undefined) throw new Error(`no Kustomization ${name}`);
      return [...(spec.dependsOn ?? []).flatMap((before) => chain(before.name)), at(spec.path)];
    };
    expect(chain('standin-teams')).toEqual(['platform/namespaces', 'flux/standin', 'platform/accounts', 'flux/teams']);
    const awaited = kustomizations.filter(({ spec }) => spec.wait === true).map(({ spec }) => at(spec.path));
    expect(awaited.sort()).toEqual(['flux/standin', 'platform/accounts', 'platform/namespaces']);
  });

  it('passes the values in a ConfigMap whose name contains their hash', async () => {
    const objects = await build('flux/standin');
    const [release] = ofKind(objects, 'HelmRelease');
    const [values] = objects.filter(({ kind }) => kind === 'ConfigMap');
    expect(values?.['data']).toEqual({ 'values.yaml': fileText(VALUES) });
    expect(values?.metadata.name).toMatch(/^standin-values-[a-z0-9]{10}$/);
    expect(values?.metadata.namespace).toBe(SYSTEM_NAMESPACE);
    expect(release?.spec.valuesFrom).toEqual([{ kind: 'ConfigMap', name: values?.metadata.name }]);
    expect([release?.namespace, release?.spec.releaseName]).toEqual([SYSTEM_NAMESPACE, 'standin']);
    const chart = release?.spec.chart.spec;
    expect(existsSync(path.join(CHECKOUT, chart?.chart ?? 'none', 'Chart.yaml'))).toBe(true);
    expect(objectNames(objects, 'GitRepository')).toEqual([chart?.sourceRef.name]);
  });
});

describe('a team', () => {
  it.for(TEAMS)('%s has its namespace, account, watch, AppProject, Flux Kustomization and owners', async (team) => {
    const { watch } = parse(fileText(VALUES)) as { watch: { namespaces: readonly string[] } };
    expect(objectNames(await build('platform/namespaces'), 'Namespace')).toContain(team);
    expect(watch.namespaces).toContain(team);
    expect(watch.namespaces).toHaveLength(TEAMS.length);
    expect(objectNames(await build('argocd/apps'), 'AppProject')).toContain(`standin-team-${team}`);
    expect(objectNames(await build('flux/teams'), 'Kustomization')).toContain(`standin-team-${team}`);
    expect(fileText('CODEOWNERS')).toMatch(new RegExp(`^/teams/${team} `, 'm'));

    const objects = await build(`teams/${team}`);
    const accounts = (await build('platform/accounts')).filter(({ metadata }) => metadata.namespace === team);
    const projects = ofKind(objects, 'Project');
    for (const { spec } of projects) {
      expect(objectNames(accounts, 'Account')).toContain(spec.accountRef.name);
      expect(spec.uri, 'pinned').toMatch(/-[a-z0-9]{16}$/);
    }
    for (const { spec } of ofKind(objects, 'Endpoint')) {
      expect(objectNames(objects, 'Project')).toContain(spec.projectRef.name);
    }
    expect(new Set(objects.map(({ kind, metadata }) => `${kind} in ${metadata.namespace ?? ''}`))).toEqual(
      new Set([`Project in ${team}`, `Endpoint in ${team}`]),
    );
  });

  it('has manifests with namespaces that pass standin validate', () => {
    const files = globSync('{platform/accounts,teams/*}/*.yaml', { cwd: REPOSITORY })
      .filter((name) => path.basename(name) !== 'kustomization.yaml')
      .map((name) => ({ name, text: fileText(name) }));
    const settings = {
      gatewayUrl: 'https://mocks.example.com',
      checkUpstream: () => undefined,
      quotaByPlan: { Free: 1, Pro: 2 },
      requestsPerSecondByPlan: { Free: undefined, Pro: undefined },
      clusterDomain: 'cluster.local',
      retentionDaysMax: 365,
      retentionDaysMaxByPlan: { Free: undefined, Pro: undefined },
    };
    expect(files.length).toBeGreaterThan(TEAMS.length);
    expect(validateManifests(files, settings)).toEqual([]);
  });
});

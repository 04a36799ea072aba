import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSettings, RESOURCES } from '@standin/contract';
import { parseObject } from '@standin/crds';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHART_COMPONENTS, type ChartComponentName } from '../../charts/generate/settings-values.ts';
import {
  CHART_CASES,
  CHARTS,
  helm,
  parseObjects,
  renderChart,
  valuesFile,
  type RenderedObject,
} from '../harness/helm.ts';
import { renderedDrainJob } from '../harness/drain-job.ts';
import { SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { sourceFiles } from '../suite/source-files.ts';

const ROOT = path.join(CHARTS, '..');
const WORKLOADS = new Set(['Deployment', 'StatefulSet', 'Job']);

interface EnvVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: { readonly optional?: boolean } };
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Container {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: readonly EnvVariable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly securityContext: unknown;
}
interface PodSpec {
  readonly containers: readonly [Container];
  readonly enableServiceLinks: boolean;
  readonly securityContext: unknown;
}

const podSpec = (object: RenderedObject): PodSpec => (object['spec'] as { template: { spec: PodSpec } }).template.spec;
/** Returns the specs of all pods, including those of the Job that the operator creates. */
const podSpecs = (objects: readonly RenderedObject[]): readonly PodSpec[] =>
  [...objects.filter(({ kind }) => WORKLOADS.has(kind)), renderedDrainJob(objects, SYSTEM_NAMESPACE)].map(podSpec);
const isComponent = (name: string): name is ChartComponentName => Object.hasOwn(CHART_COMPONENTS, name);

/** A value that replaces those from a Secret or from the pod's own fields. */
const ANY_SECRET = 'x'.repeat(44);
const containerEnv = ({ env }: Container): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (env ?? []).map(({ name, value, valueFrom }) => [name, valueFrom === undefined ? (value ?? '') : ANY_SECRET]),
  );

describe.for(CHART_CASES)('the chart with %s-values.yaml', (chartCase) => {
  it('passes helm lint --strict without a warning', async () => {
    const { code, stdout } = await helm([
      'lint',
      '--strict',
      path.join(CHARTS, 'standin'),
      '-f',
      valuesFile(chartCase),
    ]);
    expect({ code, messages: stdout.match(/\[(WARNING|ERROR)\].*/g) }).toEqual({ code: 0, messages: null });
  });

  // Shows every effect of a change to the templates, including unintended ones. `npm test -- chart-render -u` rewrites the files.
  it('renders the golden file', async () => {
    const rendered = await renderChart({ chartCase, set: ['crds.enabled=false'] });
    await expect(rendered).toMatchFileSnapshot(path.join(CHARTS, `standin/golden/${chartCase}.yaml`));
  });

  it('gives every process valid settings', async () => {
    const pods = podSpecs(parseObjects(await renderChart({ chartCase, set: ['crds.enabled=false'] })));
    expect(pods.length).toBeGreaterThan(1);
    for (const { containers } of pods) {
      const [container] = containers;
      const names = container.env?.map(({ name }) => name) ?? [];
      expect(
        names.filter((name, index) => names.indexOf(name) !== index),
        container.name,
      ).toEqual([]);
      if (isComponent(container.name)) parseSettings(CHART_COMPONENTS[container.name].schema, containerEnv(container));
    }
  });

  it('runs only files that exist and probes the ports they listen on', async () => {
    const pods = podSpecs(parseObjects(await renderChart({ chartCase, set: ['crds.enabled=false'] })));
    for (const { containers } of pods) {
      const [{ name, command, ports = [], startupProbe, readinessProbe, livenessProbe, ...container }] = containers;
      const [, main = ''] = command.filter((part) => !part.startsWith('--'));
      expect(existsSync(path.join(ROOT, main)), command.join(' ')).toBe(true);
      if (!isComponent(name)) continue;
      const settings = parseSettings(CHART_COMPONENTS[name].schema, containerEnv({ name, command, ...container })) as {
        port?: number;
        admin?: { port: number };
        stream?: { port: number };
      };
      const expected = { http: settings.port, metrics: settings.admin?.port, stream: settings.stream?.port };
      for (const port of ports)
        expect(port.containerPort, port.name).toBe(expected[port.name as keyof typeof expected]);
      const probes = [startupProbe, readinessProbe, livenessProbe].map((probe) => probe?.httpGet);
      const ready = name === 'dashboard' ? '/healthz' : '/readyz';
      const port = name === 'dashboard' ? 'http' : 'metrics';
      expect(probes, name).toEqual(['/healthz', ready, '/healthz'].map((at) => ({ path: at, port })));
    }
  });

  it('gives every pod a restricted security context, a read-only root and no service links', async () => {
    for (const pod of podSpecs(parseObjects(await renderChart({ chartCase, set: ['crds.enabled=false'] })))) {
      // Additional containers have their own security context.
      const [own] = pod.containers;
      expect({ ...pod, containers: [own] }).toMatchObject({
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
          },
        ],
      });
    }
  });
});

describe('values', () => {
  const refusal = async (...set: string[]): Promise<string> =>
    renderChart({ set }).then(
      () => 'accepted',
      (error: unknown) => String(error),
    );

  it.for([
    ['gatway.replicas=2', 'gatway'],
    ['gateway.replica=2', 'replica'],
    ['gateway.settings.limits.requestBodyByte=1024', 'requestBodyByte'],
    ['operator.settings.gatewayUrl=http://x', 'gatewayUrl'],
    ['gateway.settings.apiKeyHeader.name=anycase', 'any-case'],
    ['gateway.settings.limits.connections=0', 'connections'],
    ['egress.allow={10.0.0.0}', 'allow'],
    ['clickhouse.url=clickhouse:8123', 'clickhouse'],
    ['image.digest=latest', 'digest'],
    ['gateway.persistence.enabled=yes', 'enabled'],
    ['egress.allow={999.1.1.1/40}', 'allow'],
    ['egress.refuse={db.example.com}', 'refuse'],
    ['gateway.settings.maxStalenessMs=5', 'maxStalenessMs'],
    ['watch.namespaces={a,a}', 'namespaces'],
    ['watch.namespaces={a} watch.namespaceSelector.matchLabels.serve=yes', 'are mutually exclusive'],
    ['watch.namespaceSelector.matchLabels.serve=a:b', 'serve'],
    [
      'watch.namespaceSelector.matchExpressions[0].key=a watch.namespaceSelector.matchExpressions[0].operator=In',
      "missing property 'values'",
    ],
    ['fullnameOverride=Foo_Bar', 'fullnameOverride'],
    ['networkPolicy.dnsPorts=[]', 'dnsPorts'],
    ['gateway.persistence.size=1Gi', 'so answered requests would be lost'],
    ['gateway.persistence.size=2300M', 'so answered requests would be lost'],
    ['dashboard.settings.oidc.issuer=https://login.example.com', 'requires dashboard.url'],
    ['gateway.autoscaling.enabled=true gateway.autoscaling.minReplicas=11', 'minReplicas is more than maxReplicas'],
  ] as const)('are rejected if they are invalid: %s', async ([value, named]) => {
    expect(await refusal(...value.split(' '))).toContain(named);
  });

  it('are rejected if a required one is missing', async () => {
    expect(await refusal('clickhouse.url=')).toContain(
      "clickhouse.url is required: the URL of ClickHouse's HTTP interface",
    );
    expect(await refusal('gateway.ingress.enabled=true')).toContain('gateway.ingress.host is required');
    expect(await refusal('dashboard.httpRoute.enabled=true')).toContain('dashboard.httpRoute.parentRefs is required');
  });

  it('leave a gateway enough time to drain', async () => {
    const { drainMs, drainTimeoutMs } = CHART_COMPONENTS.gateway.schema.parse({});
    const seconds = Math.ceil((drainMs + 2 * drainTimeoutMs) / 1_000);
    expect(await refusal(`gateway.terminationGracePeriodSeconds=${seconds}`)).toBe('accepted');
    expect(await refusal(`gateway.terminationGracePeriodSeconds=${seconds - 1}`)).toContain('shorter than drainMs');
    const longer = ['gateway.settings.drainMs=60000', 'gateway.terminationGracePeriodSeconds=90'];
    expect(await refusal(...longer)).toContain('shorter than drainMs');
  });

  it('that are settings reach the process unchanged', async () => {
    const objects = parseObjects(
      await renderChart({
        set: [
          ...['gateway.settings.spool.bytes=17179869184', 'gateway.persistence.size=17Gi'],
          ...['egress.allow={10.0.0.0/8,fd00::/8}', 'egress.refuse={db.example.com:5432}'],
        ],
      }),
    );
    const componentEnv = (name: ChartComponentName) =>
      containerEnv(
        podSpecs(objects)
          .map(({ containers }) => containers[0])
          .find((container) => container.name === name) as Container,
      );
    expect(componentEnv('gateway')).toMatchObject({
      STANDIN_SPOOL_BYTES: '17179869184',
      STANDIN_EGRESS_ALLOW: '10.0.0.0/8,fd00::/8',
    });
    expect(componentEnv('operator')).toMatchObject({ STANDIN_EGRESS_ALLOW: '10.0.0.0/8,fd00::/8' });
    const place = 'standin-system.svc.cluster.local';
    const refused = [
      ...[`standin-operator.${place}:9443`, `standin-operator.${place}:9090`, `standin-gateway-pods.${place}:9090`],
      `standin-dashboard-pods.${place}:9090`,
      ...['kubernetes.default.svc.cluster.local:443', 'db.example.com:5432'],
    ];
    for (const component of ['gateway', 'operator'] as const)
      expect(componentEnv(component)).toMatchObject({ STANDIN_EGRESS_REFUSE: refused.join(',') });
  });
});

describe('RBAC', () => {
  const roles = async (chartCase: string): Promise<readonly string[]> =>
    parseObjects(await renderChart({ chartCase, set: ['crds.enabled=false'] }))
      .filter(({ apiVersion }) => apiVersion === 'rbac.authorization.k8s.io/v1')
      .map(
        ({ kind, metadata: { namespace, name } }) => `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
      );

  it('creates only Roles, in the watched namespaces, if watch.namespaces is set', async () => {
    const inTeams = (kind: string) =>
      ['team-a', 'team-b'].flatMap((team) => [
        `${kind} ${team}/standin-dashboard`,
        `${kind} ${team}/standin-operator-resources`,
      ]);
    const own = ['Role standin-system/standin-operator', 'RoleBinding standin-system/standin-operator'];
    expect(new Set(await roles('namespaced'))).toEqual(
      new Set([...inTeams('Role'), ...inTeams('RoleBinding'), ...own]),
    );
  });

  it('gives the operator no permission for Secrets of all namespaces if watch.namespaceSelector is set', async () => {
    const named = await roles('selected');
    for (const team of ['team-a', 'team-b']) expect(named).toContain(`Role ${team}/standin-operator-secrets`);
    const rendered = parseObjects(await renderChart({ chartCase: 'selected', set: ['crds.enabled=false'] }));
    const kindRules = (kind: string) =>
      rendered.filter((object) => object.kind === kind).flatMap(({ rules }) => rules as { resources: string[] }[]);
    expect(kindRules('ClusterRole').flatMap(({ resources }) => resources)).not.toContain('secrets');
    expect(kindRules('ClusterRole').flatMap(({ resources }) => resources)).toContain('namespaces');
  });

  it('passes watch.namespaceSelector to the operator and the dashboard in the syntax of the API', async () => {
    const selector = '"standin.dev/serve=true,team in (payments,search),!example.com/suspended"';
    const rendered = await renderChart({ chartCase: 'selected' });
    expect(rendered.split(`value: ${selector}`)).toHaveLength(3);
  });

  // Ensures that the results of rights.test.ts for Roles also hold for ClusterRoles.
  it('has the same rules for all namespaces and for watched namespaces', async () => {
    const roleRules = async (chartCase: string, wanted: (role: RenderedObject) => boolean): Promise<unknown> =>
      parseObjects(await renderChart({ chartCase, set: ['crds.enabled=false', 'rbac.people.create=false'] }))
        .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
        .filter(wanted)
        .map(({ rules }) => rules);
    const inTeam = await roleRules('namespaced', ({ metadata }) => metadata.namespace !== 'team-b');
    expect(await roleRules('default', () => true)).toEqual(inTeam);
  });

  it('creates no roles if rbac is disabled', async () => {
    expect(await roles('headless')).toEqual([]);
  });

  // Ensures that tests run with the permissions that the chart grants. `npm test -- chart-render -u` rewrites the file.
  it('matches test/harness/rbac.yaml, which all tests use for operator, gateway and dashboard', async () => {
    const only = ['service-accounts', 'operator/rbac', 'dashboard/rbac', 'roles-for-people'];
    const rendered = await renderChart({ only: only.map((name) => `templates/${name}.yaml`) });
    const header = [
      '# What `helm template standin charts/standin` renders, written by `npm test -- chart-render -u`; edit the chart.',
      'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: standin-system\n',
    ].join('\n');
    await expect(header + rendered.replace(/^# Source: .*\n/gm, '')).toMatchFileSnapshot('../harness/rbac.yaml');
  });
});

describe('the CRDs of the charts', () => {
  const withoutPolicy = (object: RenderedObject): unknown => {
    const { annotations = {}, ...metadata } = object.metadata;
    const ours = Object.entries(annotations).filter(([name]) => name !== 'helm.sh/resource-policy');
    return { ...object, metadata: { ...metadata, annotations: Object.fromEntries(ours) } };
  };
  const committed = () =>
    sourceFiles()
      .filter((file) => file.path.startsWith('crds/manifests/'))
      .map(({ text }) => parse(text) as RenderedObject);
  const rendered = async (chart: string, ...args: string[]): Promise<readonly RenderedObject[]> => {
    const { code, stdout, stderr } = await helm(['template', 'standin', path.join(CHARTS, chart), ...args]);
    expect(code, stderr).toBe(0);
    return parseObjects(stdout).filter(({ kind }) => kind === 'CustomResourceDefinition');
  };
  const policies = (objects: readonly RenderedObject[]) =>
    new Set(objects.map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy']));

  it.for([['standin', '-f', valuesFile('default')], ['standin/charts/standin-crds']] as const)(
    'match crds/manifests and are kept on uninstall: %s',
    async ([chart, ...args]) => {
      const objects = await rendered(chart, ...args);
      expect(objects.map(withoutPolicy)).toEqual(committed());
      expect(policies(objects)).toEqual(new Set(['keep']));
    },
  );

  it('are removed with the release if keep is false', async () => {
    expect(policies(await rendered('standin', '-f', valuesFile('default'), '--set', 'crds.keep=false'))).toEqual(
      new Set([undefined]),
    );
    expect(policies(await rendered('standin/charts/standin-crds', '--set', 'keep=false'))).toEqual(
      new Set([undefined]),
    );
  });

  it('are described to Artifact Hub, with examples that are valid', () => {
    const { annotations } = parse(readFileSync(path.join(CHARTS, 'standin/Chart.yaml'), 'utf8')) as {
      annotations: Readonly<Record<string, string>>;
    };
    const described = parse(annotations['artifacthub.io/crds'] ?? '') as { kind: string; name: string }[];
    expect(Object.fromEntries(described.map(({ kind, name }) => [kind, name]))).toEqual(
      Object.fromEntries(Object.entries(RESOURCES).map(([kind, { plural }]) => [kind, `${plural}.standin.dev`])),
    );
    const examples = parse(annotations['artifacthub.io/crdsExamples'] ?? '') as unknown[];
    expect(examples.map((example) => parseObject(example)).filter(({ ok }) => !ok)).toEqual([]);
  });

  it('pass helm lint --strict', async () => {
    const { code, stdout } = await helm(['lint', '--strict', path.join(CHARTS, 'standin/charts/standin-crds')]);
    expect({ code, messages: stdout.match(/\[(WARNING|ERROR)\].*/g) }).toEqual({ code: 0, messages: null });
  });
});

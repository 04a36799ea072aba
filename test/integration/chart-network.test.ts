import { describe, expect, it } from 'vitest';
import { renderedDrainJob } from '../harness/drain-job.ts';
import { CHART_CASES, parseObjects, renderChart, type RenderedObject } from '../harness/helm.ts';
import { SYSTEM_NAMESPACE } from '../harness/install-standin.ts';

/** Compares what the processes call, which their environment names, with what the NetworkPolicies allow. */

type Labels = Readonly<Record<string, string>>;

interface Container {
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
}
interface Pod {
  readonly component: string;
  readonly labels: Labels;
  readonly container: Container;
}

interface Peer {
  readonly podSelector?: { readonly matchLabels?: Labels };
  readonly namespaceSelector?: { readonly matchLabels?: Labels };
  readonly ipBlock?: object;
}
interface Rule {
  readonly ports?: readonly { readonly port: number | string; readonly protocol: string }[] | null;
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
}
interface Policy {
  readonly podSelector: { readonly matchLabels: Labels };
  readonly ingress: readonly Rule[];
  readonly egress: readonly Rule[];
}

const COMPONENT = 'app.kubernetes.io/component';
const WORKLOADS = new Set(['Deployment', 'StatefulSet', 'Job']);

const matches = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

/** The other side of a connection: a pod of this chart, or an address outside the chart, in the cluster or not. */
type Target = { readonly pod: Pod; readonly port: string } | { readonly host: string; readonly port: number };

const isPod = (target: Target): target is Extract<Target, { pod: Pod }> => 'pod' in target;

const allowsPeer = (peers: readonly Peer[] | undefined, other: Pod | undefined): boolean =>
  peers === undefined ||
  peers.some(({ podSelector, namespaceSelector, ipBlock }) => {
    // Addresses outside the chart are those of pods of other namespaces, or outside the cluster. Network plugins disagree about
    // which of the two an address of a node is.
    if (other === undefined) return ipBlock !== undefined;
    if (podSelector !== undefined) return matches(podSelector.matchLabels ?? {}, other.labels);
    return namespaceSelector !== undefined && Object.keys(namespaceSelector.matchLabels ?? {}).length === 0;
  });

const allowsPort = ({ ports }: Rule, target: Target): boolean => {
  if (ports === undefined || ports === null) return true;
  const numbers = isPod(target)
    ? [target.port, target.pod.container.ports?.find(({ name }) => name === target.port)?.containerPort]
    : [target.port];
  return ports.some(({ port, protocol }) => protocol === 'TCP' && numbers.includes(port));
};

/** Returns which side blocks a connection, if one does. */
const blockedBy = (policies: readonly Policy[], from: Pod, target: Target): string | undefined => {
  const of = (pod: Pod) => policies.filter(({ podSelector }) => matches(podSelector.matchLabels, pod.labels));
  const other = isPod(target) ? target.pod : undefined;
  const leaving = of(from);
  const canLeave = leaving.some(({ egress }) =>
    egress.some((rule) => allowsPort(rule, target) && allowsPeer(rule.to, other)),
  );
  if (leaving.length > 0 && !canLeave) return `the egress of ${from.component}`;
  if (other === undefined) return undefined;
  const entering = of(other);
  const canEnter = entering.some(({ ingress }) =>
    ingress.some((rule) => allowsPort(rule, target) && allowsPeer(rule.from, from)),
  );
  return entering.length > 0 && !canEnter ? `the ingress of ${other.component}` : undefined;
};

const renderedPods = (objects: readonly RenderedObject[]): readonly Pod[] =>
  [...objects.filter(({ kind }) => WORKLOADS.has(kind)), renderedDrainJob(objects, SYSTEM_NAMESPACE)].map(
    ({ spec }) => {
      const { metadata, spec: pod } = (
        spec as { template: { metadata: { labels: Labels }; spec: { containers: readonly [Container] } } }
      ).template;
      return { component: metadata.labels[COMPONENT] ?? '', labels: metadata.labels, container: pod.containers[0] };
    },
  );

/** URLs that a process shows, redirects to or recognizes, but does not call. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  operator: ['STANDIN_GATEWAY_URL', 'STANDIN_STREAM_URL'],
  dashboard: ['STANDIN_URL', 'STANDIN_GATEWAY_URL'],
};

/** Returns the URLs that a process calls, with the variables that name them. */
const calledUrls = ({ component, container }: Pod): readonly (readonly [string, URL])[] =>
  (container.env ?? [])
    .filter(({ name }) => SHOWN[component]?.includes(name) !== true)
    .flatMap(({ name, value = '' }) =>
      value.split(',').flatMap((text) => (/^https?:\/\//.test(text) ? [[name, new URL(text)] as const] : [])),
    );

const callTargets = (url: URL, objects: readonly RenderedObject[], pods: readonly Pod[]): readonly Target[] => {
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const [name, namespace] = url.hostname.split('.');
  const service = objects.find(
    ({ kind, metadata }) => kind === 'Service' && metadata.name === name && metadata.namespace === namespace,
  );
  if (service === undefined) return [{ host: url.hostname, port }];
  const { selector, ports } = service['spec'] as {
    selector: Labels;
    ports: readonly { port: number; targetPort: string }[];
  };
  const targetPort = ports.find((one) => one.port === port)?.targetPort;
  expect(targetPort, `the port of ${url.href}`).toBeDefined();
  return pods.filter(({ labels }) => matches(selector, labels)).map((pod) => ({ pod, port: String(targetPort) }));
};

const rendering = async (chartCase: string, set: readonly string[] = []) => {
  const objects = parseObjects(await renderChart({ chartCase, set: ['crds.enabled=false', ...set] }));
  const pods = renderedPods(objects);
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as Policy);
  const blocked = (component: string, target: Target): string | undefined => {
    const [pod] = pods.filter((one) => one.component === component);
    return pod === undefined ? `no ${component}` : blockedBy(policies, pod, target);
  };
  const calls = pods.flatMap((pod) =>
    calledUrls(pod).flatMap(([name, url]) =>
      callTargets(url, objects, pods).map((target) => ({
        call: `${pod.component} ${name} ${isPod(target) ? target.pod.component : target.host}`,
        blocked: blockedBy(policies, pod, target),
      })),
    ),
  );
  return { blocked, calls, objects, pods };
};

const RESTRICTED = ['gatewayFrom', 'dashboardFrom'].map(
  (name) => `networkPolicy.${name}[0].namespaceSelector.matchLabels.team=ingress`,
);

describe.for(CHART_CASES)('the network policies with %s-values.yaml', (chartCase) => {
  it.for([
    ['as they are', []],
    ['with callers restricted to other namespaces', RESTRICTED],
  ] as const)('allow every call that the environment names: %s', async ([, set]) => {
    const { calls, pods } = await rendering(chartCase, set);
    expect(calls.filter(({ blocked }) => blocked !== undefined)).toEqual([]);
    const named = calls.map(({ call }) => call);
    const hasDashboard = pods.some(({ component }) => component === 'dashboard');
    expect(named).toContain('operator STANDIN_REPLAY_GATEWAY_URL gateway');
    for (const component of ['gateway', 'drain', ...(hasDashboard ? ['dashboard'] : [])])
      expect(named).toContain(`${component} STANDIN_OPERATOR_URLS operator`);
    if (hasDashboard) expect(named).toContain('dashboard STANDIN_SEND_GATEWAY_URL gateway');
    for (const { component } of pods.filter((pod) => pod.component !== 'clickhouse'))
      expect(
        named.some((call) => call.startsWith(`${component} STANDIN_CLICKHOUSE_URL `)),
        component,
      ).toBe(true);
  });

  it('allow the API server, and nothing from other pods to the config stream', async () => {
    const { blocked, pods } = await rendering(chartCase);
    const server = { host: 'kubernetes', port: 6443 };
    for (const { component } of pods.filter((pod) => ['operator', 'dashboard'].includes(pod.component)))
      expect(blocked(component, server), component).toBeUndefined();
    if (chartCase === 'headless') return;
    const operator = pods.find(({ component }) => component === 'operator') as Pod;
    expect(blocked('clickhouse', { pod: operator, port: 'stream' })).toBeDefined();
  });
});

describe('the network policies', () => {
  const policies = async (...set: string[]) => {
    const { objects } = await rendering('default', set);
    const found = objects.filter(({ kind }) => kind === 'NetworkPolicy');
    return new Map(found.map(({ metadata: { name }, spec }) => [name, spec as Policy] as const));
  };

  it('also allow egress to pods by selector, which some network plugins require', async () => {
    const all = await policies('clickhouse.migrationsJob.enabled=true');
    for (const component of ['gateway', 'operator', 'drain', 'migrations']) {
      const rules = all.get(`standin-${component}`)?.egress;
      expect(
        rules?.flatMap(({ to = [] }) => to),
        component,
      ).toContainEqual({ namespaceSelector: {} });
    }
  });

  it('have no rule without a peer if no peer is set', async () => {
    const all = await policies('networkPolicy.metricsFrom=null', 'networkPolicy.apiServerPorts=null');
    const open = [...all].flatMap(([name, { ingress, egress }]) =>
      [...ingress, ...egress].filter(({ ports }) => ports === null).map(() => name),
    );
    expect(open).toEqual([]);
    expect(JSON.stringify(all.get('standin-operator')?.ingress)).not.toContain('metrics');
  });

  it('allow an OpenID Connect provider on any port', async () => {
    const oidc = ['dashboard.settings.oidc.issuer=https://login.example.com:8443', 'dashboard.url=https://a.example'];
    const { calls } = await rendering('default', oidc);
    expect(calls).toContainEqual({ call: 'dashboard STANDIN_OIDC_ISSUER login.example.com', blocked: undefined });
  });
});

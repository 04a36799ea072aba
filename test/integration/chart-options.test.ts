import { STREAM_CLIENT_NAME, STREAM_SERVER_NAME } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { parseObjects, renderChart, type RenderedObject } from '../harness/helm.ts';

/** Tests that the chart's objects fit together with each of its major options. */

interface EnvVariable {
  readonly name: string;
  readonly value?: string;
}
interface PodSpec {
  readonly containers: readonly [
    {
      readonly image: string;
      readonly command: readonly string[];
      readonly env?: readonly EnvVariable[];
      readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    },
  ];
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: {
      readonly secretName: string;
      readonly items?: readonly { readonly key: string; readonly path: string }[];
    };
    readonly projected?: {
      readonly sources: readonly {
        readonly secret: {
          readonly name: string;
          readonly items: readonly { readonly key: string; readonly path: string }[];
        };
      }[];
    };
  }[];
}

const NO_CRDS = 'crds.enabled=false';
const EMBEDDED = ['clickhouse.embedded.enabled=true', 'clickhouse.url=', 'clickhouse.existingSecret=', NO_CRDS];

const render = async (...set: string[]): Promise<readonly RenderedObject[]> =>
  parseObjects(await renderChart({ set: [NO_CRDS, ...set] }));
const refusal = (...set: string[]): Promise<string> =>
  render(...set).then(
    () => 'accepted',
    (error: unknown) => String(error),
  );
const named = (objects: readonly RenderedObject[], kind: string, name: string): RenderedObject => {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined) throw new Error(`the chart renders no ${kind} ${name}`);
  return found;
};
const podSpec = ({ spec }: RenderedObject): PodSpec => (spec as { template: { spec: PodSpec } }).template.spec;
const envVariables = (object: RenderedObject): ReadonlyMap<string, EnvVariable> =>
  new Map((podSpec(object).containers[0].env ?? []).map((variable) => [variable.name, variable]));
/**
 * Returns the Secret with the ClickHouse user, and its keys. Checks that the files are mounted where the process reads them, and that
 * the environment does not contain the login.
 */
const mountedClickHouseLogin = (object: RenderedObject) => {
  const [{ volumeMounts }] = podSpec(object).containers;
  const env = envVariables(object);
  const mount = volumeMounts.find(({ name }) => name === 'clickhouse-login');
  expect(env.get('STANDIN_CLICKHOUSE_LOGIN_DIR')?.value).toBe(mount?.mountPath);
  expect([...env.keys()].filter((name) => /CLICKHOUSE_(USERNAME|PASSWORD)/.test(name))).toEqual([]);
  const sources = podSpec(object).volumes.find(({ name }) => name === 'clickhouse-login')?.projected?.sources ?? [];
  const [name, ...others] = new Set(sources.map(({ secret }) => secret.name));
  const secretKey = (file: string) =>
    sources.flatMap(({ secret }) => secret.items).find(({ path: at }) => at === file)?.key;
  expect(others).toEqual([]);
  return name === undefined ? undefined : { name, key: secretKey('password'), username: secretKey('username') };
};
/**
 * Returns the Secret from which the engine's login is mounted, and its keys for the user name and the password. Checks that the
 * engine's arguments and environment do not contain the login.
 */
const engineLogin = (engine: RenderedObject) => {
  const { containers, volumes } = podSpec(engine);
  const [{ command, volumeMounts, env }] = containers;
  expect(JSON.stringify([command, env ?? []])).not.toMatch(/secret|password/i);
  const { secret } = volumes.find(({ name }) => name === 'login') ?? {};
  expect(volumeMounts.find(({ name }) => name === 'login')?.mountPath).toBe(command.at(command.indexOf('--login') + 1));
  const secretKey = (file: string) => secret?.items?.find(({ path }) => path === file)?.key;
  return { secretName: secret?.secretName, username: secretKey('username'), password: secretKey('password') };
};

const WORKLOADS = [
  ['Deployment', 'standin-operator'],
  ['StatefulSet', 'standin-gateway'],
  ['Deployment', 'standin-dashboard'],
] as const;

describe('text that looks like a number or a boolean', () => {
  const TEXT = /^(name|namespace|host|.*ClassName|.*Name|key|app\.kubernetes\.io\/.*)$/;
  const wrong = (value: unknown, path: string): readonly string[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => [
          ...(TEXT.test(key) && typeof inner !== 'object' && typeof inner !== 'string' ? [`${path}.${key}`] : []),
          ...wrong(inner, `${path}.${key}`),
        ])
      : [];

  // These are valid names in Kubernetes.
  it('remains text', async () => {
    const components = ['gateway', 'operator', 'dashboard'].flatMap((name) => [
      ...[`${name}.priorityClassName=true`, `${name}.serviceAccount.name=12`],
    ]);
    const routes = ['gateway', 'dashboard'].flatMap((name) => [
      ...[`${name}.ingress.className=on`, `${name}.ingress.host=*.1e3`, `${name}.ingress.tlsSecret=5`],
    ]);
    const others = ['nameOverride=77', 'gateway.persistence.storageClass=8', 'tls.certManager.issuerRef.name=6'];
    const secrets = [
      'clickhouse.existingSecret=99',
      'clickhouse.passwordKey=1e9',
      'dashboard.session.existingSecret=4',
    ];
    const rendered = await renderChart({
      namespace: '123',
      set: [NO_CRDS, 'gateway.ingress.enabled=true', 'dashboard.ingress.enabled=true', 'tls.certManager.enabled=true'],
      setText: [...components, ...routes, ...others, ...secrets, 'watch.namespaces[0]=1e1'],
    });
    expect(parseObjects(rendered).flatMap((object) => wrong(object, object.kind))).toEqual([]);
  });
});

describe('the embedded ClickHouse', () => {
  it('is used by all components with its own user', async () => {
    const objects = await render(...EMBEDDED);
    const { data } = named(objects, 'Secret', 'standin-clickhouse') as unknown as { data: Record<string, string> };
    expect(Buffer.from(data['password'] ?? '', 'base64').toString()).toMatch(/^[A-Za-z0-9]{32}$/);
    const engine = named(objects, 'StatefulSet', 'standin-clickhouse');
    const wanted = { name: 'standin-clickhouse', key: 'password' };
    expect(engineLogin(engine)).toEqual({ secretName: wanted.name, username: 'username', password: wanted.key });
    for (const [kind, name] of WORKLOADS) {
      const workload = named(objects, kind, name);
      expect(mountedClickHouseLogin(workload), name).toEqual({ ...wanted, username: 'username' });
      expect(envVariables(workload).get('STANDIN_CLICKHOUSE_URL')?.value, name).toBe(
        'http://standin-clickhouse.standin-system.svc.cluster.local:8123',
      );
    }
  });

  it('stores data on its volume, has its own image, and accepts only connections from Standin pods', async () => {
    const objects = await render(...EMBEDDED, 'global.imageRegistry=registry.example.com', 'image.tag=1.2.3');
    const { containers } = podSpec(named(objects, 'StatefulSet', 'standin-clickhouse'));
    const [{ image, command, volumeMounts }] = containers;
    expect(image).toBe('registry.example.com/standin-engine:1.2.3');
    expect(volumeMounts.find(({ name }) => name === 'data')?.mountPath).toBe(command.at(command.indexOf('--data') + 1));
    expect(named(objects, 'NetworkPolicy', 'standin-clickhouse')['spec']).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          from: ['operator', 'gateway', 'dashboard', 'drain'].map((component) => ({
            podSelector: { matchLabels: { 'app.kubernetes.io/component': component } },
          })),
        },
      ],
      egress: [],
    });
  });

  it('can use an existing Secret', async () => {
    const objects = await render(...EMBEDDED, 'clickhouse.existingSecret=mine', 'clickhouse.passwordKey=word');
    expect(engineLogin(named(objects, 'StatefulSet', 'standin-clickhouse'))).toEqual({
      secretName: 'mine',
      username: 'username',
      password: 'word',
    });
    expect(objects.some(({ kind }) => kind === 'Secret')).toBe(false);
  });

  it.for([
    ['clickhouse.url=http://clickhouse:8123', 'clickhouse.url and clickhouse.embedded.enabled are mutually exclusive'],
    ['clickhouse.cluster=main', 'clickhouse.cluster requires your own server'],
    ['clickhouse.migrate=false', 'Set clickhouse.migrate to true'],
    ['clickhouse.migrationsJob.enabled=true', 'Set clickhouse.migrate to true'],
    [
      'gateway.clickhouse.existingSecret=other',
      'gateway.clickhouse.existingSecret: the embedded engine has only one user',
    ],
  ] as const)('rejects %s with a reason', async ([value, reason]) => {
    expect(await refusal(...EMBEDDED, value)).toContain(reason);
  });
});

describe('a ClickHouse server', () => {
  const WITHOUT = 'clickhouse.existingSecret=';
  const OWN = ['operator', 'gateway', 'dashboard'].map((name) => `${name}.clickhouse.existingSecret=${name}-login`);

  it('needs a password or explicit consent to run without one', async () => {
    expect(await refusal(WITHOUT)).toContain(
      'ClickHouse has no password for the operator: set clickhouse.existingSecret',
    );
    expect(await refusal(WITHOUT, ...OWN.slice(0, 2))).toContain('ClickHouse has no password for the dashboard');
    expect(await refusal(WITHOUT, ...OWN.slice(0, 2), 'dashboard.enabled=false')).toBe('accepted');
    expect(await refusal(WITHOUT, ...OWN)).toBe('accepted');
    expect(await refusal(WITHOUT, ...OWN, 'clickhouse.migrationsJob.enabled=true')).toContain('for the migrations');
    expect(await refusal(WITHOUT, 'clickhouse.dangerouslyAllowNoPassword=true')).toBe('accepted');
  });
});

describe('the migration Job', () => {
  const JOB = ['clickhouse.migrationsJob.enabled=true', 'clickhouse.existingSecret=writers'];

  it('runs as a pre-install hook with its own user, and disables other migrations', async () => {
    const objects = await render(...JOB, 'clickhouse.migrationsJob.existingSecret=owner');
    const job = named(objects, 'Job', 'standin-migrations');
    expect(job.metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    expect(podSpec(job).containers[0].command.slice(1)).toEqual(['cli/bin/standin.js', 'admin', 'migrate']);
    expect(mountedClickHouseLogin(job)?.name).toBe('owner');
    for (const [kind, name] of WORKLOADS.slice(0, 2)) {
      const workload = named(objects, kind, name);
      expect(mountedClickHouseLogin(workload)?.name).toBe('writers');
      expect(envVariables(workload).get('STANDIN_CLICKHOUSE_MIGRATE')?.value, name).toBe('false');
    }
  });

  // The Job runs before Helm creates the chart's other objects, so it cannot use them.
  it('does not refer to objects of the chart', async () => {
    const job = named(await render(...JOB), 'Job', 'standin-migrations');
    expect(job['spec']).toMatchObject({
      template: { spec: { serviceAccountName: 'default', volumes: [{ name: 'clickhouse-login' }, { name: 'tmp' }] } },
    });
  });
});

describe('cert-manager certificates', () => {
  const certificateSpec = (objects: readonly RenderedObject[], name: string) =>
    named(objects, 'Certificate', name)['spec'] as {
      readonly commonName: string;
      readonly dnsNames: readonly string[];
      readonly secretName: string;
      readonly usages: readonly string[];
      readonly issuerRef: { readonly name: string; readonly kind: string };
    };

  it('contain the names that operator and gateways verify, and are mounted in their pods', async () => {
    const objects = await render('tls.certManager.enabled=true', 'fullnameOverride=mocks');
    const sides = [
      { side: 'operator', kind: 'Deployment', name: STREAM_SERVER_NAME, usage: 'server auth' },
      { side: 'gateway', kind: 'StatefulSet', name: STREAM_CLIENT_NAME, usage: 'client auth' },
    ];
    for (const { side, kind, name, usage } of sides) {
      const { commonName, dnsNames, secretName, usages, issuerRef } = certificateSpec(objects, `mocks-${side}-tls`);
      expect({ commonName, dnsNames, usages }).toEqual({
        commonName: name,
        dnsNames: [name],
        usages: ['digital signature', usage],
      });
      expect(named(objects, 'Issuer', issuerRef.name)['spec']).toEqual({ ca: { secretName: 'mocks-stream-ca' } });
      const workload = named(objects, kind, `mocks-${side}`);
      const { volumes, containers } = podSpec(workload);
      const { secret } = volumes.find((volume) => volume.name === 'stream-tls') ?? {};
      expect(secret, side).toEqual({ secretName, defaultMode: expect.anything() as unknown });
      const mountPath = containers[0].volumeMounts.find((mount) => mount.name === 'stream-tls')?.mountPath;
      const variable = side === 'operator' ? 'STANDIN_STREAM_CERTIFICATE_DIR' : 'STANDIN_OPERATOR_TLS_DIR';
      expect(envVariables(workload).get(variable)?.value, side).toBe(mountPath);
    }
    expect(certificateSpec(objects, 'mocks-stream-ca')).toMatchObject({ isCA: true, secretName: 'mocks-stream-ca' });
  });

  it('use an existing issuer if one is set', async () => {
    const issuer = { name: 'platform', kind: 'ClusterIssuer', group: 'cert-manager.io' };
    const objects = await render(
      'tls.certManager.enabled=true',
      `tls.certManager.issuerRef.name=${issuer.name}`,
      `tls.certManager.issuerRef.kind=${issuer.kind}`,
    );
    expect(objects.some(({ kind }) => kind === 'Issuer')).toBe(false);
    expect(certificateSpec(objects, 'standin-operator-tls').issuerRef).toEqual(issuer);
    expect(certificateSpec(objects, 'standin-gateway-tls').issuerRef).toEqual(issuer);
  });

  it('are not created by default', async () => {
    const objects = await render();
    expect(objects.some(({ apiVersion }) => apiVersion.startsWith('cert-manager.io/'))).toBe(false);
    expect(envVariables(named(objects, 'Deployment', 'standin-operator')).has('STANDIN_STREAM_CERTIFICATE_DIR')).toBe(
      false,
    );
  });
});

describe('pods', () => {
  const contexts = async (...set: string[]) =>
    (await render(...set))
      .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
      .map((object) => (podSpec(object) as PodSpec & { securityContext: Record<string, unknown> }).securityContext);

  it('omit only user and group ids on OpenShift', async () => {
    expect(await contexts()).toHaveLength(3);
    for (const context of await contexts()) expect(context).toMatchObject({ runAsUser: 65532, fsGroup: 65532 });
    for (const context of await contexts('openshift.enabled=true')) {
      expect(context).toEqual({
        runAsNonRoot: true,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      });
    }
  });

  it('without a volume request ephemeral storage for the spool', async () => {
    const gateway = named(await render('gateway.persistence.enabled=false'), 'Deployment', 'standin-gateway');
    const [{ resources }] = podSpec(gateway).containers as unknown as readonly [{ resources: { requests: unknown } }];
    expect(resources.requests).toEqual({ cpu: '250m', memory: '512Mi', 'ephemeral-storage': '5Gi' });
  });

  it('listen on IPv6 if configured', async () => {
    const objects = await render('listenHost=::');
    for (const [kind, name] of WORKLOADS) {
      const hosts = [...envVariables(named(objects, kind, name))].filter(([variable]) => variable.endsWith('_HOST'));
      expect(
        hosts.map(([, { value }]) => value),
        name,
      ).toEqual(hosts.map(() => '::'));
      expect(hosts.length, name).toBeGreaterThan(0);
    }
  });

  it('have one value for a label that is set globally and per component', async () => {
    const objects = await render('commonLabels.team=all', 'gateway.podLabels.team=edge');
    const { template } = named(objects, 'StatefulSet', 'standin-gateway')['spec'] as {
      template: { metadata: { labels: Record<string, string> } };
    };
    expect(template.metadata.labels['team']).toBe('edge');
  });
});

describe('every component', () => {
  const COMPONENTS = [
    ['operator', 'Deployment'],
    ['gateway', 'StatefulSet'],
    ['dashboard', 'Deployment'],
  ] as const;
  const renderedWorkload = async (component: string, kind: string, ...set: string[]): Promise<RenderedObject> =>
    named(await render(...set.map((value) => `${component}.${value}`)), kind, `standin-${component}`);

  it.for(COMPONENTS)('passes on the options of its workload and pods: %s', async ([component, kind]) => {
    const workload = await renderedWorkload(
      ...([component, kind] as const),
      ...['annotations.reload=auto', 'revisionHistoryLimit=3', 'updateStrategy.type=OnDelete'],
      ...[
        'extraEnvFrom[0].secretRef.name=proxy',
        'extraContainers[0].name=sidecar',
        'extraInitContainers[0].name=first',
      ],
      ...['probes.startup.failureThreshold=300', 'probes.liveness.timeoutSeconds=9'],
    );
    expect(workload.metadata.annotations).toEqual({ reload: 'auto' });
    expect(workload['spec']).toMatchObject({
      revisionHistoryLimit: 3,
      [kind === 'StatefulSet' ? 'updateStrategy' : 'strategy']: { type: 'OnDelete' },
    });
    expect(podSpec(workload)).toMatchObject({
      initContainers: [{ name: 'first' }],
      containers: [
        {
          name: component,
          envFrom: [{ secretRef: { name: 'proxy' } }],
          startupProbe: { httpGet: { path: '/healthz' }, periodSeconds: 1, failureThreshold: 300 },
          livenessProbe: { httpGet: { path: '/healthz' }, periodSeconds: 20, timeoutSeconds: 9 },
        },
        { name: 'sidecar' },
      ],
    });
  });

  it.for(COMPONENTS)('can use a ServiceAccount that the chart does not create: %s', async ([component, kind]) => {
    const account = ['create=false', 'name=mine'].map((value) => `${component}.serviceAccount.${value}`);
    const objects = await render(...account);
    const name = `standin-${component}`;
    expect(objects.some((object) => object.kind === 'ServiceAccount' && object.metadata.name === name)).toBe(false);
    expect(podSpec(named(objects, kind, name))).toMatchObject({ serviceAccountName: 'mine' });
    const subjects = objects.flatMap((object) => (object['subjects'] ?? []) as readonly { readonly name: string }[]);
    expect(subjects.filter((subject) => subject.name === name)).toEqual([]);
    // The gateways have no role.
    expect(subjects.some((subject) => subject.name === 'mine')).toBe(component !== 'gateway');
  });
});

describe('the gateways’ traffic', () => {
  it('passes on the options of the load balancer', async () => {
    const service = ['type=LoadBalancer', 'externalTrafficPolicy=Local', 'loadBalancerClass=a.example/b'];
    const ranges = 'gateway.service.loadBalancerSourceRanges={192.0.2.0/24}';
    const objects = await render(...service.map((value) => `gateway.service.${value}`), ranges);
    expect(named(objects, 'Service', 'standin-gateway')['spec']).toMatchObject({
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      loadBalancerClass: 'a.example/b',
      loadBalancerSourceRanges: ['192.0.2.0/24'],
    });
    expect(await refusal('gateway.service.loadBalancerSourceRanges={192.0.2.0}')).toContain('loadBalancerSourceRanges');
  });

  // The API server rejects these fields for other types.
  it.for([
    ['externalTrafficPolicy=Local', ['ClusterIP']],
    ['loadBalancerClass=a.example/b', ['ClusterIP', 'NodePort']],
    ['loadBalancerSourceRanges={192.0.2.0/24}', ['ClusterIP', 'NodePort']],
  ] as const)('has a Service whose type allows its options: %s', async ([option, refused]) => {
    for (const component of ['gateway', 'dashboard'])
      for (const type of ['ClusterIP', 'NodePort', 'LoadBalancer'] as const) {
        const result = await refusal(`${component}.service.type=${type}`, `${component}.service.${option}`);
        const [name] = option.split('=');
        if ((refused as readonly string[]).includes(type))
          expect(result).toContain(`${component}.service.${name} requires`);
        else expect(result).toBe('accepted');
      }
  });

  it.for([
    ['the first host of the HTTPRoute', ['httpRoute.hostnames={a.example,b.example}'], 'https://a.example'],
    ['the first host without a wildcard', ['httpRoute.hostnames={*.a.example,b.example}'], 'https://b.example'],
    ['no wildcard host of the HTTPRoute', ['httpRoute.hostnames={*.a.example}'], undefined],
    ['the host of the Ingress', ['ingress.host=a.example'], 'http://a.example'],
    ['the host of the Ingress with TLS', ['ingress.host=a.example', 'ingress.tlsSecret=tls'], 'https://a.example'],
    [
      'the first host of the Ingress without a wildcard',
      ['ingress.host=*.a.example', 'ingress.extraHosts[0].host=b.example', 'ingress.extraHosts[0].tlsSecret=tls'],
      'https://b.example',
    ],
    ['no wildcard host of the Ingress', ['ingress.host=*.a.example'], undefined],
    ['the URL in the values', ['url=https://c.example', 'httpRoute.hostnames={a.example}'], 'https://c.example'],
  ] as const)('has a public URL from %s', async ([, set, expected]) => {
    const route = set.some((value) => value.startsWith('ingress'))
      ? ['ingress.enabled=true']
      : ['httpRoute.enabled=true', 'httpRoute.parentRefs[0].name=shared'];
    const values = ['gateway', 'dashboard'].flatMap((name) => [...route, ...set].map((value) => `${name}.${value}`));
    const objects = await render(...values);
    const variableValue = (name: string, variable: string) =>
      envVariables(named(objects, 'Deployment', `standin-${name}`)).get(variable)?.value;
    const inside = 'http://standin-gateway.standin-system.svc.cluster.local';
    for (const name of ['operator', 'dashboard'])
      expect(variableValue(name, 'STANDIN_GATEWAY_URL')).toBe(expected ?? inside);
    expect(variableValue('dashboard', 'STANDIN_URL')).toBe(expected);
    // Users' requests and replays do not leave the cluster.
    expect(variableValue('dashboard', 'STANDIN_SEND_GATEWAY_URL')).toBe(inside);
    expect(variableValue('operator', 'STANDIN_REPLAY_GATEWAY_URL')).toBe(inside);
  });

  it('is served for all hosts of the Ingress, each with its own certificate', async () => {
    const hosts = ['enabled=true', 'host=a.example', 'tlsSecret=a-tls', 'extraHosts[0].host=b.example'];
    const more = ['extraHosts[1].host=c.example', 'extraHosts[1].tlsSecret=c-tls'];
    const objects = await render(...[...hosts, ...more].map((value) => `gateway.ingress.${value}`));
    expect(named(objects, 'Ingress', 'standin-gateway')['spec']).toMatchObject({
      tls: [
        { secretName: 'a-tls', hosts: ['a.example'] },
        { secretName: 'c-tls', hosts: ['c.example'] },
      ],
      rules: ['a', 'b', 'c'].map((name) => ({ host: `${name}.example`, http: { paths: [{ path: '/' }] } })),
    });
  });

  it('passes the filters and timeouts of the HTTPRoute on', async () => {
    const route = ['enabled=true', 'parentRefs[0].name=shared', 'filters[0].type=URLRewrite', 'timeouts.request=360s'];
    const objects = await render(...route.map((value) => `gateway.httpRoute.${value}`));
    const rules = (named(objects, 'HTTPRoute', 'standin-gateway')['spec'] as { rules: unknown }).rules;
    expect(rules).toMatchObject([{ filters: [{ type: 'URLRewrite' }], timeouts: { request: '360s' } }]);
    expect(await refusal('gateway.httpRoute.timeouts.request=soon')).toContain('timeouts');
  });

  it('scales on the configured metrics, otherwise on CPU', async () => {
    const on = 'gateway.autoscaling.enabled=true';
    const scaler = async (...set: string[]) =>
      named(await render(on, ...set), 'HorizontalPodAutoscaler', 'standin-gateway')['spec'];
    expect(await scaler()).toMatchObject({ metrics: [{ type: 'Resource', resource: { name: 'cpu' } }] });
    const behavior = 'gateway.autoscaling.behavior.scaleDown.stabilizationWindowSeconds=600';
    expect(await scaler(behavior, 'gateway.autoscaling.metrics[0].type=Pods')).toMatchObject({
      metrics: [{ type: 'Pods' }],
      behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
    });
  });
});

it('the operator can read only its installation key in its own namespace if cert-manager creates the certificates', async () => {
  const role = named(await render('tls.certManager.enabled=true', 'watch.namespaces={a}'), 'Role', 'standin-operator');
  const rules = role['rules'] as readonly { readonly resources: readonly string[] }[];
  expect(rules.filter(({ resources }) => resources.includes('secrets'))).toEqual([
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['standin-installation'], verbs: ['get'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  ]);
});

it('the operator can only list claims, and only if gateways have volumes', async () => {
  const claims = async (...set: string[]) => {
    const role = named(await render(...set), 'Role', 'standin-operator');
    const rules = role['rules'] as readonly { readonly resources: readonly string[]; readonly verbs: unknown }[];
    return rules.filter(({ resources }) => resources.includes('persistentvolumeclaims')).map(({ verbs }) => verbs);
  };
  expect(await claims('drain.orphans.enabled=false')).toEqual([['list']]);
  expect(await claims('drain.orphans.enabled=false', 'gateway.persistence.enabled=false')).toEqual([]);
});

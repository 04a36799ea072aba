import { LIMITS } from '@standin/contract';
import { isCidr, isTarget } from '@standin/egress';
import { z } from 'zod';
import { clickhouse } from './clickhouse-values.ts';
import { settingsValues } from './settings-values.ts';
import {
  clickHouseSecret,
  count,
  digest,
  dnsLabel,
  enabled,
  group,
  httpRoute,
  ingress,
  kubernetesList,
  podDisruptionBudget,
  podValues,
  port,
  quantity,
  resources,
  service,
  stringMap,
  url,
} from './value-types.ts';

const OCTET = '(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])';
/**
 * Follows `isCidr`, within the regular expressions that Helm supports. For IPv6 it checks only the characters. The processes check
 * again.
 */
const CIDR_PATTERN = `^(${OCTET}([.]${OCTET}){3}/(3[0-2]|[12]?[0-9])|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*/(12[0-8]|1[01][0-9]|[0-9]{1,2}))$`;

/** Follows `isTarget`. */
const TARGET_PATTERN = String.raw`^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[1-9][0-9]{0,4}$`;

const operator = group({
  replicas: z.int().min(1).max(10).default(2).describe('Operators; one leads, another takes over within 15 seconds.'),
  settings: settingsValues('operator').default({}),
  clickhouse: clickHouseSecret,
  resources: resources({ cpu: '100m', memory: '256Mi' }, { memory: '1Gi' }),
  podDisruptionBudget,
  ...podValues,
});

const gateway = group({
  replicas: z.int().min(1).max(100).default(2).describe('Gateways; without meaning where autoscaling is enabled.'),
  url: url
    .default('')
    .describe(
      'URL under which callers reach the gateways, shown in statuses; empty: of Ingress, HTTPRoute or Service.',
    ),
  settings: settingsValues('gateway').default({}),
  clickhouse: clickHouseSecret,
  persistence: group({
    enabled: enabled(
      true,
      'A StatefulSet with a volume of its own for each gateway. false: a Deployment with emptyDir, which loses what ClickHouse does not have yet when a pod is deleted or its node is lost.',
    ),
    size: quantity
      .default('5Gi')
      .describe(
        'Size of a volume: more than `spool.bytes` and `spool.reserveBytes` together. An upgrade cannot change it: docs/upgrade.md, Larger volumes.',
      ),
    storageClass: z
      .string()
      .default('')
      .describe('Its StorageClass; empty: the cluster’s default. An upgrade cannot change it.'),
    whenScaled: z
      .enum(['Retain', 'Delete'])
      .default('Retain')
      .describe('What becomes of the volume of a gateway that is scaled away. Delete loses what was not delivered.'),
    annotations: stringMap.default({}).describe('Annotations of the claims. An upgrade cannot change them.'),
  }),
  terminationGracePeriodSeconds: count
    .default(60)
    .describe('Time to end: at least `drainMs` + 2 × `drainTimeoutMs`, and some seconds.'),
  resources: resources({ cpu: '250m', memory: '512Mi' }, { memory: '1536Mi' }),
  autoscaling: group({
    enabled: enabled(false, 'Scale gateways by a HorizontalPodAutoscaler.'),
    minReplicas: z.int().min(1).default(2).describe('Fewest gateways.'),
    maxReplicas: z.int().min(1).default(10).describe('Most gateways.'),
    targetCPUUtilizationPercentage: z.int().min(1).max(100).default(70).describe('Load that it aims at.'),
  }),
  podDisruptionBudget,
  service: service({ port: 80 }),
  ingress,
  httpRoute,
  ...podValues,
});

const dashboard = group({
  enabled: enabled(true, 'Run the dashboard and the JSON API.'),
  replicas: z.int().min(1).max(10).default(2).describe('Dashboards; any of them answers any request.'),
  url: url
    .default('')
    .describe('URL under which browsers reach the dashboard; empty: of Ingress or HTTPRoute. OIDC needs one.'),
  settings: settingsValues('dashboard').default({}),
  session: group({
    existingSecret: z
      .string()
      .default('')
      .describe(
        'Secret with `session-key` (32 characters or more) and, while keys are changed, `previous-session-key`. Empty: the chart makes one and keeps it; set it where Argo CD renders the chart.',
      ),
  }),
  oidc: group({
    existingSecret: z.string().default('').describe('Secret with `client-secret`, for a client that has one.'),
  }),
  clickhouse: clickHouseSecret,
  resources: resources({ cpu: '50m', memory: '192Mi' }, { memory: '512Mi' }),
  podDisruptionBudget,
  service: service({ port: 80 }),
  ingress,
  httpRoute,
  ...podValues,
});

const networkPolicy = group({
  enabled: enabled(true, 'Restrict who can reach each component, and what it can reach.'),
  gatewayFrom: kubernetesList.default([]).describe('Peers that may call the gateways; empty: everybody.'),
  dashboardFrom: kubernetesList.default([]).describe('Peers that may open the dashboard; empty: everybody.'),
  metricsFrom: kubernetesList
    .default([{ namespaceSelector: {} }])
    .describe('Peers that may read metrics. Default: all pods of the cluster. Empty: none.'),
  dnsPorts: z
    .array(port)
    .min(1)
    .default([53])
    .describe('Ports of the cluster’s DNS, as its pods have them; OpenShift: 5353.'),
  apiServerPorts: z.array(port).min(1).default([443, 6443]).describe('Ports of the Kubernetes API server.'),
  dashboardEgress: kubernetesList
    .default([])
    .describe('More rules for the dashboard, such as an OIDC provider or ClickHouse at another port.'),
});

const monitoring = group({
  serviceMonitor: group({
    enabled: enabled(false, 'Make ServiceMonitors; the Prometheus Operator’s CRDs have to be installed.'),
    interval: z.string().default('30s').describe('How often metrics are read.'),
    labels: stringMap.default({}).describe('Labels by which your Prometheus finds them.'),
  }),
  prometheusRule: group({
    enabled: enabled(false, 'Make a PrometheusRule with alerts.'),
    labels: stringMap.default({}).describe('Labels by which your Prometheus finds it.'),
  }),
  grafanaDashboard: group({
    enabled: enabled(false, 'Make a ConfigMap with the Grafana dashboard.'),
    labels: stringMap.default({ grafana_dashboard: '1' }).describe('Labels by which your Grafana’s sidecar finds it.'),
  }),
});

/** Which component issues the certificates of the config stream between operator and gateways. */
const tls = group({
  certManager: group({
    enabled: enabled(
      false,
      'Have cert-manager make the certificates between operator and gateways, in place of the operator; its CRDs have to be installed.',
    ),
    issuerRef: group({
      name: z
        .string()
        .default('')
        .describe(
          'Issuer of both certificates. It has to be a CA’s (not ACME), best one that signs nothing else. Empty: the chart makes such a one.',
        ),
      kind: z.string().min(1).default('Issuer').describe('Its kind: Issuer, ClusterIssuer, or one of your own.'),
      group: z.string().min(1).default('cert-manager.io').describe('API group of that kind.'),
    }),
  }),
});

/** Every value of charts/standin, with its default. values.yaml, values.schema.json and the README's table are generated from it. */
export const chartValues = z.strictObject({
  global: z
    .looseObject({
      imageRegistry: z.string().default('').describe('Registry before the image’s repository.'),
    })
    .prefault({}),
  nameOverride: dnsLabel.default('').describe('In place of the chart’s name.'),
  fullnameOverride: dnsLabel.default('').describe('In place of the beginning of all names.'),
  commonLabels: stringMap.default({}).describe('Labels of every object but the CRDs.'),
  image: group({
    repository: z.string().min(1).default('standin').describe('Image of all components.'),
    tag: z.string().default('').describe('Tag of all images; empty: the chart’s appVersion.'),
    digest: digest.default('').describe('Its digest, `sha256:…`; counts instead of the tag.'),
    engine: group({
      repository: z.string().min(1).default('standin-engine').describe('Image of `clickhouse.embedded`.'),
      digest: digest.default('').describe('Its digest, `sha256:…`; counts instead of the tag.'),
    }),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent').describe('When it is pulled.'),
    pullSecrets: kubernetesList.default([]).describe('Secrets for its registry.'),
  }),
  crds: group({
    enabled: enabled(
      true,
      'Install the CRDs with this chart. False: they are installed separately, from charts/standin/charts/standin-crds.',
    ),
    keep: z.boolean().default(true).describe('Leave them, and with them all resources, when the release is removed.'),
    // Helm adds it: these are the values of a subchart.
    global: z.looseObject({}).optional(),
  }),
  watch: group({
    namespaces: z
      .array(z.string().min(1))
      .max(100)
      .meta({ uniqueItems: true })
      .default([])
      .describe(
        'Namespaces of your teams, which have to be there: operator and dashboard get Roles in these, no ClusterRole. With `rbac.people.create` and `crds.enabled` false nothing here needs a right on the whole cluster. Empty: all namespaces.',
      ),
  }),
  openshift: group({
    enabled: enabled(false, 'Leave user and group ids of pods to OpenShift’s SecurityContextConstraints.'),
  }),
  listenHost: z
    .enum(['0.0.0.0', '::'])
    .default('0.0.0.0')
    .describe('Address on which all processes listen; `::` where pods have IPv6 addresses, with or without IPv4.'),
  extraObjects: kubernetesList.default([]).describe('More objects of this release, as templates.'),
  clusterDomain: z.string().min(1).default('cluster.local').describe('DNS domain of the cluster.'),
  clickhouse,
  tls,
  egress: group({
    allow: z
      .array(z.string().refine(isCidr).meta({ pattern: CIDR_PATTERN }))
      .default([])
      .describe('Private networks, as CIDRs, that Forward and replays may reach.'),
    allowPrivate: z
      .boolean()
      .default(false)
      .describe('Let Forward reach every private address. Metadata addresses are refused always.'),
    refuse: z
      .array(z.string().refine(isTarget).meta({ pattern: TARGET_PATTERN }))
      .default([])
      .describe(
        'Hosts with ports, such as `db.example.com:5432`, that Forward and replays never reach, whatever is allowed. ClickHouse, the API server’s Service, the operators and everybody’s metrics are refused anyway.',
      ),
    ca: z.string().default('').describe('PEM certificates that upstreams may have besides the public ones.'),
  }),
  rbac: group({
    create: z.boolean().default(true).describe('Make the roles of operator and dashboard, and bind them.'),
    people: group({
      create: z
        .boolean()
        .default(true)
        .describe('Create the ClusterRoles view, edit and admin for people, without bindings.'),
      aggregate: z
        .boolean()
        .default(false)
        .describe(
          'Add them to the Kubernetes roles view, edit and admin: anyone who can view a namespace can then read the requests to its endpoints.',
        ),
    }),
  }),
  operator,
  gateway,
  dashboard,
  networkPolicy,
  monitoring,
  drain: group({
    orphans: group({
      enabled: enabled(
        true,
        'The operator has a Job deliver what is on the volume of a gateway that was scaled away. It needs rights on claims, pods and Jobs of its own namespace for that.',
      ),
      quietSeconds: count
        .default(LIMITS.spoolQuietMs / 1_000)
        .describe('How long such a volume must be without a pod and without writes.'),
    }),
  }),
});

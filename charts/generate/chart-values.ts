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
  replicas: z
    .int()
    .min(1)
    .max(10)
    .default(2)
    .describe('Number of operators. One leads, and another takes over within 15 seconds.'),
  settings: settingsValues('operator').default({}),
  clickhouse: clickHouseSecret,
  resources: resources({ cpu: '100m', memory: '256Mi' }, { memory: '1Gi' }),
  podDisruptionBudget,
  ...podValues,
});

const gateway = group({
  replicas: z.int().min(1).max(100).default(2).describe('Number of gateways. Ignored if autoscaling is enabled.'),
  url: url
    .default('')
    .describe(
      'URL at which callers reach the gateways, shown in statuses. Empty: the URL of the Ingress, HTTPRoute or Service.',
    ),
  settings: settingsValues('gateway').default({}),
  clickhouse: clickHouseSecret,
  persistence: group({
    enabled: enabled(
      true,
      'Use a StatefulSet with one volume per gateway. False: a Deployment with emptyDir, which loses undelivered rows when a pod is deleted or its node is lost.',
    ),
    size: quantity
      .default('5Gi')
      .describe(
        'Size of each volume. Must exceed the sum of `spool.bytes` and `spool.reserveBytes`. An upgrade cannot change it: see docs/upgrade.md, Larger volumes.',
      ),
    storageClass: z
      .string()
      .default('')
      .describe('StorageClass of the volumes. Empty: the default of the cluster. An upgrade cannot change it.'),
    whenScaled: z
      .enum(['Retain', 'Delete'])
      .default('Retain')
      .describe('Whether to keep the volume of a gateway that is scaled down. Delete loses undelivered rows.'),
    annotations: stringMap.default({}).describe('Annotations of the claims. An upgrade cannot change them.'),
  }),
  terminationGracePeriodSeconds: count
    .default(60)
    .describe('Time to shut down: a few seconds more than `drainMs` + 2 × `drainTimeoutMs`.'),
  resources: resources({ cpu: '250m', memory: '512Mi' }, { memory: '1536Mi' }),
  autoscaling: group({
    enabled: enabled(false, 'Scale gateways with a HorizontalPodAutoscaler.'),
    minReplicas: z.int().min(1).default(2).describe('Minimum number of gateways.'),
    maxReplicas: z.int().min(1).default(10).describe('Maximum number of gateways.'),
    targetCPUUtilizationPercentage: z
      .int()
      .min(1)
      .max(100)
      .default(70)
      .describe('Target CPU utilization, in percent of the request.'),
  }),
  podDisruptionBudget,
  service: service({ port: 80 }),
  ingress,
  httpRoute,
  ...podValues,
});

const dashboard = group({
  enabled: enabled(true, 'Run the dashboard and the JSON API.'),
  replicas: z.int().min(1).max(10).default(2).describe('Number of dashboards. Each can handle any request.'),
  url: url
    .default('')
    .describe(
      'URL at which browsers reach the dashboard. Empty: the URL of the Ingress or HTTPRoute. Required for OIDC.',
    ),
  settings: settingsValues('dashboard').default({}),
  session: group({
    existingSecret: z
      .string()
      .default('')
      .describe(
        'Secret with `session-key` (at least 32 characters) and, during a key rotation, `previous-session-key`. Empty: the chart creates and keeps one. Required if Argo CD renders the chart.',
      ),
  }),
  oidc: group({
    existingSecret: z.string().default('').describe('Secret with `client-secret`, for confidential clients.'),
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
  enabled: enabled(true, 'Restrict the traffic to and from each component.'),
  gatewayFrom: kubernetesList.default([]).describe('Peers that may call the gateways. Empty: all.'),
  dashboardFrom: kubernetesList.default([]).describe('Peers that may open the dashboard. Empty: all.'),
  metricsFrom: kubernetesList
    .default([{ namespaceSelector: {} }])
    .describe('Peers that may read metrics. Default: all pods of the cluster. Empty: none.'),
  dnsPorts: z
    .array(port)
    .min(1)
    .default([53])
    .describe('Ports on which the pods of the cluster’s DNS listen. OpenShift: 5353.'),
  apiServerPorts: z.array(port).min(1).default([443, 6443]).describe('Ports of the Kubernetes API server.'),
  dashboardEgress: kubernetesList
    .default([])
    .describe(
      'Additional egress rules of the dashboard, for example for an OIDC provider or ClickHouse on another port.',
    ),
});

const monitoring = group({
  serviceMonitor: group({
    enabled: enabled(false, 'Create ServiceMonitors. Requires the CRDs of the Prometheus Operator.'),
    interval: z.string().default('30s').describe('Interval at which metrics are scraped.'),
    labels: stringMap.default({}).describe('Labels by which Prometheus selects the ServiceMonitors.'),
  }),
  prometheusRule: group({
    enabled: enabled(false, 'Create a PrometheusRule with alerts.'),
    labels: stringMap.default({}).describe('Labels by which Prometheus selects the PrometheusRule.'),
  }),
  grafanaDashboard: group({
    enabled: enabled(false, 'Create a ConfigMap with the Grafana dashboard.'),
    labels: stringMap
      .default({ grafana_dashboard: '1' })
      .describe('Labels by which the Grafana sidecar selects the ConfigMap.'),
  }),
});

/** The issuer of the config stream’s certificates. */
const tls = group({
  certManager: group({
    enabled: enabled(
      false,
      'Let cert-manager issue the certificates between operator and gateways, instead of the operator. Requires the CRDs of cert-manager.',
    ),
    issuerRef: group({
      name: z
        .string()
        .default('')
        .describe(
          'Issuer of both certificates. Must be a CA issuer (not ACME), preferably one that signs nothing else. Empty: the chart creates one.',
        ),
      kind: z
        .string()
        .min(1)
        .default('Issuer')
        .describe('Kind of the issuer: Issuer, ClusterIssuer, or an external one.'),
      group: z.string().min(1).default('cert-manager.io').describe('API group of that kind.'),
    }),
  }),
});

/** Every value of charts/standin, with its default. values.yaml, values.schema.json and the README's table are generated from it. */
export const chartValues = z.strictObject({
  global: z
    .looseObject({
      imageRegistry: z.string().default('').describe('Registry that is prepended to the image repositories.'),
    })
    .prefault({}),
  nameOverride: dnsLabel.default('').describe('Overrides the name of the chart.'),
  fullnameOverride: dnsLabel.default('').describe('Overrides the prefix of all names.'),
  commonLabels: stringMap.default({}).describe('Labels of all objects except the CRDs.'),
  image: group({
    repository: z.string().min(1).default('standin').describe('Image of all components.'),
    tag: z.string().default('').describe('Tag of all images. Empty: the appVersion of the chart.'),
    digest: digest.default('').describe('Digest of the image, `sha256:…`. Replaces the tag.'),
    engine: group({
      repository: z.string().min(1).default('standin-engine').describe('Image of `clickhouse.embedded`.'),
      digest: digest.default('').describe('Digest of the image, `sha256:…`. Replaces the tag.'),
    }),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent').describe('When images are pulled.'),
    pullSecrets: kubernetesList.default([]).describe('Secrets for the image registry.'),
  }),
  crds: group({
    enabled: enabled(
      true,
      'Install the CRDs with this chart. False: install them separately, from charts/standin/charts/standin-crds.',
    ),
    keep: z
      .boolean()
      .default(true)
      .describe('Keep the CRDs, and all resources with them, when the release is uninstalled.'),
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
        'Existing namespaces of your teams. Operator and dashboard get Roles in these namespaces and no ClusterRole. If `rbac.people.create` and `crds.enabled` are also false, no cluster-wide rights are required. Empty: all namespaces.',
      ),
  }),
  openshift: group({
    enabled: enabled(false, 'Let OpenShift’s SecurityContextConstraints set the user and group IDs of pods.'),
  }),
  listenHost: z
    .enum(['0.0.0.0', '::'])
    .default('0.0.0.0')
    .describe('Address on which all processes listen. Use `::` if pods have IPv6 addresses, with or without IPv4.'),
  extraObjects: kubernetesList.default([]).describe('Additional objects of this release, as templates.'),
  clusterDomain: z.string().min(1).default('cluster.local').describe('DNS domain of the cluster.'),
  clickhouse,
  tls,
  egress: group({
    allow: z
      .array(z.string().refine(isCidr).meta({ pattern: CIDR_PATTERN }))
      .default([])
      .describe('CIDRs of private networks that Forward and replays may reach.'),
    allowPrivate: z
      .boolean()
      .default(false)
      .describe('Let Forward and replays reach all private addresses. Metadata addresses are always refused.'),
    refuse: z
      .array(z.string().refine(isTarget).meta({ pattern: TARGET_PATTERN }))
      .default([])
      .describe(
        'Hosts with ports, such as `db.example.com:5432`, that Forward and replays may never reach. ClickHouse, the Service of the API server, the operators and all metrics ports are always refused.',
      ),
    ca: z.string().default('').describe('PEM certificates of CAs to trust for upstreams, in addition to public CAs.'),
  }),
  rbac: group({
    create: z.boolean().default(true).describe('Create and bind the roles of operator and dashboard.'),
    people: group({
      create: z
        .boolean()
        .default(true)
        .describe('Create the ClusterRoles view, edit and admin for users, without bindings.'),
      aggregate: z
        .boolean()
        .default(false)
        .describe(
          'Aggregate them to the Kubernetes roles view, edit and admin. Anyone who can view a namespace can then read the requests to its endpoints.',
        ),
    }),
  }),
  deletionProtection: group({
    enabled: enabled(
      false,
      'Reject the deletion of Accounts with Projects, and of Projects that have received requests, unless they have the annotation `standin.dev/allow-deletion`. Creates a ValidatingAdmissionPolicy, which requires cluster-wide rights.',
    ),
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
        'Let the operator create a Job that drains the volume of a gateway that was scaled down. Gives it rights on claims, pods and Jobs in its own namespace.',
      ),
      quietSeconds: count
        .default(LIMITS.spoolQuietMs / 1_000)
        .describe('Seconds without a pod and without writes after which such a volume is drained.'),
    }),
  }),
});

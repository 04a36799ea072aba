import { LIMITS } from '@standin/contract';
import { isCidr, isTarget } from '@standin/egress';
import { z } from 'zod';
import { clickhouse } from './clickhouse-values.ts';
import { dashboard, gateway, operator } from './component-values.ts';
import {
  CIDR_PATTERN,
  count,
  digest,
  dnsLabel,
  enabled,
  group,
  kubernetesList,
  labelSelector,
  port,
  stringMap,
} from './value-types.ts';

/** Matches what `isTarget` accepts. */
const TARGET_PATTERN = String.raw`^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[1-9][0-9]{0,4}$`;

const networkPolicy = group({
  enabled: enabled(true, 'Restrict traffic to and from each component.'),
  gatewayFrom: kubernetesList.default([]).describe('Peers that may call the gateways. If empty, all peers may.'),
  dashboardFrom: kubernetesList.default([]).describe('Peers that may open the dashboard. If empty, all peers may.'),
  metricsFrom: kubernetesList
    .default([{ namespaceSelector: {} }])
    .describe('Peers that may read metrics. If empty, no peers may. By default, all pods in the cluster may.'),
  dnsPorts: z
    .array(port)
    .min(1)
    .default([53])
    .describe('Ports on which the cluster’s DNS pods listen. On OpenShift, this is 5353.'),
  apiServerPorts: z.array(port).min(1).default([443, 6443]).describe('Ports of the Kubernetes API server.'),
  dashboardEgress: kubernetesList
    .default([])
    .describe(
      'Additional egress rules for the dashboard, for example for a ClickHouse Service whose pods listen on a different port.',
    ),
});

const monitoring = group({
  serviceMonitor: group({
    enabled: enabled(false, 'Create ServiceMonitors. Requires the Prometheus Operator CRDs.'),
    interval: z.string().default('30s').describe('Interval at which metrics are scraped.'),
    labels: stringMap.default({}).describe('Labels by which Prometheus selects the ServiceMonitors.'),
    relabelings: kubernetesList
      .default([])
      .describe('Relabelings of the scraped targets, such as `[{"targetLabel": "cluster", "replacement": "eu-1"}]`.'),
    metricRelabelings: kubernetesList
      .default([])
      .describe('Relabelings of the samples before they are stored, for example to drop metrics.'),
  }),
  prometheusRule: group({
    enabled: enabled(false, 'Create a PrometheusRule with alerts.'),
    labels: stringMap.default({}).describe('Labels by which Prometheus selects the PrometheusRule.'),
    runbookUrl: z
      .string()
      .min(1)
      .default('docs/guides/alerts.md')
      .describe(
        'URL of the page with the runbooks. The `runbook_url` of an alert is this page with the alert’s anchor. By default, the page in this repository.',
      ),
    extraRules: kubernetesList.default([]).describe('Additional alerting and recording rules.'),
  }),
  grafanaDashboard: group({
    enabled: enabled(false, 'Create a ConfigMap with the Grafana dashboard.'),
    labels: stringMap
      .default({ grafana_dashboard: '1' })
      .describe('Labels by which the Grafana sidecar selects the ConfigMap.'),
    annotations: stringMap
      .default({})
      .describe('Annotations for the ConfigMap, such as `grafana_folder` for the folder of the dashboard.'),
  }),
});

/** Values that select the issuer of the config stream's certificates. */
const tls = group({
  certManager: group({
    enabled: enabled(
      false,
      'Let cert-manager, instead of the operator, issue the certificates for the config stream. Requires the cert-manager CRDs.',
    ),
    issuerRef: group({
      name: z
        .string()
        .default('')
        .describe(
          'Issuer of both certificates. Must be a CA issuer (not ACME), preferably one that does not sign anything else. If empty, the chart creates one.',
        ),
      kind: z.string().min(1).default('Issuer').describe('Issuer kind: Issuer, ClusterIssuer, or an external one.'),
      group: z.string().min(1).default('cert-manager.io').describe('API group of that kind.'),
    }),
  }),
});

/**
 * All values of charts/standin, with their defaults. values.yaml, values.schema.json and the README's tables are generated from
 * this schema.
 */
export const chartValues = z.strictObject({
  global: z
    .looseObject({
      imageRegistry: z.string().default('').describe('Registry to prepend to the image repositories.'),
    })
    .prefault({}),
  nameOverride: dnsLabel.default('').describe('Overrides the chart name.'),
  fullnameOverride: dnsLabel.default('').describe('Overrides the prefix of all names.'),
  commonLabels: stringMap.default({}).describe('Labels for all objects except the CRDs.'),
  image: group({
    repository: z.string().min(1).default('standin').describe('Image repository for all components.'),
    tag: z.string().default('').describe('Tag for all images. If empty, the chart’s appVersion is used.'),
    digest: digest.default('').describe('Image digest, `sha256:…`. Replaces the tag.'),
    engine: group({
      repository: z.string().min(1).default('standin-engine').describe('Image repository for `clickhouse.embedded`.'),
      digest: digest.default('').describe('Image digest, `sha256:…`. Replaces the tag.'),
    }),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent').describe('Image pull policy.'),
    pullSecrets: kubernetesList.default([]).describe('Secrets for the image registry.'),
  }),
  crds: group({
    enabled: enabled(
      true,
      'Install the CRDs with this chart. If false, install them separately from charts/standin/charts/standin-crds.',
    ),
    keep: z
      .boolean()
      .default(true)
      .describe('Keep the CRDs, and therefore all custom resources, when the release is uninstalled.'),
    // Helm adds this value to the values of a subchart.
    global: z.looseObject({}).optional(),
  }),
  watch: group({
    namespaces: z
      .array(z.string().min(1))
      .max(100)
      .meta({ uniqueItems: true })
      .default([])
      .describe(
        'Your teams’ existing namespaces. The operator and the dashboard get Roles in these namespaces, and no ClusterRole. If `rbac.people.create` and `crds.enabled` are also false, no cluster-wide permissions are required. If empty, all namespaces are watched.',
      ),
    namespaceSelector: labelSelector
      .default({})
      .describe(
        'Label selector for the namespaces to watch, such as `{"matchLabels": {"standin.dev/serve": "true"}}`. Changes to labels take effect without a restart. The operator then has no cluster-wide permissions for Secrets, and each namespace needs the Role and the RoleBinding of `rbac.secretsNamespaces`. Cannot be used with `watch.namespaces`.',
      ),
  }),
  openshift: group({
    enabled: enabled(false, 'Let OpenShift’s SecurityContextConstraints set the user and group IDs of pods.'),
  }),
  listenHost: z
    .enum(['0.0.0.0', '::'])
    .default('0.0.0.0')
    .describe('Address on which all processes listen. Use `::` if pods have IPv6 addresses, with or without IPv4.'),
  extraObjects: kubernetesList.default([]).describe('Additional objects for this release, as templates.'),
  clusterDomain: z.string().min(1).default('cluster.local').describe('The cluster’s DNS domain.'),
  clickhouse,
  tls,
  egress: group({
    allow: z
      .array(z.string().refine(isCidr).meta({ pattern: CIDR_PATTERN }))
      .default([])
      .describe('Private networks, in CIDR notation, that Forward and replays may reach.'),
    allowPrivate: z
      .boolean()
      .default(false)
      .describe('Let Forward and replays reach all private addresses. Metadata addresses are always blocked.'),
    refuse: z
      .array(z.string().refine(isTarget).meta({ pattern: TARGET_PATTERN }))
      .default([])
      .describe(
        '`HOST:PORT` pairs, such as `db.example.com:5432`, that Forward and replays must not reach. ClickHouse, the API server’s Service, the operators and all metrics ports are always blocked.',
      ),
    ca: z
      .string()
      .default('')
      .describe('PEM certificates of the CAs to trust for upstreams, in addition to public CAs.'),
  }),
  rbac: group({
    create: z.boolean().default(true).describe('Create and bind the roles for the operator and the dashboard.'),
    secretsNamespaces: z
      .array(z.string().min(1))
      .meta({ uniqueItems: true })
      .default([])
      .describe(
        'Existing namespaces in which the chart creates the Role and the RoleBinding that let the operator read and write Secrets. Only required with `watch.namespaceSelector`. In all other selected namespaces, create them yourself (docs/guides/install.md).',
      ),
    people: group({
      create: z
        .boolean()
        .default(true)
        .describe('Create view, edit and admin ClusterRoles for users, without bindings.'),
      aggregate: z
        .boolean()
        .default(false)
        .describe(
          'Aggregate these roles to the Kubernetes view, edit and admin roles. Anyone who can view a namespace can then read the requests to its endpoints.',
        ),
    }),
  }),
  deletionProtection: group({
    enabled: enabled(
      false,
      'Reject the deletion of Accounts with Projects, and of Projects that have received requests, unless they have the annotation `standin.dev/allow-deletion`. Creates a ValidatingAdmissionPolicy, which requires cluster-wide permissions.',
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
        'Let the operator create Jobs that drain the volumes of gateways that were scaled down. Grants it permissions on claims, pods and Jobs in its own namespace.',
      ),
      quietSeconds: count
        .default(LIMITS.spoolQuietMs / 1_000)
        .describe('Seconds for which such a volume must have no pod and no writes before it is drained.'),
    }),
  }),
});

import { z } from 'zod';
import { settingsValues } from './settings-values.ts';
import {
  clickHouseSecret,
  count,
  enabled,
  group,
  httpRoute,
  ingress,
  kubernetesList,
  kubernetesMap,
  podDisruptionBudget,
  podValues,
  quantity,
  resources,
  service,
  stringMap,
  url,
} from './value-types.ts';

export const operator = group({
  replicas: z
    .int()
    .min(1)
    .max(10)
    .default(2)
    .describe('Number of operator replicas. One of them leads. If it fails, another takes over within 15 seconds.'),
  // About a fifth of a core, so that no tenant uses all of a gateway's CPU time.
  settings: settingsValues('operator').default({ requestsPerSecond: { free: 2_000, pro: 2_000 } }),
  clickhouse: clickHouseSecret,
  resources: resources({ cpu: '100m', memory: '256Mi' }, { memory: '2Gi' }),
  podDisruptionBudget,
  ...podValues({ startup: { periodSeconds: 1, failureThreshold: 60 }, readiness: { periodSeconds: 5 } }),
});

export const gateway = group({
  replicas: z
    .int()
    .min(1)
    .max(100)
    .default(2)
    .describe('Number of gateway replicas. Ignored if autoscaling is enabled.'),
  url: url
    .default('')
    .describe(
      'URL at which callers reach the gateways, shown in statuses. If empty, the URL of the Ingress, HTTPRoute or Service is used.',
    ),
  settings: settingsValues('gateway').default({}),
  clickhouse: clickHouseSecret,
  persistence: group({
    enabled: enabled(
      true,
      'Use a StatefulSet with one volume per gateway. If false, use a Deployment with emptyDir, which loses undelivered rows when a pod is deleted or its node is lost.',
    ),
    size: quantity
      .default('5Gi')
      .describe(
        'Size of each volume. Must exceed the sum of `spool.bytes` and `spool.reserveBytes`. An upgrade cannot change it. See docs/guides/upgrade.md, Larger volumes.',
      ),
    storageClass: z
      .string()
      .default('')
      .describe('StorageClass for the volumes. If empty, the cluster’s default is used. An upgrade cannot change it.'),
    whenScaled: z
      .enum(['Retain', 'Delete'])
      .default('Retain')
      .describe('Whether to keep the volume of a gateway that is scaled down. `Delete` loses undelivered rows.'),
    annotations: stringMap.default({}).describe('Annotations for the claims. An upgrade cannot change them.'),
  }),
  terminationGracePeriodSeconds: count
    .default(60)
    .describe(
      'Seconds that a gateway has to shut down. Set it to a few seconds more than `drainMs` + 2 × `drainTimeoutMs`.',
    ),
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
      .describe('Target CPU utilization, as a percentage of the CPU request. Ignored if `metrics` is set.'),
    metrics: kubernetesList
      .default([])
      .describe('Metrics of the HorizontalPodAutoscaler, which replace the target CPU utilization.'),
    behavior: kubernetesMap
      .default({})
      .describe(
        'Scaling behavior of the HorizontalPodAutoscaler, such as `{"scaleDown": {"stabilizationWindowSeconds": 600}}`.',
      ),
  }),
  podDisruptionBudget,
  service: service({ port: 80 }),
  ingress,
  httpRoute,
  ...podValues({
    startup: { periodSeconds: 1, failureThreshold: 120 },
    readiness: { periodSeconds: 2, failureThreshold: 2 },
  }),
});

export const dashboard = group({
  enabled: enabled(true, 'Run the dashboard and the JSON API.'),
  replicas: z
    .int()
    .min(1)
    .max(10)
    .default(2)
    .describe('Number of dashboard replicas. Each one can handle any request.'),
  url: url
    .default('')
    .describe(
      'URL at which browsers reach the dashboard. If empty, the URL of the Ingress or HTTPRoute is used. Required for OIDC.',
    ),
  settings: settingsValues('dashboard').default({}),
  session: group({
    existingSecret: z
      .string()
      .default('')
      .describe(
        'Secret with `session-key` (at least 32 characters) and, during a key rotation, `previous-session-key`. If empty, the chart creates and keeps one. Required if Argo CD renders the chart.',
      ),
  }),
  oidc: group({
    existingSecret: z.string().default('').describe('Secret with `client-secret`, for confidential clients.'),
  }),
  clickhouse: clickHouseSecret,
  resources: resources({ cpu: '50m', memory: '192Mi' }, { memory: '768Mi' }),
  podDisruptionBudget,
  service: service({ port: 80 }),
  ingress,
  httpRoute,
  ...podValues({ startup: { periodSeconds: 1, failureThreshold: 60 }, readiness: { periodSeconds: 5 } }),
});

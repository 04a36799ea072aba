import { z } from 'zod';

/** An object that the chart passes on unchanged and Kubernetes checks itself. */
export const kubernetesMap = z.record(z.string(), z.any());
export const kubernetesList = z.array(kubernetesMap);
export const stringMap = z.record(z.string(), z.string());

const labelKey = z.string().regex(/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/);
const labelValue = z.string().regex(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/);
/** A label selector as in Kubernetes objects. The templates also convert it to text, so its characters are checked. */
export const labelSelector = z
  .strictObject({
    matchLabels: z.record(labelKey, labelValue),
    matchExpressions: z.array(
      z.union([
        z.strictObject({ key: labelKey, operator: z.enum(['In', 'NotIn']), values: z.array(labelValue).min(1) }),
        z.strictObject({ key: labelKey, operator: z.enum(['Exists', 'DoesNotExist']) }),
      ]),
    ),
  })
  .partial();

/** A Kubernetes quantity, such as `500m`, `2Gi` or `0.5`. */
export const quantity = z.union([z.string().regex(/^[0-9.]+([EPTGMk]i?|m)?$/), z.number().min(0)]);
export const count = z.int().min(0);
const positive = z.int().min(1);
const OCTET = '(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])';
/**
 * Matches what `isCidr` accepts, as far as Helm's regular expressions allow. For IPv6 addresses, the pattern checks only the
 * characters. The processes check the values again.
 */
export const CIDR_PATTERN = `^(${OCTET}([.]${OCTET}){3}/(3[0-2]|[12]?[0-9])|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*/(12[0-8]|1[01][0-9]|[0-9]{1,2}))$`;
/** A duration of the Gateway API, such as `30s` or `1m30s`. */
const gatewayDuration = z.string().regex(/^([0-9]{1,5}(h|m|s|ms)){1,4}$/);
/** A URL with its scheme, or an empty string if unset. */
export const url = z.string().regex(/^(https?:\/\/.+)?$/);
/** An image digest, or an empty string if unset. */
export const digest = z.string().regex(/^(sha256:[0-9a-f]{64})?$/);
/** Part of an object's name, or an empty string if unset. */
export const dnsLabel = z.string().regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/);
export const port = z.int().min(1).max(65_535);

/** Returns the schema of a switch for the settings next to it. */
export const enabled = (byDefault: boolean, description: string) =>
  z.boolean().default(byDefault).describe(description);

/** Returns the schema of an object whose fields all have defaults. */
export const group = <S extends z.ZodRawShape>(shape: S) => z.strictObject(shape).prefault({} as never);

/** Returns the schema of a container's resource requests and limits. */
export const resources = (requests: Readonly<Record<string, string>>, limits: Readonly<Record<string, string>>) =>
  z
    .strictObject({ requests: z.record(z.string(), quantity), limits: z.record(z.string(), quantity) })
    .partial()
    .default({ requests, limits })
    .describe('Resource requests and limits for the container.');

interface ProbeTiming {
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

const probe = (byDefault: ProbeTiming, description: string) =>
  z
    .strictObject({
      initialDelaySeconds: count,
      periodSeconds: positive,
      timeoutSeconds: positive,
      successThreshold: positive,
      failureThreshold: positive,
      terminationGracePeriodSeconds: positive,
    })
    .partial()
    .default(byDefault)
    .describe(description);

/** The values that all components' pods and workloads have in common. */
export const podValues = (byDefault: { readonly startup: ProbeTiming; readonly readiness: ProbeTiming }) => ({
  serviceAccount: group({
    create: z
      .boolean()
      .default(true)
      .describe('Create the ServiceAccount. If false, create it yourself, with the name in `name`.'),
    name: z.string().default('').describe('Name of the ServiceAccount. If empty, the name of the component is used.'),
    annotations: stringMap.default({}).describe('Annotations for the ServiceAccount.'),
  }),
  annotations: stringMap.default({}).describe('Annotations for the Deployment or StatefulSet.'),
  updateStrategy: kubernetesMap
    .default({})
    .describe(
      'Update strategy of the Deployment or StatefulSet, such as `{"rollingUpdate": {"maxUnavailable": 1}}`. If empty, the chart’s own strategy is used.',
    ),
  revisionHistoryLimit: count
    .default(10)
    .describe('Number of old revisions of the Deployment or StatefulSet that are kept for a rollback.'),
  probes: group({
    startup: probe(byDefault.startup, 'Timing of the startup probe. It ends when the process responds.'),
    readiness: probe(byDefault.readiness, 'Timing of the readiness probe.'),
    liveness: probe({ periodSeconds: 20, timeoutSeconds: 5 }, 'Timing of the liveness probe.'),
  }),
  podAnnotations: stringMap.default({}).describe('Annotations for the pods.'),
  podLabels: stringMap.default({}).describe('Additional labels for the pods.'),
  extraEnv: kubernetesList.default([]).describe('Additional environment variables, such as `NODE_EXTRA_CA_CERTS`.'),
  extraEnvFrom: kubernetesList
    .default([])
    .describe(
      'ConfigMaps and Secrets whose keys become environment variables, such as `[{"secretRef": {"name": "proxy"}}]`.',
    ),
  extraVolumes: kubernetesList.default([]).describe('Additional volumes for the pods.'),
  extraVolumeMounts: kubernetesList.default([]).describe('Additional volume mounts for the container.'),
  extraInitContainers: kubernetesList
    .default([])
    .describe(
      'Additional init containers for the pods. With `restartPolicy: Always`, they are sidecars that start first.',
    ),
  extraContainers: kubernetesList.default([]).describe('Additional containers (sidecars) for the pods.'),
  nodeSelector: stringMap.default({}).describe('Labels of the nodes where the pods may run.'),
  tolerations: kubernetesList.default([]).describe('Tolerations for the pods.'),
  affinity: kubernetesMap.default({}).describe('Affinity rules for the pods.'),
  topologySpreadConstraints: kubernetesList
    .default([])
    .describe(
      'Topology spread constraints for the pods. If empty, pods are spread across nodes and zones if possible.',
    ),
  priorityClassName: z.string().default('').describe('PriorityClass for the pods.'),
});

export const clickHouseSecret = group({
  existingSecret: z
    .string()
    .default('')
    .describe('Secret with the ClickHouse user for this component. If empty, `clickhouse.existingSecret` is used.'),
});

export const podDisruptionBudget = group({
  enabled: enabled(true, 'Prevent all pods from being evicted at the same time.'),
  maxUnavailable: z
    .union([count, z.string().regex(/^[0-9]+%$/)])
    .default(1)
    .describe('Maximum number of pods that may be evicted at the same time.'),
});

export const service = (byDefault: { readonly port: number }) =>
  group({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('ClusterIP').describe('Service type.'),
    port: port.default(byDefault.port).describe('Service port.'),
    annotations: stringMap.default({}).describe('Annotations for the Service.'),
    externalTrafficPolicy: z
      .enum(['', 'Cluster', 'Local'])
      .default('')
      .describe(
        '`Local` preserves the addresses of clients, and uses only pods on the node that receives the connection. Requires the type NodePort or LoadBalancer.',
      ),
    loadBalancerClass: z
      .string()
      .default('')
      .describe('Class of the load balancer. If empty, the cluster’s default is used. An upgrade cannot change it.'),
    loadBalancerSourceRanges: z
      .array(z.string().meta({ pattern: CIDR_PATTERN }))
      .default([])
      .describe('Networks, in CIDR notation, that may use the load balancer. If empty, all networks may.'),
  });

export const ingress = group({
  enabled: enabled(false, 'Create an Ingress.'),
  className: z.string().default('').describe('IngressClass. If empty, the cluster’s default is used.'),
  annotations: stringMap.default({}).describe('Annotations for the Ingress.'),
  host: z.string().default('').describe('Host name. Required if the Ingress is enabled.'),
  tlsSecret: z
    .string()
    .default('')
    .describe('Secret with the host’s certificate. If empty, the Ingress does not use TLS.'),
  extraHosts: z
    .array(z.strictObject({ host: z.string().min(1), tlsSecret: z.string().optional() }))
    .default([])
    .describe(
      'Additional host names, such as `[{"host": "mocks.example.org", "tlsSecret": "mocks-tls"}]`. Without `tlsSecret`, the Ingress does not use TLS for the host.',
    ),
});

export const httpRoute = group({
  enabled: enabled(false, 'Create a Gateway API HTTPRoute. Requires its CRD.'),
  parentRefs: kubernetesList
    .default([])
    .describe('Gateways to attach the HTTPRoute to. Required if the HTTPRoute is enabled.'),
  hostnames: z.array(z.string()).default([]).describe('Host names. If empty, the Gateway’s host names are used.'),
  annotations: stringMap.default({}).describe('Annotations for the HTTPRoute.'),
  filters: kubernetesList.default([]).describe('Filters of the HTTPRoute’s rule, such as header modifiers.'),
  timeouts: z
    .strictObject({ request: gatewayDuration, backendRequest: gatewayDuration })
    .partial()
    .default({})
    .describe(
      'Timeouts of the HTTPRoute’s rule, such as `{"request": "300s"}`. If empty, the Gateway’s defaults are used.',
    ),
});

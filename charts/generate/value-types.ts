import { z } from 'zod';

/** Kubernetes checks these values itself. The chart passes them on unchanged. */
const kubernetesMap = z.record(z.string(), z.any());
export const kubernetesList = z.array(kubernetesMap);
export const stringMap = z.record(z.string(), z.string());

/** `500m`, `2Gi`, `0.5` */
export const quantity = z.union([z.string().regex(/^[0-9.]+([EPTGMk]i?|m)?$/), z.number().min(0)]);
export const count = z.int().min(0);
/** Empty, or a URL with its scheme. */
export const url = z.string().regex(/^(https?:\/\/.+)?$/);
/** An image digest. Empty: unset. */
export const digest = z.string().regex(/^(sha256:[0-9a-f]{64})?$/);
/** Part of an object's name. Empty: unset. */
export const dnsLabel = z.string().regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/);
export const port = z.int().min(1).max(65_535);

/** A switch next to the settings that it enables. */
export const enabled = (byDefault: boolean, description: string) =>
  z.boolean().default(byDefault).describe(description);

/** An object all of whose fields have defaults. */
export const group = <S extends z.ZodRawShape>(shape: S) => z.strictObject(shape).prefault({} as never);

/** Requests and limits of a container. */
export const resources = (requests: Readonly<Record<string, string>>, limits: Readonly<Record<string, string>>) =>
  z
    .strictObject({ requests: z.record(z.string(), quantity), limits: z.record(z.string(), quantity) })
    .partial()
    .default({ requests, limits })
    .describe('Requests and limits of the container.');

/** The values that all components' pods have in common. */
export const podValues = {
  serviceAccount: group({
    annotations: stringMap.default({}).describe('Annotations of its ServiceAccount.'),
  }),
  podAnnotations: stringMap.default({}).describe('Annotations of its pods.'),
  podLabels: stringMap.default({}).describe('Labels of its pods besides the chart’s own.'),
  extraEnv: kubernetesList.default([]).describe('More environment variables, such as `NODE_EXTRA_CA_CERTS`.'),
  extraVolumes: kubernetesList.default([]).describe('More volumes of its pods.'),
  extraVolumeMounts: kubernetesList.default([]).describe('Where the container sees them.'),
  nodeSelector: stringMap.default({}).describe('Nodes that its pods may run on.'),
  tolerations: kubernetesList.default([]).describe('Taints that its pods accept.'),
  affinity: kubernetesMap.default({}).describe('Affinity of its pods.'),
  topologySpreadConstraints: kubernetesList
    .default([])
    .describe('How its pods spread; empty: over nodes and zones where that is possible.'),
  priorityClassName: z.string().default('').describe('PriorityClass of its pods.'),
};

export const clickHouseSecret = group({
  existingSecret: z
    .string()
    .default('')
    .describe('Secret with this component’s own ClickHouse user; empty: `clickhouse.existingSecret`.'),
});

export const podDisruptionBudget = group({
  enabled: enabled(true, 'Keep evictions from taking all of its pods at once.'),
  maxUnavailable: z
    .union([count, z.string().regex(/^[0-9]+%$/)])
    .default(1)
    .describe('Pods that may be evicted at the same time.'),
});

export const service = (byDefault: { readonly port: number }) =>
  group({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('ClusterIP').describe('Type of its Service.'),
    port: port.default(byDefault.port).describe('Port of its Service.'),
    annotations: stringMap.default({}).describe('Annotations of its Service.'),
  });

export const ingress = group({
  enabled: enabled(false, 'Make an Ingress.'),
  className: z.string().default('').describe('Its IngressClass; empty: the cluster’s default.'),
  annotations: stringMap.default({}).describe('Its annotations.'),
  host: z.string().default('').describe('Host name; required where it is enabled.'),
  tlsSecret: z.string().default('').describe('Secret with the host’s certificate; empty: no TLS here.'),
});

export const httpRoute = group({
  enabled: enabled(false, 'Make a Gateway API HTTPRoute; its CRD has to be installed.'),
  parentRefs: kubernetesList.default([]).describe('Gateways that it is attached to; required where it is enabled.'),
  hostnames: z.array(z.string()).default([]).describe('Its host names; empty: those of the Gateway.'),
  annotations: stringMap.default({}).describe('Its annotations.'),
});

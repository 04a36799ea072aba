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
    annotations: stringMap.default({}).describe('Annotations of the ServiceAccount.'),
  }),
  podAnnotations: stringMap.default({}).describe('Annotations of the pods.'),
  podLabels: stringMap.default({}).describe('Additional labels of the pods.'),
  extraEnv: kubernetesList.default([]).describe('Additional environment variables, such as `NODE_EXTRA_CA_CERTS`.'),
  extraVolumes: kubernetesList.default([]).describe('Additional volumes of the pods.'),
  extraVolumeMounts: kubernetesList.default([]).describe('Additional volume mounts of the container.'),
  nodeSelector: stringMap.default({}).describe('Labels of the nodes on which the pods may run.'),
  tolerations: kubernetesList.default([]).describe('Tolerations of the pods.'),
  affinity: kubernetesMap.default({}).describe('Affinity of the pods.'),
  topologySpreadConstraints: kubernetesList
    .default([])
    .describe('Topology spread constraints of the pods. Empty: spread over nodes and zones if possible.'),
  priorityClassName: z.string().default('').describe('PriorityClass of the pods.'),
};

export const clickHouseSecret = group({
  existingSecret: z
    .string()
    .default('')
    .describe('Secret with the ClickHouse user of this component. Empty: `clickhouse.existingSecret`.'),
});

export const podDisruptionBudget = group({
  enabled: enabled(true, 'Prevent the eviction of all pods at the same time.'),
  maxUnavailable: z
    .union([count, z.string().regex(/^[0-9]+%$/)])
    .default(1)
    .describe('Pods that may be evicted at the same time.'),
});

export const service = (byDefault: { readonly port: number }) =>
  group({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('ClusterIP').describe('Type of the Service.'),
    port: port.default(byDefault.port).describe('Port of the Service.'),
    annotations: stringMap.default({}).describe('Annotations of the Service.'),
  });

export const ingress = group({
  enabled: enabled(false, 'Create an Ingress.'),
  className: z.string().default('').describe('IngressClass. Empty: the default of the cluster.'),
  annotations: stringMap.default({}).describe('Annotations of the Ingress.'),
  host: z.string().default('').describe('Host name. Required if the Ingress is enabled.'),
  tlsSecret: z.string().default('').describe('Secret with the certificate of the host. Empty: no TLS on the Ingress.'),
});

export const httpRoute = group({
  enabled: enabled(false, 'Create an HTTPRoute of the Gateway API. Requires its CRD.'),
  parentRefs: kubernetesList
    .default([])
    .describe('Gateways to attach the HTTPRoute to. Required if the HTTPRoute is enabled.'),
  hostnames: z.array(z.string()).default([]).describe('Host names. Empty: those of the Gateway.'),
  annotations: stringMap.default({}).describe('Annotations of the HTTPRoute.'),
});

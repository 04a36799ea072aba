import { z } from 'zod';

/** An object that the chart passes on unchanged and Kubernetes checks itself. */
const kubernetesMap = z.record(z.string(), z.any());
export const kubernetesList = z.array(kubernetesMap);
export const stringMap = z.record(z.string(), z.string());

/** A Kubernetes quantity, such as `500m`, `2Gi` or `0.5`. */
export const quantity = z.union([z.string().regex(/^[0-9.]+([EPTGMk]i?|m)?$/), z.number().min(0)]);
export const count = z.int().min(0);
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

/** The values that all components' pods have in common. */
export const podValues = {
  serviceAccount: group({
    annotations: stringMap.default({}).describe('Annotations for the ServiceAccount.'),
  }),
  podAnnotations: stringMap.default({}).describe('Annotations for the pods.'),
  podLabels: stringMap.default({}).describe('Additional labels for the pods.'),
  extraEnv: kubernetesList.default([]).describe('Additional environment variables, such as `NODE_EXTRA_CA_CERTS`.'),
  extraVolumes: kubernetesList.default([]).describe('Additional volumes for the pods.'),
  extraVolumeMounts: kubernetesList.default([]).describe('Additional volume mounts for the container.'),
  nodeSelector: stringMap.default({}).describe('Labels of the nodes where the pods may run.'),
  tolerations: kubernetesList.default([]).describe('Tolerations for the pods.'),
  affinity: kubernetesMap.default({}).describe('Affinity rules for the pods.'),
  topologySpreadConstraints: kubernetesList
    .default([])
    .describe(
      'Topology spread constraints for the pods. If empty, pods are spread across nodes and zones if possible.',
    ),
  priorityClassName: z.string().default('').describe('PriorityClass for the pods.'),
};

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
});

export const httpRoute = group({
  enabled: enabled(false, 'Create a Gateway API HTTPRoute. Requires its CRD.'),
  parentRefs: kubernetesList
    .default([])
    .describe('Gateways to attach the HTTPRoute to. Required if the HTTPRoute is enabled.'),
  hostnames: z.array(z.string()).default([]).describe('Host names. If empty, the Gateway’s host names are used.'),
  annotations: stringMap.default({}).describe('Annotations for the HTTPRoute.'),
});

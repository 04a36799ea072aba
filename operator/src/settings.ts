import { hostname } from 'node:os';
import { LIMITS, booleanSetting, httpUrlSetting, listSetting, logLevelSetting, portSetting } from '@standin/contract';
import {
  checkUpstreamUrl,
  isCidr,
  isTarget,
  parseTarget,
  RefusedTargets,
  targetOf,
  type Target,
} from '@standin/egress';
import { z } from 'zod';
import type { TranslateSettings } from './translate/index.ts';

/** All settings of the operator. docs/configuration.md is generated from this schema. */
export const operatorSettings = z.object({
  name: z
    .string()
    .min(1)
    .default(hostname())
    .describe('Name of this operator, unique among its replicas: the pod’s name.'),
  namespace: z
    .string()
    .min(1)
    .default('standin-system')
    .describe('Namespace of the operator’s own Lease and of the Secret with the stream’s certificates.'),
  watch: z
    .object({
      namespaces: listSetting(z.string().min(1))
        .default([])
        .describe('Namespaces whose resources are reconciled, separated by commas; empty: all.'),
    })
    .prefault({}),
  kubeconfig: z.string().optional().describe('Path of a kubeconfig; unset: the pod’s own ServiceAccount.'),
  stream: z
    .object({
      host: z.string().default('0.0.0.0').describe('Address on which the config stream for gateways listens.'),
      port: portSetting.default(9443).describe('Port of the config stream.'),
      url: z
        .url({ protocol: /^https$/ })
        .optional()
        .describe('URL under which gateways reach this replica’s stream, told by followers; unset: none is told.'),
      certificateSecret: z
        .string()
        .min(1)
        .default('standin-stream-tls')
        .describe('Secret with the stream’s CA and certificates, which the operator makes.'),
      certificateDir: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Folder with ca.crt, tls.crt and tls.key of the stream, which are read again when they change; unset: the operator creates certificates.',
        ),
      gatewayForgetMs: z.coerce
        .number()
        .int()
        .min(1_000)
        .default(LIMITS.gatewayForgetMs)
        .describe(
          'A gateway whose stream is gone for longer is no longer waited for, milliseconds; a revoked key waits until its pod is gone.',
        ),
    })
    .prefault({}),
  admin: z
    .object({
      host: z.string().default('0.0.0.0').describe('Address of /metrics, /healthz and /readyz.'),
      port: portSetting.default(9090).describe('Port of /metrics, /healthz and /readyz.'),
    })
    .prefault({}),
  gatewayUrl: httpUrlSetting
    .default('http://standin-gateway.standin-system.svc.cluster.local')
    .transform((url) => url.replace(/\/+$/, ''))
    .describe('Base URL under which callers reach the gateways; the URLs in status begin with it.'),
  clusterDomain: z.string().min(1).default('cluster.local').describe('DNS domain of the cluster, for serviceRef.'),
  egress: z
    .object({
      allowPrivate: booleanSetting
        .default(false)
        .describe('Accept upstream URLs with loopback and private addresses. Must be the same in the gateways.'),
      allow: listSetting(z.string().refine(isCidr, 'must be a network in CIDR notation, such as 10.20.0.0/16'))
        .default([])
        .describe('CIDRs of private upstreams that are allowed. Must be the same in the gateways.'),
      refuse: listSetting(z.string().refine(isTarget, 'must be a host and a port, such as clickhouse:8123'))
        .default([])
        .describe(
          'Hosts with ports, separated by commas, that are never accepted besides ClickHouse and the operator itself. Must be the same in the gateways.',
        ),
      ca: z
        .string()
        .optional()
        .describe('PEM certificates that targets of replays may have besides the machine’s own list.'),
    })
    .prefault({}),
  clickhouse: z
    .object({
      url: httpUrlSetting.optional().describe('URL of ClickHouse’s HTTP interface; unset: nothing can be replayed.'),
      username: z
        .string()
        .default('default')
        .describe('ClickHouse user; it needs SELECT on the log and INSERT and SELECT on replay_results.'),
      password: z.string().default('').describe('Password of the ClickHouse user.'),
      database: z.string().default('standin').describe('ClickHouse database that holds the log.'),
      cluster: z.string().optional().describe('ClickHouse cluster whose replicas keep the log; unset: one server.'),
      migrate: booleanSetting
        .default(true)
        .describe('Create or update the tables before the first replay; false if the user may not.'),
    })
    .prefault({}),
  replay: z
    .object({
      gatewayUrl: httpUrlSetting
        .optional()
        .describe('Base URL under which replays reach the gateways from inside; unset: gatewayUrl.'),
    })
    .prefault({}),
  quota: z
    .object({
      free: z.coerce
        .number()
        .int()
        .min(0)
        .default(100_000)
        .describe('Accepted requests a month of an account on the plan Free without monthlyQuota; 0: as many as come.'),
      pro: z.coerce
        .number()
        .int()
        .min(0)
        .default(10_000_000)
        .describe('Accepted requests a month of an account on the Pro plan without monthlyQuota; 0: as many as come.'),
    })
    .prefault({}),
  retention: z
    .object({
      daysMax: z.coerce
        .number()
        .int()
        .min(1)
        .max(LIMITS.retentionDaysMax)
        .default(LIMITS.retentionDaysMax)
        .describe(
          'Most days that log entries are kept, whatever a project asks for; entries keep what they came with.',
        ),
    })
    .prefault({}),
  drain: z
    .object({
      jobTemplate: z
        .string()
        .min(1)
        .optional()
        .describe(
          'File with the Job that delivers what is on the volume of a gateway that was scaled away, CLAIM where the claim’s name comes; unset: none is made.',
        ),
      statefulSet: z
        .string()
        .min(1)
        .default('standin-gateway')
        .describe('StatefulSet of the gateways, in the operator’s namespace.'),
      claims: z
        .string()
        .min(1)
        .default('app.kubernetes.io/component=gateway')
        .describe('Label selector of the gateways’ PersistentVolumeClaims.'),
      quietMs: z.coerce
        .number()
        .int()
        .min(0)
        .default(LIMITS.spoolQuietMs)
        .describe(
          'A volume beyond the StatefulSet’s replicas that no pod has had for this long is drained, milliseconds.',
        ),
    })
    .prefault({}),
  secretPollMs: z.coerce
    .number()
    .int()
    .min(500)
    .default(10_000)
    .describe('How often the Secret of each account’s key is read again, milliseconds.'),
  writesPerSecond: z.coerce
    .number()
    .min(1)
    .default(200)
    .describe('Most writes a second to the API server, mostly statuses; twice as many in a burst.'),
  logLevel: logLevelSetting.describe('Least severe level that is logged.'),
});

export type OperatorSettings = Readonly<z.infer<typeof operatorSettings>>;

/** Targets that are never upstreams, in addition to the addresses on which this process listens. */
export const refusedTargets = ({ egress, clickhouse }: OperatorSettings): readonly Target[] => [
  ...egress.refuse.map(parseTarget),
  ...(clickhouse.url === undefined ? [] : [targetOf(new URL(clickhouse.url))]),
];

/** The settings that the translator needs. */
export const translateSettings = (settings: OperatorSettings): TranslateSettings => {
  const refused = new RefusedTargets(refusedTargets(settings));
  return {
    gatewayUrl: settings.gatewayUrl,
    clusterDomain: settings.clusterDomain,
    checkUpstream: (url) => checkUpstreamUrl(url, settings.egress) ?? refused.check(targetOf(url)),
    quotaByPlan: { Free: settings.quota.free || undefined, Pro: settings.quota.pro || undefined },
    retentionDaysMax: settings.retention.daysMax,
  };
};

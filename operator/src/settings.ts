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
    .describe('Name of this operator, unique among its replicas. Usually the name of the pod.'),
  namespace: z
    .string()
    .min(1)
    .default('standin-system')
    .describe('Namespace of the operator’s Lease and of the Secret with the stream certificates.'),
  watch: z
    .object({
      namespaces: listSetting(z.string().min(1))
        .default([])
        .describe('Namespaces whose resources are reconciled, separated by commas. Empty: all.'),
    })
    .prefault({}),
  kubeconfig: z.string().optional().describe('Path of a kubeconfig. Unset: the ServiceAccount of the pod.'),
  stream: z
    .object({
      host: z.string().default('0.0.0.0').describe('Address on which the config stream for gateways listens.'),
      port: portSetting.default(9443).describe('Port of the config stream.'),
      url: z
        .url({ protocol: /^https$/ })
        .optional()
        .describe('URL of this replica’s stream, which followers send to gateways. Unset: they send none.'),
      certificateSecret: z
        .string()
        .min(1)
        .default('standin-stream-tls')
        .describe('Secret in which the operator stores the stream’s CA and certificates.'),
      certificateDir: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Folder with ca.crt, tls.crt and tls.key of the stream. Changes are detected. Unset: the operator creates certificates.',
        ),
      gatewayForgetMs: z.coerce
        .number()
        .int()
        .min(1_000)
        .default(LIMITS.gatewayForgetMs)
        .describe(
          'Milliseconds after which the operator no longer waits for a gateway without a stream. A revoked key waits until the pod is gone.',
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
    .describe('Base URL at which callers reach the gateways. The URLs in status start with it.'),
  clusterDomain: z.string().min(1).default('cluster.local').describe('DNS domain of the cluster, for serviceRef.'),
  egress: z
    .object({
      allowPrivate: booleanSetting
        .default(false)
        .describe('Accept upstream URLs with loopback and private addresses. Must be the same in the gateways.'),
      allow: listSetting(z.string().refine(isCidr, 'must be a network in CIDR notation, such as 10.20.0.0/16'))
        .default([])
        .describe('CIDRs of allowed private upstreams. Must be the same in the gateways.'),
      refuse: listSetting(z.string().refine(isTarget, 'must be a host and a port, such as clickhouse:8123'))
        .default([])
        .describe(
          'Hosts with ports, separated by commas, that are never accepted, in addition to ClickHouse and the operator. Must be the same in the gateways.',
        ),
      ca: z
        .string()
        .optional()
        .describe('PEM certificates of CAs to trust for replay targets, in addition to the system’s CAs.'),
    })
    .prefault({}),
  clickhouse: z
    .object({
      url: httpUrlSetting.optional().describe('URL of ClickHouse’s HTTP interface. Unset: replays are not possible.'),
      username: z
        .string()
        .default('default')
        .describe('ClickHouse user. Needs SELECT on the log, and INSERT and SELECT on replay_results.'),
      password: z.string().default('').describe('Password of the ClickHouse user.'),
      database: z.string().default('standin').describe('ClickHouse database that holds the log.'),
      cluster: z
        .string()
        .optional()
        .describe('ClickHouse cluster whose replicas store the log. Unset: a single server.'),
      migrate: booleanSetting
        .default(true)
        .describe('Create or update the tables before the first replay. Set to false if the user lacks the right.'),
    })
    .prefault({}),
  replay: z
    .object({
      gatewayUrl: httpUrlSetting
        .optional()
        .describe('Base URL at which replays reach the gateways inside the cluster. Unset: gatewayUrl.'),
    })
    .prefault({}),
  quota: z
    .object({
      free: z.coerce
        .number()
        .int()
        .min(0)
        .default(100_000)
        .describe('Requests per month that an account on the Free plan without monthlyQuota may accept. 0: unlimited.'),
      pro: z.coerce
        .number()
        .int()
        .min(0)
        .default(10_000_000)
        .describe('Requests per month that an account on the Pro plan without monthlyQuota may accept. 0: unlimited.'),
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
          'Maximum number of days that log entries are kept, which limits every project’s setting. Existing entries are not affected.',
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
          'File with the template of the Job that drains the volume of a removed gateway. CLAIM stands for the name of the claim. Unset: no Jobs are created.',
        ),
      statefulSet: z
        .string()
        .min(1)
        .default('standin-gateway')
        .describe('Name of the gateways’ StatefulSet, in the operator’s namespace.'),
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
        .describe('Milliseconds without a pod after which a volume beyond the StatefulSet’s replicas is drained.'),
    })
    .prefault({}),
  secretPollMs: z.coerce
    .number()
    .int()
    .min(500)
    .default(10_000)
    .describe('Interval at which the Secret of each account’s key is read, in milliseconds.'),
  writesPerSecond: z.coerce
    .number()
    .min(1)
    .default(200)
    .describe('Maximum number of writes per second to the API server, mostly statuses. Bursts may be twice as high.'),
  logLevel: logLevelSetting.describe('Lowest level that is logged.'),
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

import { hostname } from 'node:os';
import {
  LIMITS,
  adminSettings,
  gatewayUrlSetting,
  httpUrlSetting,
  logLevelSetting,
  portSetting,
  watchSetting,
} from '@standin/contract';
import { checkUpstreamUrl, egressSettings, parseTarget, RefusedTargets, urlTarget, type Target } from '@standin/egress';
import { migratingSettings } from '@standin/logstore';
import { z } from 'zod';
import type { RetentionSettings, TranslateSettings } from './translate/index.ts';

const requestsPerSecond = z.coerce.number().int().min(0).max(LIMITS.requestsPerSecondMax).default(0);

const retentionDaysMax = z.coerce.number().int().min(1).max(LIMITS.retentionDaysMax).optional();

/** All of the operator's settings. docs/reference/configuration.md is generated from this schema. */
export const operatorSettings = z.object({
  name: z
    .string()
    .min(1)
    .default(hostname())
    .describe('Name of this operator, unique among its replicas. Usually the pod’s name.'),
  namespace: z
    .string()
    .min(1)
    .default('standin-system')
    .describe('Namespace of the operator’s Lease and of the Secret with the stream certificates.'),
  watch: watchSetting,
  kubeconfig: z.string().optional().describe('Path to a kubeconfig file. If unset, the pod’s ServiceAccount is used.'),
  stream: z
    .object({
      host: z.string().default('0.0.0.0').describe('Address on which the config stream for gateways listens.'),
      port: portSetting.default(9443).describe('Port of the config stream.'),
      url: z
        .url({ protocol: /^https$/ })
        .optional()
        .describe(
          'URL of this replica’s config stream. While this replica leads, followers give gateways this URL. If unset, they cannot.',
        ),
      certificateSecret: z
        .string()
        .min(1)
        .default('standin-stream-tls')
        .describe('Secret where the operator stores the stream’s CA and certificates.'),
      certificateDir: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Folder with the stream’s ca.crt, tls.crt and tls.key. Changes are detected. If unset, the operator creates certificates.',
        ),
      gatewayForgetMs: z.coerce
        .number()
        .int()
        .min(1_000)
        .default(LIMITS.gatewayForgetMs)
        .describe(
          'Milliseconds after which the operator no longer waits for a gateway without a stream. The revocation of a key waits until the pod is gone.',
        ),
    })
    .prefault({}),
  admin: adminSettings,
  gatewayUrl: gatewayUrlSetting.describe(
    'Base URL at which callers reach the gateways. URLs in status fields start with it.',
  ),
  clusterDomain: z
    .string()
    .min(1)
    .default('cluster.local')
    .describe('The cluster’s DNS domain. serviceRef uses it to build the names of Services.'),
  egress: egressSettings,
  clickhouse: migratingSettings
    .extend({
      url: httpUrlSetting
        .optional()
        .describe('URL of ClickHouse’s HTTP interface. If unset, replays and purges are unavailable.'),
    })
    .prefault({}),
  replay: z
    .object({
      gatewayUrl: httpUrlSetting
        .optional()
        .describe('Base URL at which replays reach the gateways inside the cluster. If unset, gatewayUrl is used.'),
    })
    .prefault({}),
  quota: z
    .object({
      free: z.coerce
        .number()
        .int()
        .min(0)
        .default(100_000)
        .describe(
          'Default monthly request quota for accounts on the Free plan that do not set monthlyQuota. 0 means unlimited.',
        ),
      pro: z.coerce
        .number()
        .int()
        .min(0)
        .default(10_000_000)
        .describe(
          'Default monthly request quota for accounts on the Pro plan that do not set monthlyQuota. 0 means unlimited.',
        ),
    })
    .prefault({}),
  requestsPerSecond: z
    .object({
      free: requestsPerSecond.describe(
        'Maximum number of requests per second that each gateway accepts from an account on the Free plan. 0 means unlimited.',
      ),
      pro: requestsPerSecond.describe(
        'Maximum number of requests per second that each gateway accepts from an account on the Pro plan. 0 means unlimited.',
      ),
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
          'Maximum number of days for which captured requests are kept. Limits every project’s setting. Requests that are already captured are not affected.',
        ),
      freeDaysMax: retentionDaysMax.describe(
        'The same for projects of accounts on the Free plan. If unset, only retention.daysMax applies.',
      ),
      proDaysMax: retentionDaysMax.describe(
        'The same for projects of accounts on the Pro plan. If unset, only retention.daysMax applies.',
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
          'File with the template for the Job that drains a removed gateway’s volume. CLAIM is the placeholder for the claim’s name. If unset, no Jobs are created.',
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
        .describe('Label selector for the gateways’ PersistentVolumeClaims.'),
      quietMs: z.coerce
        .number()
        .int()
        .min(0)
        .default(LIMITS.spoolQuietMs)
        .describe(
          'Milliseconds for which a volume beyond the StatefulSet’s replica count must have no pod before it is drained.',
        ),
    })
    .prefault({}),
  namespaceBytesMax: z.coerce
    .number()
    .int()
    .min(1024 * 1024)
    .default(LIMITS.namespaceBytesMax)
    .describe(
      'Maximum size in bytes of the objects of one namespace as JSON, where each object counts 8 KiB more. The oldest objects up to this size are used. They take about three times as much of the operator’s memory.',
    ),
  secretPollMs: z.coerce
    .number()
    .int()
    .min(500)
    .default(10_000)
    .describe(
      'Interval at which the Secrets with API keys, of Endpoints and with identities are read, in milliseconds.',
    ),
  writesPerSecond: z.coerce
    .number()
    .min(1)
    .default(200)
    .describe(
      'Maximum number of writes to the API server per second, most of which are status writes. Writes of quota ledgers have the same limit, but count separately. Bursts may be twice as high.',
    ),
  logLevel: logLevelSetting.describe('Lowest level to log.'),
});

export type OperatorSettings = Readonly<z.infer<typeof operatorSettings>>;

/** Returns the targets that are never allowed as upstreams, in addition to the addresses on which this process listens. */
export const refusedTargets = ({ egress, clickhouse }: OperatorSettings): readonly Target[] => [
  ...egress.refuse.map(parseTarget),
  ...(clickhouse.url === undefined ? [] : [urlTarget(new URL(clickhouse.url))]),
];

/** Returns the settings that limit retention. */
export const retentionSettings = ({ retention }: Pick<OperatorSettings, 'retention'>): RetentionSettings => ({
  retentionDaysMax: retention.daysMax,
  retentionDaysMaxByPlan: { Free: retention.freeDaysMax, Pro: retention.proDaysMax },
});

/** Returns the settings that the translator needs. */
export const translateSettings = (settings: OperatorSettings): TranslateSettings => {
  const refused = new RefusedTargets(refusedTargets(settings));
  return {
    gatewayUrl: settings.gatewayUrl,
    clusterDomain: settings.clusterDomain,
    checkUpstream: (url) => checkUpstreamUrl(url, settings.egress) ?? refused.check(urlTarget(url)),
    quotaByPlan: { Free: settings.quota.free || undefined, Pro: settings.quota.pro || undefined },
    requestsPerSecondByPlan: {
      Free: settings.requestsPerSecond.free || undefined,
      Pro: settings.requestsPerSecond.pro || undefined,
    },
    ...retentionSettings(settings),
  };
};

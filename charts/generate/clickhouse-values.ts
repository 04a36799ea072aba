import { z } from 'zod';
import { enabled, group, quantity, resources, url } from './value-types.ts';

/** Runs the engine of `standin dev` as a server in the cluster, so that you can try Standin without any other software. */
const embedded = group({
  enabled: enabled(
    false,
    'Run the engine of `standin dev` as one pod, to evaluate Standin. Not for production: one process, no replica, no backup. Replaces `clickhouse.url`.',
  ),
  persistence: group({
    enabled: enabled(true, 'Use a volume for the data. False: emptyDir, and the log is lost with the pod.'),
    size: quantity.default('10Gi').describe('Size of the volume.'),
    storageClass: z.string().default('').describe('StorageClass of the volume. Empty: the default of the cluster.'),
  }),
  resources: resources({ cpu: '250m', memory: '1Gi' }, { memory: '3Gi' }),
});

const migrationsJob = group({
  enabled: enabled(
    false,
    'Create and update the tables in a Job before the rest is installed or upgraded. Replaces `clickhouse.migrate`, so the other ClickHouse users do not need that right.',
  ),
  existingSecret: z
    .string()
    .default('')
    .describe('Secret with the ClickHouse user of this Job. Empty: `clickhouse.existingSecret`.'),
});

/** Where the log is stored: your own server, or the embedded engine. */
export const clickhouse = group({
  url: url
    .default('')
    .describe(
      'URL of ClickHouse’s HTTP interface: http://clickhouse:8123. Required, unless `clickhouse.embedded.enabled`.',
    ),
  database: z.string().min(1).default('standin').describe('Database that holds the log.'),
  cluster: z.string().default('').describe('Cluster whose replicas store the log. Empty: a single server.'),
  migrate: z
    .boolean()
    .default(true)
    .describe('Let gateways and operator create and update the tables. Set to false if their user lacks the right.'),
  migrationsJob,
  existingSecret: z
    .string()
    .default('')
    .describe(
      'Secret with a ClickHouse user. Required unless each component has its own. The embedded engine uses this user; if empty, the chart creates the Secret.',
    ),
  dangerouslyAllowNoPassword: z
    .boolean()
    .default(false)
    .describe(
      'Allow ClickHouse without a password, with the user `default` if no Secret is set. Any Endpoint that reaches ClickHouse through a Service can then read and change the log.',
    ),
  usernameKey: z.string().min(1).default('username').describe('Key of the user name in the Secret.'),
  passwordKey: z.string().min(1).default('password').describe('Key of the password in the Secret.'),
  embedded,
});

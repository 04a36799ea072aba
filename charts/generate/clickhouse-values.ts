import { z } from 'zod';
import { enabled, group, quantity, resources, url } from './value-types.ts';

/** Values for the engine of `standin dev`, which can run in the cluster, so that you can try Standin without other software. */
const embedded = group({
  enabled: enabled(
    false,
    'Run the engine of `standin dev` as one pod, to evaluate Standin. Do not use it in production, because it is a single process without replicas or backups. Replaces `clickhouse.url`.',
  ),
  persistence: group({
    enabled: enabled(true, 'Use a volume for the data. If false, use an emptyDir, so the log is lost with the pod.'),
    size: quantity.default('10Gi').describe('Volume size.'),
    storageClass: z
      .string()
      .default('')
      .describe('StorageClass for the volume. If empty, the cluster’s default is used.'),
  }),
  resources: resources({ cpu: '250m', memory: '1Gi' }, { memory: '3Gi' }),
});

const migrationsJob = group({
  enabled: enabled(
    false,
    'Create and update the tables in a Job before the other components are installed or upgraded. Replaces `clickhouse.migrate`, so other ClickHouse users do not need these privileges.',
  ),
  existingSecret: z
    .string()
    .default('')
    .describe('Secret with the ClickHouse user for this Job. If empty, `clickhouse.existingSecret` is used.'),
});

/** Values for ClickHouse, which stores the log. It is either your own server or the embedded engine. */
export const clickhouse = group({
  url: url
    .default('')
    .describe(
      'URL of ClickHouse’s HTTP interface, such as http://clickhouse:8123. Required unless `clickhouse.embedded.enabled` is true.',
    ),
  database: z.string().min(1).default('standin').describe('Database that holds the log.'),
  cluster: z
    .string()
    .default('')
    .describe('Cluster whose replicas store the log. If empty, the log is on a single server.'),
  migrate: z
    .boolean()
    .default(true)
    .describe(
      'Let the gateways and the operator create and update the tables. Set to false if their ClickHouse user lacks the required privileges.',
    ),
  migrationsJob,
  existingSecret: z
    .string()
    .default('')
    .describe(
      'Secret with a ClickHouse user. Required unless each component has its own. The embedded engine uses this user. If empty, the chart creates the Secret for it.',
    ),
  dangerouslyAllowNoPassword: z
    .boolean()
    .default(false)
    .describe(
      'Allow ClickHouse without a password, with the user `default` if no Secret is set. Any Endpoint that reaches ClickHouse through a Service can then read and change the log.',
    ),
  usernameKey: z.string().min(1).default('username').describe('Key in the Secret that contains the user name.'),
  passwordKey: z.string().min(1).default('password').describe('Key in the Secret that contains the password.'),
  embedded,
});

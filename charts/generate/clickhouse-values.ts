import { z } from 'zod';
import { enabled, group, quantity, resources, url } from './value-types.ts';

/** Runs the engine of `standin dev` as a server in the cluster, so that you can try Standin without any other software. */
const embedded = group({
  enabled: enabled(
    false,
    'Run the engine of `standin dev` as one pod, to try Standin out. Never for production: one process, no replica, no backup. In place of `clickhouse.url`.',
  ),
  persistence: group({
    enabled: enabled(true, 'A volume for its data. false: emptyDir, and the log goes with the pod.'),
    size: quantity.default('10Gi').describe('Size of the volume.'),
    storageClass: z.string().default('').describe('Its StorageClass; empty: the cluster’s default.'),
  }),
  resources: resources({ cpu: '250m', memory: '1Gi' }, { memory: '3Gi' }),
});

const migrationsJob = group({
  enabled: enabled(
    false,
    'Create and update the tables in a Job, before anything else is installed or upgraded, in place of `clickhouse.migrate`: then the other users need not be allowed to.',
  ),
  existingSecret: z
    .string()
    .default('')
    .describe('Secret with the ClickHouse user of this Job; empty: `clickhouse.existingSecret`.'),
});

/** Where the log is stored: your own server, or the embedded engine. */
export const clickhouse = group({
  url: url
    .default('')
    .describe(
      'URL of ClickHouse’s HTTP interface: http://clickhouse:8123. Required, unless `clickhouse.embedded.enabled`.',
    ),
  database: z.string().min(1).default('standin').describe('Database that holds the log.'),
  cluster: z.string().default('').describe('Cluster whose replicas keep the log; empty: one server.'),
  migrate: z
    .boolean()
    .default(true)
    .describe('Gateways and operator create and update the tables; false if their user may not.'),
  migrationsJob,
  existingSecret: z
    .string()
    .default('')
    .describe(
      'Secret with a ClickHouse user. Required, unless each component has its own. For the embedded engine: the one that it takes; empty: the chart makes it.',
    ),
  dangerouslyAllowNoPassword: z
    .boolean()
    .default(false)
    .describe(
      'Accept a ClickHouse without a password: the user `default` where no Secret is named. Every Endpoint that reaches ClickHouse by way of a Service can then read and change the log.',
    ),
  usernameKey: z.string().min(1).default('username').describe('Key of the user’s name in it.'),
  passwordKey: z.string().min(1).default('password').describe('Key of the user’s password in it.'),
  embedded,
});

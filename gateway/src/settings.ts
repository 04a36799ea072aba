import { hostname } from 'node:os';
import { LIMITS, listSetting } from '@standin/contract';
import { isCidr, isTarget } from '@standin/egress';
import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);
const bytes = z.coerce.number().int().min(1_024);
const milliseconds = z.coerce.number().int().min(0);
const timeout = z.coerce.number().int().min(100);

/** Every setting of the gateway; docs/configuration.md is generated from this. */
export const gatewaySettings = z.object({
  host: z.string().default('0.0.0.0').describe('Address on which callers are answered.'),
  port: port.default(8080).describe('Port on which callers are answered; 0 takes a free one.'),
  admin: z
    .object({
      host: z.string().default('0.0.0.0').describe('Address of /metrics, /healthz and /readyz.'),
      port: port.default(9090).describe('Port of /metrics, /healthz and /readyz; 0 takes a free one.'),
    })
    .prefault({}),
  name: z
    .string()
    .min(1)
    .max(253)
    .default(hostname())
    .describe('Name of this gateway, unique among its replicas: the pod’s name.'),
  dataDir: z
    .string()
    .min(1)
    .default('/var/lib/standin-gateway')
    .describe('Folder on a volume of its own: the copy of the configuration, and the spool.'),
  durability: z
    .enum(['disk', 'process'])
    .default('disk')
    .describe(
      'disk: what was answered survives a power cut; process: it survives the end of the process, but not of the machine.',
    ),
  spool: z
    .object({
      dir: z
        .string()
        .min(1)
        .optional()
        .describe('Folder in which requests wait for ClickHouse; unset: the folder spool in dataDir.'),
      bytes: bytes
        .default(LIMITS.spoolBytesMax)
        .describe(
          'Largest size of the spool; 503 above it: requests per second × bytes of each × seconds of an outage.',
        ),
      segmentBytes: bytes
        .default(LIMITS.flushBytesMax)
        .describe('Largest size of a segment of the spool, which is also that of an insert into ClickHouse.'),
      reserveBytes: z.coerce
        .number()
        .int()
        .min(0)
        .default(LIMITS.inFlightBytesMax)
        .describe('Room that is left on the spool’s disk, for answers to accepted requests; 503 below it.'),
      quietMs: timeout
        .default(LIMITS.spoolQuietMs)
        .describe('What another process left in the spool and has not changed for this long is taken for abandoned.'),
    })
    .prefault({}),
  operator: z
    .object({
      urls: listSetting(z.url({ protocol: /^https$/ }))
        .default(['https://standin-operator.standin-system.svc.cluster.local:9443'])
        .describe('URLs of the operator’s config stream, separated by commas; every address of every name is tried.'),
      tls: z
        .object({
          dir: z
            .string()
            .min(1)
            .default('/etc/standin/stream-tls')
            .describe('Folder with ca.crt, tls.crt and tls.key for the config stream; read again at each connection.'),
        })
        .prefault({}),
    })
    .prefault({}),
  clickhouse: z
    .object({
      url: z
        .url({ protocol: /^https?$/ })
        .default('http://localhost:8123')
        .describe('URL of ClickHouse’s HTTP interface.'),
      username: z.string().default('default').describe('ClickHouse user; it needs INSERT on the log’s table.'),
      password: z.string().default('').describe('Password of the ClickHouse user.'),
      database: z.string().default('standin').describe('ClickHouse database that holds the log.'),
      timeoutMs: timeout
        .default(35_000)
        .describe('Longest wait for ClickHouse’s answer to an insert; after it the same bytes are sent again.'),
      cluster: z.string().optional().describe('ClickHouse cluster whose replicas keep the log; unset: one server.'),
      migrate: z
        .stringbool()
        .or(z.boolean())
        .default(true)
        .describe('Create or update the log’s tables before the first insert; false if the user may only insert.'),
    })
    .prefault({}),
  apiKeyHeader: z
    .object({
      name: z
        .enum(['exact', 'any-case'])
        .default('exact')
        .describe('exact: only the lowercase name x-api-key is accepted; any-case: for clients that capitalise it.'),
    })
    .prefault({}),
  limits: z
    .object({
      requestBodyBytes: bytes
        .default(LIMITS.requestBodyBytesMax)
        .describe('Largest request body; 413 above it. Stored whole, never cut.'),
      requestHeadBytes: bytes
        .default(LIMITS.requestHeadBytesMax)
        .describe('Largest request line and headers together; 431 above it.'),
      requestTargetBytes: bytes
        .default(LIMITS.requestTargetBytesMax)
        .describe('Longest path and query together; 414 above it.'),
      requestHeadTimeoutMs: timeout
        .default(LIMITS.requestHeadTimeoutMs)
        .describe('Time for a whole request head to arrive; 408 after it.'),
      requestTimeoutMs: timeout
        .default(LIMITS.requestTimeoutMs)
        .describe('Time for a whole request, head and body, to arrive; 408 after it.'),
      responseStallTimeoutMs: timeout
        .default(LIMITS.responseStallTimeoutMs)
        .describe(
          'A caller that takes no byte of its answer for this long is cut off; once it is gone, the answer is read for this long, for the log.',
        ),
      keepAliveTimeoutMs: timeout
        .default(LIMITS.keepAliveTimeoutMs)
        .describe('How long an idle connection is kept; longer than the load balancer in front keeps it.'),
      connections: z.coerce
        .number()
        .int()
        .min(1)
        .default(20_000)
        .describe('Open connections of callers, and requests that run at once; more are refused.'),
      inFlightBytes: bytes
        .default(LIMITS.inFlightBytesMax)
        .describe('Memory for running requests (heads and bodies) and log rows that wait for the disk; 503 above it.'),
      responseCaptureBytes: bytes
        .default(LIMITS.responseCaptureBytesMax)
        .describe('How much of an upstream’s answer is stored; the whole answer reaches the caller.'),
    })
    .prefault({}),
  egress: z
    .object({
      allowPrivate: z
        .stringbool()
        .or(z.boolean())
        .default(false)
        .describe('Let Forward reach loopback and private addresses: for a person’s own machine, not for a cluster.'),
      allow: listSetting(z.string().refine(isCidr, 'must be a network in CIDR notation, such as 10.20.0.0/16'))
        .default([])
        .describe('Private networks in CIDR notation that Forward may reach, separated by commas.'),
      refuse: listSetting(z.string().refine(isTarget, 'must be a host and a port, such as clickhouse:8123'))
        .default([])
        .describe(
          'Hosts with ports, separated by commas, that Forward never reaches, besides ClickHouse, the operators’ stream and the gateway’s own metrics.',
        ),
      ca: z.string().optional().describe('PEM certificates that upstreams may have besides the machine’s own list.'),
    })
    .prefault({}),
  drainMs: milliseconds
    .default(5_000)
    .describe('After a stop signal new requests are still answered for this long, until load balancers have noticed.'),
  drainTimeoutMs: milliseconds
    .default(20_000)
    .describe(
      'Longest wait for running requests, and then for the log’s delivery, before the process ends; the rest waits on disk.',
    ),
  tracing: z
    .object({
      url: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe(
          'Where OpenTelemetry spans of accepted requests go, by OTLP over HTTP: http://collector:4318/v1/traces. Unset: no spans.',
        ),
      sampleRatio: z.coerce
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe(
          'Share of requests that get a span, of those whose caller sent no traceparent, which decides it otherwise.',
        ),
    })
    .prefault({}),
  logLevel: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least severe level that is logged.'),
  maxStalenessMs: milliseconds
    .refine((ms) => ms === 0 || ms >= LIMITS.maxStalenessMsMin, `must be 0, or at least ${LIMITS.maxStalenessMsMin}`)
    // The chart's schema has the same rule.
    .meta({ not: { exclusiveMinimum: 0, exclusiveMaximum: LIMITS.maxStalenessMsMin } })
    .default(0)
    .describe(
      `Without word from the operator for this long, requests get 503; at least ${LIMITS.maxStalenessMsMin}, and more than the 15 s that another operator takes to lead. 0: the last configuration stays in force.`,
    ),
});

export type GatewaySettings = Readonly<z.infer<typeof gatewaySettings>>;

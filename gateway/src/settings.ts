import { hostname } from 'node:os';
import { LIMITS, booleanSetting, httpUrlSetting, listSetting, logLevelSetting, portSetting } from '@standin/contract';
import { isCidr, isTarget } from '@standin/egress';
import { z } from 'zod';

const bytes = z.coerce.number().int().min(1_024);
const milliseconds = z.coerce.number().int().min(0);
const timeout = z.coerce.number().int().min(100);

/** Every setting of the gateway; docs/configuration.md is generated from this. */
export const gatewaySettings = z.object({
  host: z.string().default('0.0.0.0').describe('Address to listen on for callers.'),
  port: portSetting.default(8080).describe('Port to listen on for callers; 0 selects a free one.'),
  admin: z
    .object({
      host: z.string().default('0.0.0.0').describe('Address of /metrics, /healthz and /readyz.'),
      port: portSetting.default(9090).describe('Port of /metrics, /healthz and /readyz; 0 selects a free one.'),
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
    .describe('Folder on a separate volume for the copy of the configuration and the spool.'),
  durability: z
    .enum(['disk', 'process'])
    .default('disk')
    .describe(
      'disk: recorded requests survive a power cut; process: they survive the end of the process, but not of the machine.',
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
          'Largest size of the spool; 503 above it. Estimate it as requests per second × bytes per request × seconds of an outage.',
        ),
      segmentBytes: bytes
        .default(LIMITS.flushBytesMax)
        .describe('Largest size of a segment of the spool, and so of an insert into ClickHouse.'),
      reserveBytes: z.coerce
        .number()
        .int()
        .min(0)
        .default(LIMITS.inFlightBytesMax)
        .describe('Space that stays free on the spool’s disk for responses to accepted requests; 503 below it.'),
      quietMs: timeout
        .default(LIMITS.spoolQuietMs)
        .describe('A segment of another process that has not changed for this long counts as abandoned.'),
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
      url: httpUrlSetting.default('http://localhost:8123').describe('URL of ClickHouse’s HTTP interface.'),
      username: z.string().default('default').describe('ClickHouse user; it needs INSERT on the log’s table.'),
      password: z.string().default('').describe('Password of the ClickHouse user.'),
      database: z.string().default('standin').describe('ClickHouse database that holds the log.'),
      timeoutMs: timeout
        .default(35_000)
        .describe('Longest wait for ClickHouse’s response to an insert; after that, the same bytes are sent again.'),
      cluster: z
        .string()
        .optional()
        .describe('ClickHouse cluster whose replicas store the log; unset: a single server.'),
      migrate: booleanSetting
        .default(true)
        .describe('Create or update the log’s tables before the first insert; false if the user may only insert.'),
    })
    .prefault({}),
  apiKeyHeader: z
    .object({
      name: z
        .enum(['exact', 'any-case'])
        .default('exact')
        .describe(
          'exact: only the lowercase name x-api-key is accepted; any-case: any case, for clients that capitalise it.',
        ),
    })
    .prefault({}),
  limits: z
    .object({
      requestBodyBytes: bytes
        .default(LIMITS.requestBodyBytesMax)
        .describe('Largest request body; 413 above it. Bodies are never truncated.'),
      requestHeadBytes: bytes
        .default(LIMITS.requestHeadBytesMax)
        .describe('Largest total size of request line and headers; 431 above it.'),
      requestTargetBytes: bytes
        .default(LIMITS.requestTargetBytesMax)
        .describe('Longest path and query in total; 414 above it.'),
      requestHeadTimeoutMs: timeout
        .default(LIMITS.requestHeadTimeoutMs)
        .describe('Time for a whole request head to arrive; 408 after it.'),
      requestTimeoutMs: timeout
        .default(LIMITS.requestTimeoutMs)
        .describe('Time for a whole request, head and body, to arrive; 408 after it.'),
      responseStallTimeoutMs: timeout
        .default(LIMITS.responseStallTimeoutMs)
        .describe(
          'A caller that reads nothing of its response for this long is disconnected. The log gets the part of the response that arrives within this time after a disconnect.',
        ),
      keepAliveTimeoutMs: timeout
        .default(LIMITS.keepAliveTimeoutMs)
        .describe(
          'How long an idle connection stays open. Set it higher than the idle timeout of the load balancer in front.',
        ),
      connections: z.coerce
        .number()
        .int()
        .min(1)
        .default(20_000)
        .describe('Limit of open connections, and of concurrent requests; more are refused.'),
      inFlightBytes: bytes
        .default(LIMITS.inFlightBytesMax)
        .describe('Memory for running requests (heads and bodies) and log rows that wait for the disk; 503 above it.'),
      responseCaptureBytes: bytes
        .default(LIMITS.responseCaptureBytesMax)
        .describe('How much of an upstream’s response is stored; the caller gets the whole response.'),
    })
    .prefault({}),
  egress: z
    .object({
      allowPrivate: booleanSetting
        .default(false)
        .describe('Allow Forward to loopback and private addresses: for a developer’s machine, not for a cluster.'),
      allow: listSetting(z.string().refine(isCidr, 'must be a network in CIDR notation, such as 10.20.0.0/16'))
        .default([])
        .describe('Private networks in CIDR notation that Forward may reach, separated by commas.'),
      refuse: listSetting(z.string().refine(isTarget, 'must be a host and a port, such as clickhouse:8123'))
        .default([])
        .describe(
          'Hosts with ports, separated by commas, that Forward never reaches, besides ClickHouse, the operators’ stream and the gateway’s own metrics.',
        ),
      ca: z
        .string()
        .optional()
        .describe('PEM certificates to trust for upstreams, in addition to those of the machine.'),
    })
    .prefault({}),
  drainMs: milliseconds
    .default(5_000)
    .describe('How long new requests are still served after a stop signal, until load balancers have noticed it.'),
  drainTimeoutMs: milliseconds
    .default(20_000)
    .describe(
      'Longest wait for running requests, and then for the delivery of the log, before the process ends; the rest stays on disk.',
    ),
  tracing: z
    .object({
      url: httpUrlSetting
        .optional()
        .describe(
          'Destination of OpenTelemetry spans of accepted requests (OTLP over HTTP): http://collector:4318/v1/traces. Unset: no spans.',
        ),
      sampleRatio: z.coerce
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe('Share of requests without a traceparent that get a span. With a traceparent, the caller decides.'),
    })
    .prefault({}),
  logLevel: logLevelSetting.describe('Lowest level to log.'),
  maxStalenessMs: milliseconds
    .refine((ms) => ms === 0 || ms >= LIMITS.maxStalenessMsMin, `must be 0, or at least ${LIMITS.maxStalenessMsMin}`)
    // The chart's schema has the same rule.
    .meta({ not: { exclusiveMinimum: 0, exclusiveMaximum: LIMITS.maxStalenessMsMin } })
    .default(0)
    .describe(
      `Requests get 503 after this time without contact to the operator. At least ${LIMITS.maxStalenessMsMin}, and more than the 15 s that a leader election takes. 0: the last configuration stays active.`,
    ),
});

export type GatewaySettings = Readonly<z.infer<typeof gatewaySettings>>;

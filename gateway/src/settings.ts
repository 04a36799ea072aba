import { hostname } from 'node:os';
import { LIMITS, booleanSetting, httpUrlSetting, listSetting, logLevelSetting, portSetting } from '@standin/contract';
import { isCertificates, isCidr, isTarget } from '@standin/egress';
import { z } from 'zod';

const bytes = z.coerce.number().int().min(1_024);
const milliseconds = z.coerce.number().int().min(0);
const timeout = z.coerce.number().int().min(100);

/** All gateway settings. docs/reference/configuration.md is generated from this schema. */
export const gatewaySettings = z.object({
  host: z.string().default('0.0.0.0').describe('Address to listen on for callers.'),
  port: portSetting.default(8080).describe('Port to listen on for callers. 0 selects a free port.'),
  admin: z
    .object({
      host: z.string().default('0.0.0.0').describe('Address on which /metrics, /healthz and /readyz are served.'),
      port: portSetting
        .default(9090)
        .describe('Port on which /metrics, /healthz and /readyz are served. 0 selects a free port.'),
    })
    .prefault({}),
  name: z
    .string()
    .min(1)
    .max(253)
    .default(hostname())
    .describe('Name of this gateway, unique among its replicas. In a cluster, this is the pod name.'),
  dataDir: z
    .string()
    .min(1)
    .default('/var/lib/standin-gateway')
    .describe('Folder for the configuration copy and the spool. Use a separate volume.'),
  durability: z
    .enum(['disk', 'process'])
    .default('disk')
    .describe(
      'disk: recorded requests survive a power failure. process: they survive a crash of the process, but not of the machine.',
    ),
  spool: z
    .object({
      dir: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Folder that stores captured requests until they are written to ClickHouse. If unset, the spool folder in dataDir is used.',
        ),
      bytes: bytes
        .default(LIMITS.spoolBytesMax)
        .describe(
          'Maximum size of the spool. When it is reached, requests are rejected with 503. One namespace can use four fifths of it, two use four ninths each. Estimate it as requests per second × bytes per request × seconds of an outage.',
        ),
      segmentBytes: bytes
        .default(LIMITS.flushBytesMax)
        .describe('Maximum size of a spool segment, and therefore of an insert into ClickHouse.'),
      reserveBytes: z.coerce
        .number()
        .int()
        .min(0)
        .default(LIMITS.inFlightBytesMax)
        .describe(
          'Space to keep free on the spool’s disk for responses to accepted requests. Below this, requests are rejected with 503.',
        ),
      quietMs: timeout
        .default(LIMITS.spoolQuietMs)
        .describe('How long the last segment of an earlier process must be unchanged before it is removed.'),
    })
    .prefault({}),
  operator: z
    .object({
      urls: listSetting(z.url({ protocol: /^https$/ }))
        .default(['https://standin-operator.standin-system.svc.cluster.local:9443'])
        .describe(
          'Comma-separated URLs of the operator’s config stream. The gateway tries every address of every host name.',
        ),
      tls: z
        .object({
          dir: z
            .string()
            .min(1)
            .default('/etc/standin/stream-tls')
            .describe(
              'Folder that contains ca.crt, tls.crt and tls.key for the config stream. The files are read again for each connection.',
            ),
        })
        .prefault({}),
    })
    .prefault({}),
  clickhouse: z
    .object({
      url: httpUrlSetting.default('http://localhost:8123').describe('URL of ClickHouse’s HTTP interface.'),
      username: z
        .string()
        .default('default')
        .describe('ClickHouse user. docs/guides/install.md lists the privileges that each process needs.'),
      password: z.string().default('').describe('Password of the ClickHouse user.'),
      loginDir: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Folder with the files username and password, such as a mounted Secret. They replace clickhouse.username and clickhouse.password, and are read again for each call.',
        ),
      database: z.string().default('standin').describe('ClickHouse database that holds the log.'),
      timeoutMs: timeout
        .default(35_000)
        .describe(
          'Maximum time to wait for ClickHouse’s response to an insert. After that, the same bytes are sent again.',
        ),
      cluster: z
        .string()
        .optional()
        .describe('ClickHouse cluster whose replicas store the log. If unset, the log is on a single server.'),
      migrate: booleanSetting
        .default(true)
        .describe(
          'Create or update the log tables before they are first used. Set to false if the ClickHouse user lacks the required privileges.',
        ),
    })
    .prefault({}),
  apiKeyHeader: z
    .object({
      name: z
        .enum(['exact', 'any-case'])
        .default('exact')
        .describe(
          'exact: only the lowercase name x-api-key is accepted. any-case: any case is accepted, for clients that capitalize it.',
        ),
    })
    .prefault({}),
  limits: z
    .object({
      requestBodyBytes: bytes
        .default(LIMITS.requestBodyBytesMax)
        .describe('Maximum size of a request body. Larger bodies are rejected with 413, never truncated.'),
      requestHeadBytes: bytes
        .default(LIMITS.requestHeadBytesMax)
        .describe('Maximum total size of the request line and headers. Larger heads are rejected with 431.'),
      requestTargetBytes: bytes
        .default(LIMITS.requestTargetBytesMax)
        .describe('Maximum total length of the path and query. Longer targets are rejected with 414.'),
      requestHeadTimeoutMs: timeout
        .default(LIMITS.requestHeadTimeoutMs)
        .describe('Maximum time for a complete request head to arrive. Slower requests are rejected with 408.'),
      requestTimeoutMs: timeout
        .default(LIMITS.requestTimeoutMs)
        .describe(
          'Maximum time for a complete request, head and body, to arrive. Slower requests are rejected with 408.',
        ),
      responseStallTimeoutMs: timeout
        .default(LIMITS.responseStallTimeoutMs)
        .describe(
          'How long a caller may go without reading from its response before it is disconnected. After a disconnect, the log gets the part of the response that arrives within this time.',
        ),
      exchangeTimeoutMs: timeout
        .max(LIMITS.exchangeTimeoutMsMax)
        .default(LIMITS.exchangeTimeoutMs)
        .describe(
          'Maximum time from the arrival of a request’s head to the end of its response. After that, the gateway ends the exchange, and its outcome is exchange_timeout. A Purge may wait this long for a running request of its project.',
        ),
      keepAliveTimeoutMs: timeout
        .default(LIMITS.keepAliveTimeoutMs)
        .describe(
          'How long an idle connection stays open. Set it higher than the idle timeout of the load balancer in front of the gateway.',
        ),
      connections: z.coerce
        .number()
        .int()
        .min(1)
        .default(20_000)
        .describe('Maximum number of open connections, and of concurrent requests. Additional ones are rejected.'),
      inFlightBytes: bytes
        .default(LIMITS.inFlightBytesMax)
        .describe(
          'Memory for running requests (heads and bodies) and for log rows waiting to be written to disk. When it is used up, requests are rejected with 503.',
        ),
      unauthenticatedBytes: bytes
        .default(LIMITS.unauthenticatedBytesMax)
        .describe(
          'Memory for requests whose signatures are not verified yet. When it is used up, the oldest such request is rejected with 503. It is in addition to inFlightBytes.',
        ),
      unauthenticatedRequests: z.coerce
        .number()
        .int()
        .min(1)
        .default(LIMITS.unauthenticatedRequestsMax)
        .describe(
          'Maximum number of such requests whose bodies are arriving at the same time. With more, the oldest one is rejected with 503.',
        ),
      responseCaptureBytes: bytes
        .default(LIMITS.responseCaptureBytesMax)
        .describe('How much of an upstream response is stored. The caller always gets the whole response.'),
    })
    .prefault({}),
  egress: z
    .object({
      allowPrivate: booleanSetting
        .default(false)
        .describe(
          'Allow upstreams with loopback and private addresses. Use this only on a developer’s machine. Must be the same for the operator and the gateways.',
        ),
      allow: listSetting(z.string().refine(isCidr, 'must be a network in CIDR notation, such as 10.20.0.0/16'))
        .default([])
        .describe(
          'Comma-separated private networks, in CIDR notation, that upstreams may use. Must be the same for the operator and the gateways.',
        ),
      refuse: listSetting(z.string().refine(isTarget, 'must be a host and a port, such as clickhouse:8123'))
        .default([])
        .describe(
          'Comma-separated HOST:PORT pairs that are never upstreams, in addition to those of Standin’s own components. Must be the same for the operator and the gateways.',
        ),
      ca: z
        .string()
        .refine(isCertificates, 'must be one or more PEM certificates, which begin with -----BEGIN CERTIFICATE-----')
        .optional()
        .describe(
          'PEM certificates of CAs to trust for upstreams and replay targets, in addition to the system’s CAs.',
        ),
    })
    .prefault({}),
  drainMs: milliseconds
    .default(5_000)
    .describe(
      'How long to keep accepting new requests after a stop signal, so that load balancers can stop sending them first.',
    ),
  drainTimeoutMs: milliseconds
    .default(20_000)
    .describe(
      'Maximum time to wait for running requests, and then for log delivery, before the process exits. The rest stays on disk.',
    ),
  tracing: z
    .object({
      url: httpUrlSetting
        .optional()
        .describe(
          'Where to send OpenTelemetry spans of accepted requests (OTLP over HTTP), such as http://collector:4318/v1/traces. If unset, no spans are sent.',
        ),
      sampleRatio: z.coerce
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe(
          'Fraction of requests without a traceparent header that get a span. For other requests, the header decides.',
        ),
    })
    .prefault({}),
  logLevel: logLevelSetting.describe('Lowest level to log.'),
  maxStalenessMs: milliseconds
    .refine((ms) => ms === 0 || ms >= LIMITS.maxStalenessMsMin, `must be 0 or at least ${LIMITS.maxStalenessMsMin}`)
    // JSON Schema cannot express `refine`, so this line adds the same rule to the chart's schema.
    .meta({ not: { exclusiveMinimum: 0, exclusiveMaximum: LIMITS.maxStalenessMsMin } })
    .default(0)
    .describe(
      `How long to serve requests without contact with the operator. After that, requests are rejected with 503. Must be at least ${LIMITS.maxStalenessMsMin}, and longer than the 15 s that a leader election takes. 0 means no limit: the last configuration stays active.`,
    ),
});

export type GatewaySettings = Readonly<z.infer<typeof gatewaySettings>>;

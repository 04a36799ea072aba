import { hostname } from 'node:os';
import { LIMITS, adminSettings, httpUrlSetting, listSetting, logLevelSetting, portSetting } from '@standin/contract';
import { egressSettings } from '@standin/egress';
import { migratingSettings } from '@standin/logstore';
import { z } from 'zod';

const bytes = z.coerce.number().int().min(1_024);
const milliseconds = z.coerce.number().int().min(0);
const timeout = z.coerce.number().int().min(100);

/** All gateway settings. docs/reference/configuration.md is generated from this schema. */
export const gatewaySettings = z.object({
  host: z.string().default('0.0.0.0').describe('Address to listen on for callers.'),
  port: portSetting.default(8080).describe('Port to listen on for callers. 0 selects a free port.'),
  admin: adminSettings,
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
  clickhouse: migratingSettings
    .extend({
      timeoutMs: timeout
        .default(35_000)
        .describe(
          'Maximum time to wait for ClickHouse’s response to an insert. After that, the same bytes are sent again.',
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
          'How long a caller may go without reading from its response before it is disconnected. After a disconnect, the gateway waits this long for an upstream’s response to begin.',
        ),
      disconnectedReadMs: milliseconds
        .default(LIMITS.disconnectedReadMs)
        .describe(
          'How long an upstream’s response that has begun is read for the log after its caller has disconnected. Then the gateway ends the request to the upstream, and the outcome is caller_gone. Event streams and NDJSON end when the caller disconnects.',
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
  egress: egressSettings,
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

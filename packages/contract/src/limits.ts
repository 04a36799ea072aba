/**
 * Every bound that more than one process relies on, with its unit and its reason. Bounds that users can change are defaults here
 * and settings in docs/configuration.md.
 */
export const LIMITS = {
  // ── requests (gateway) ──
  /** A body is stored whole or refused with 413, never cut. */
  requestBodyBytesMax: 10 * 1024 * 1024,
  /** Node's parser responds with 431 above it. */
  requestHeadBytesMax: 16 * 1024,
  /** Path and query; 414 above it. Browsers and proxies stop at about the same length. */
  requestTargetBytesMax: 8 * 1024,
  /** From the first byte of a head to its end; slowloris (torture 34). */
  requestHeadTimeoutMs: 10_000,
  /** From the first byte of a head to the last byte of the body. */
  requestTimeoutMs: 30_000,
  /** If a client does not read its response for this long, the gateway cuts the connection. */
  responseStallTimeoutMs: 30_000,
  /** Node's own default is 5 s. Load balancers keep idle connections for 60 s and must close first. */
  keepAliveTimeoutMs: 65_000,
  /** Bytes of heads and bodies of running requests, and of rows not yet on disk; 503 above it. */
  inFlightBytesMax: 256 * 1024 * 1024,

  // ── responses ──
  /** A larger upstream response is streamed whole. The log stores this much of it, with its true size and `truncated`. */
  responseCaptureBytesMax: 10 * 1024 * 1024,
  forwardTimeoutMsDefault: 30_000,
  forwardTimeoutMsMax: 300_000,
  /** Names and values of the header lines, and likewise of the trailers; 502 above it. */
  upstreamHeadBytesMax: 64 * 1024,
  /** Header lines, and likewise trailers; 502 above it. The same as Node's own limit. */
  upstreamHeadLinesMax: 2_000,

  // ── resources ──
  /** kubectl apply keeps a copy in an annotation of at most 262,144 bytes. */
  mockBodyBytesMax: 200_000,
  slugLengthMax: 1_024,
  displayNameLengthMax: 128,
  mockHeadersMax: 64,
  headerNameLengthMax: 256,
  headerValueLengthMax: 4_096,
  forwardUrlLengthMax: 2_048,
  projectUriLengthMin: 16,
  projectUriLengthMax: 64,
  retentionDaysDefault: 30,
  retentionDaysMax: 3_650,
  ownApiKeyLengthMin: 32,
  ownApiKeyLengthMax: 512,
  /** Accounts and Projects that a namespace has had. The Secret with their identities may have 1 MiB, about 8,000 entries. */
  identitiesPerNamespaceMax: 5_000,
  /** The API server refuses 32,768 characters and more. This is as much as people read. */
  conditionMessageLengthMax: 1_000,

  // ── replays and shares ──
  /** Edits are part of the resource: etcd takes 1.5 MiB, the annotation of kubectl apply 262,144 bytes. */
  replayEditBytesMax: 200_000,
  replayEditHeadersMax: 128,
  /** Longer than the limit of a mock, because callers send cookies and tokens. */
  replayHeaderValueLengthMax: 8_192,
  replaySearchLengthMax: 4_096,
  /** Captured requests of one Replay. To send more, split the time range over several Replays. */
  replayRequestsMax: 1_000_000,
  replayRatePerSecondDefault: 10,
  replayRatePerSecondMax: 1_000,
  /** Finished Replays and their results are kept for a day. */
  replayKeptMs: 24 * 60 * 60 * 1_000,
  /** A forgotten link should not work forever. */
  shareLifetimeMsMax: 30 * 24 * 60 * 60 * 1_000,
  /** An expired Share is listed for another day, so that people see why a link stopped working. */
  shareKeptMs: 24 * 60 * 60 * 1_000,
  redactedNamesMax: 64,
  redactedNameLengthMax: 256,

  // ── API keys ──
  /** Regenerations of one account's key within the window. */
  keyRegenerationsMax: 6,
  keyRegenerationWindowMs: 60 * 60 * 1_000,
  /** Ended KeyRegenerations are kept for a day. */
  keyRegenerationKeptMs: 24 * 60 * 60 * 1_000,

  // ── control plane ──
  /** Changes that arrive within this time are sent as one delta (design §6). */
  holdOffMs: 20,
  streamHeartbeatMs: 2_000,
  /** Without a message for this long, the gateway reconnects. Without an acknowledgement for as long, the operator closes the stream. */
  streamSilenceMsMax: 7_000,
  /** A gateway has contact with the operator at every heartbeat. With a smaller value, one late heartbeat would cause refused requests. */
  maxStalenessMsMin: 3_000,
  /** The operator stops waiting for a gateway whose stream has been closed for longer than this. */
  gatewayForgetMs: 60_000,
  leaseDurationMs: 8_000,
  leaseRenewDeadlineMs: 5_000,
  leaseRetryPeriodMs: 1_000,

  // ── quota ──
  /** A block of permits covers the demand of this time. An operator outage that is shorter stops no requests. */
  quotaBlockDemandMs: 10 * 60 * 1_000,
  quotaBlockPermitsMax: 1_000_000_000,
  /** A gateway holds two blocks of an account, and has closed a few more since its last request for permits. */
  quotaBlocksNamedMax: 100,
  /** When all permits are granted, a request waits this long for permits that other gateways return. */
  quotaRecallWaitMs: 250,
  /** A gateway that has learned that the quota is used up asks again after this time. */
  quotaAskAgainMs: 1_000,
  /** How often a gateway reports the spent permits of accounts where their number changed. */
  quotaReportMs: 2_000,
  quotaReportAccountsMax: 1_000,

  // ── log ──
  /** The longest time before a batch is sent to ClickHouse (design §5: visible within 1.5 s, p95). */
  flushIntervalMsMax: 500,
  flushBytesMax: 8 * 1024 * 1024,
  /** Much longer than a live process can be held up between two writes. */
  spoolQuietMs: 10 * 60 * 1_000,
  /** Volumes of removed gateways that are drained at the same time. Each drain inserts as fast as a gateway. */
  drainJobsMax: 5,
  /** Rows that wait on a gateway's disk; 503 above it. The space lasts about half an hour at 1,000 requests a second with 1 kB each. */
  spoolBytesMax: 2 * 1024 * 1024 * 1024,
} as const;

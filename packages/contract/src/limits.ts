/**
 * Every bound that more than one process relies on, with its unit and its reason. Those that users may change are defaults
 * here and settings in docs/configuration.md.
 */
export const LIMITS = {
  // ── requests (gateway) ──
  /** Stored whole or refused with 413, never cut. */
  requestBodyBytesMax: 10 * 1024 * 1024,
  /** Node's parser answers 431 above it. */
  requestHeadBytesMax: 16 * 1024,
  /** Path and query; 414 above it. Browsers and proxies stop at about the same length. */
  requestTargetBytesMax: 8 * 1024,
  /** From the first byte of a head to its end; slowloris (torture 34). */
  requestHeadTimeoutMs: 10_000,
  /** From the first byte of a head to the last byte of the body. */
  requestTimeoutMs: 30_000,
  /** An answer that its reader does not take: the connection is cut. */
  responseStallTimeoutMs: 30_000,
  /** Node's own default is 5 s; load balancers keep idle connections for 60 s and must close first. */
  keepAliveTimeoutMs: 65_000,
  /** Bytes of bodies in flight or on their way to the disk, over all requests; 503 above it. */
  inFlightBytesMax: 256 * 1024 * 1024,

  // ── answers ──
  /** A larger upstream answer streams through whole; this much of it is stored, with its true size and `truncated`. */
  responseCaptureBytesMax: 10 * 1024 * 1024,
  forwardTimeoutMsDefault: 30_000,
  forwardTimeoutMsMax: 300_000,
  upstreamHeadBytesMax: 64 * 1024,

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
  /** The API server refuses 32,768 and more; nobody reads more than this. */
  conditionMessageLengthMax: 1_000,

  // ── replays and shares ──
  /** Edits travel in the resource: etcd takes 1.5 MiB, the annotation of kubectl apply 262,144 bytes. */
  replayEditBytesMax: 200_000,
  replayEditHeadersMax: 128,
  /** Longer than a mock's: cookies and tokens of callers. */
  replayHeaderValueLengthMax: 8_192,
  replaySearchLengthMax: 4_096,
  /** Captured requests of one Replay; one that should send more is split by its time range. */
  replayRequestsMax: 1_000_000,
  replayRatePerSecondDefault: 10,
  replayRatePerSecondMax: 1_000,
  /** Finished Replays and their results are kept for a day. */
  replayKeptMs: 24 * 60 * 60 * 1_000,
  /** A link that nobody thinks of any more should not work for ever. */
  shareLifetimeMsMax: 30 * 24 * 60 * 60 * 1_000,
  /** A Share that expired is listed for another day, so that people see why a link stopped working. */
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
  /** Changes that arrive within it travel as one delta (design §6). */
  holdOffMs: 20,
  streamHeartbeatMs: 2_000,
  /** No message for this long: the gateway reconnects. No acknowledgement for as long: the operator closes its stream. */
  streamSilenceMsMax: 7_000,
  /** Word from the operator comes with every heartbeat: with less, one that is late would refuse requests. */
  maxStalenessMsMin: 3_000,
  /** A gateway whose stream is gone for longer is no longer waited for. */
  gatewayForgetMs: 60_000,
  leaseDurationMs: 8_000,
  leaseRenewDeadlineMs: 5_000,
  leaseRetryPeriodMs: 1_000,

  // ── quota ──
  /** A block of permits is worth this much demand: an operator that is away for less stops nobody. */
  quotaBlockDemandMs: 10 * 60 * 1_000,
  quotaBlockPermitsMax: 1_000_000_000,
  /** A gateway holds two blocks of an account, and has closed a few more since it last asked. */
  quotaBlocksNamedMax: 100,
  /** How long a request waits, when all is granted, for what other gateways do not need. */
  quotaRecallWaitMs: 250,
  /** A gateway that was told that the quota is used up asks again after this time. */
  quotaAskAgainMs: 1_000,
  /** How often a gateway says how much it has spent, of accounts where that changed. */
  quotaReportMs: 2_000,
  quotaReportAccountsMax: 1_000,

  // ── log ──
  /** A batch goes to ClickHouse at the latest after this time (design §5: visible within 1.5 s, p95). */
  flushIntervalMsMax: 500,
  flushBytesMax: 8 * 1024 * 1024,
  /** Much longer than a process can be held up between two writes and live on. */
  spoolQuietMs: 10 * 60 * 1_000,
  /** Volumes of gateways that were scaled away which are drained at the same time: each inserts as fast as a gateway. */
  drainJobsMax: 5,
  /** Rows that wait on a gateway's disk; 503 above it. About half an hour of 1,000 requests a second with 1 kB each. */
  spoolBytesMax: 2 * 1024 * 1024 * 1024,
} as const;

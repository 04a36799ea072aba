/**
 * Limits of resources, requests and processes. Each name contains the unit, unless the limit is a number of items. For limits that
 * users can change, these are the defaults, and docs/reference/configuration.md lists the settings.
 */
export const LIMITS = {
  // ── requests (gateway) ──
  /** A body is stored in full or rejected with 413, never truncated. */
  requestBodyBytesMax: 10 * 1024 * 1024,
  /** Above this limit, Node's parser fails, and the gateway responds with 431. */
  requestHeadBytesMax: 16 * 1024,
  /** Path and query. A longer target gets 414. Browsers and proxies have a similar limit. */
  requestTargetBytesMax: 8 * 1024,
  /** From the first byte of a head to its end, and from a new connection to its first byte. Protects against slowloris attacks. */
  requestHeadTimeoutMs: 10_000,
  /** From the first byte of a head to the last byte of the body. */
  requestTimeoutMs: 30_000,
  /**
   * If a client does not read its response for this long, the gateway cuts the connection. After a client has disconnected, the
   * gateway waits this long for the upstream's response to begin, because ending the request could end its effect.
   */
  responseStallTimeoutMs: 30_000,
  /** After a client has disconnected, the gateway reads the upstream's response for this long, so that the log contains it. */
  disconnectedReadMs: 5_000,
  /**
   * From the arrival of a request's head to the end of its response. Without this limit, an upstream or a caller could keep a request
   * running forever, and with it the Purges of its project.
   */
  exchangeTimeoutMs: 60 * 60 * 1_000,
  exchangeTimeoutMsMax: 24 * 60 * 60 * 1_000,
  /**
   * Node's default is 5 s. Many load balancers keep idle connections for 60 s. They must close these connections first, so that
   * they send no request on a connection that the gateway is closing.
   */
  keepAliveTimeoutMs: 65_000,
  /**
   * Bytes in the heads, bodies and captured responses of running requests, and in rows that are not on disk yet. Above this limit,
   * new requests get 503.
   */
  inFlightBytesMax: 256 * 1024 * 1024,
  /**
   * Bytes of requests that must be received in full before their signature can be verified. Separate from `inFlightBytesMax`, so that
   * unsigned requests cannot take the place of requests with a key.
   */
  unauthenticatedBytesMax: 64 * 1024 * 1024,
  /**
   * The number of these requests whose bodies may be arriving. Far fewer than the gateway's connections. A namespace can have half of
   * them. If it has more, its oldest one is refused. A body that arrives within a second is read even if unauthenticated clients open
   * 1,000 connections per second.
   */
  unauthenticatedRequestsMax: 2_000,

  // ── responses ──
  /**
   * A larger upstream response is streamed in full. The log stores the first bytes up to this limit, the full size, and
   * `truncated`.
   */
  responseCaptureBytesMax: 10 * 1024 * 1024,
  forwardTimeoutMsDefault: 30_000,
  forwardTimeoutMsMax: 300_000,
  /**
   * Maximum total size of all header names and values. Above this limit, the response is 502. The same limit applies separately to
   * trailers. Larger trailers cut off the response.
   */
  upstreamHeadBytesMax: 64 * 1024,
  /**
   * Maximum number of header lines, which is also Node's default. Above this limit, the response is 502. The same limit applies
   * separately to trailers. More trailers cut off the response.
   */
  upstreamHeadLinesMax: 2_000,

  /** The time that the gateway may hold a response back. The caller occupies a connection during this time. */
  responseDelayMsMax: 300_000,

  // ── resources ──
  /** kubectl apply keeps a copy of the object in an annotation. An object's annotations are limited to 262,144 bytes in total. */
  mockBodyBytesMax: 200_000,
  slugLengthMax: 1_024,
  /** The maximum number of segments of a slug that has parameters. */
  patternSegmentsMax: 32,
  patternParametersMax: 8,
  parameterNameLengthMax: 64,
  /**
   * An arrangement is the sequence of literals and parameters in a slug. This is the maximum number of different arrangements among
   * a project's slugs with the same number of segments, and, as a separate group, among the slugs that end with `{name...}`. A
   * gateway compares a path with each arrangement.
   */
  arrangementsMax: 32,
  /**
   * The size of the objects of a namespace as JSON, and 8 KiB more for each of them. The operator uses only the oldest objects up to
   * this limit. It is enough for 10,000 Endpoints of 5 KB each. The operator and each gateway keep them in memory.
   */
  namespaceBytesMax: 128 * 1024 * 1024,
  displayNameLengthMax: 128,
  mockHeadersMax: 64,
  responsesMax: 32,
  /**
   * The maximum number of responses that a gateway counts separately in its metrics, of which each namespace has a share. Prometheus
   * keeps each series of each gateway in memory.
   */
  responseSeriesMax: 1_000,
  /**
   * The maximum number of Projects that a gateway counts separately, for the same reason. Each has about 20 series. See
   * `FairSelection` for how namespaces share them.
   */
  projectSeriesMax: 500,
  /** The maximum number of Accounts whose quota is in the operator's metrics, for the same reason. Each has two series. */
  accountSeriesMax: 5_000,
  /** All mock bodies of an Endpoint in total, for the same reason as `mockBodyBytesMax`. */
  responseBodiesBytesMax: 200_000,
  /** With more, the API server would refuse the CRD, because its rules would be too expensive. */
  responseHeadersMax: 16,
  /** Conditions on headers, and separately on query parameters, of one response. */
  conditionsMax: 16,
  /** How much of a request an explanation shows for each condition. The whole request may be as large as the gateway's limits. */
  explainedValuesMax: 4,
  explainedValueLengthMax: 200,
  /** The maximum number of other endpoints in an explanation. */
  explainedEndpointsMax: 5,
  conditionValueLengthMax: 1_024,
  drawSeedLengthMax: 256,
  /** Of the UTF-8 of a key. Identifiers are shorter, and longer values are probably a mistake in the expression. */
  drawKeyBytesMax: 256,
  /**
   * The CPU time for choosing and rendering the response to one request: conditions, the JSON of the body, expressions and
   * templates. One unit is about 10 ns, so this is about 15 ms.
   */
  responseUnitsMax: 1_500_000,
  /** The estimated instructions of all regular expressions of an Endpoint in total. Compiling them takes up to 20 ms. */
  regularExpressionsSizeMax: 2_000,
  expressionLengthMax: 1_024,
  /** All expressions of an Endpoint in total, in conditions and templates. The parser takes up to 5 µs for a character. */
  expressionsLengthMax: 8_192,
  /** The memory for the responses and expressions that a gateway keeps compiled, across all endpoints. The memory is estimated. */
  compiledBytesMax: 50_000_000,
  /** The size of the syntax trees of expressions that a gateway keeps. An expression is compiled from its tree six times as fast. */
  treeBytesMax: 25_000_000,
  /** Brackets that are open at the same time. The time that the parser takes grows with the square. */
  expressionNestingMax: 32,
  /** Items of a list that an expression creates. */
  expressionItemsMax: 10_000,
  /** Characters of a string, or bytes, that an expression reads or creates. */
  expressionTextLengthMax: 1024 * 1024,
  /** Values in a JSON body that expressions can read. */
  expressionJsonNodesMax: 30_000,
  expressionJsonNestingMax: 100,
  /** In all templates of an Endpoint in total. */
  templateExpressionsMax: 100,
  /** A rendered body. It consists of the template's text and the request's values. */
  renderedBodyBytesMax: 1024 * 1024,
  /** One in use, and one that is being replaced. */
  signingSecretsMax: 2,
  /** A value of a Secret that Endpoints use. Far longer than any provider's secret, and as long as servers accept a header. */
  secretBytesMax: 8_192,
  /** How far the timestamp of a signed request may be from the gateway's clock, in both directions. */
  signatureToleranceMsMin: 1_000,
  signatureToleranceMsMax: 60 * 60 * 1_000,
  /** The tolerance of Stripe's, Slack's and Standard Webhooks' own libraries. */
  signatureToleranceMsDefault: 5 * 60 * 1_000,
  signaturePrefixLengthMax: 64,
  /** Elements of a header that lists signatures. Senders send one for each of their secrets, and usually have two at most. */
  signatureElementsMax: 32,
  /** A delivery id that is longer is not recorded. GitHub's and Shopify's have 36 characters. */
  deliveryIdLengthMax: 128,
  headerNameLengthMax: 256,
  /** The maximum number of headers that a Forward block sets, and that it removes. */
  headerChangesMax: 16,
  /** The certificates of authorities in one value of a ConfigMap. Enough for the public authorities and some private ones. */
  upstreamCaBytesMax: 256 * 1024,
  /**
   * The certificates that the connections of a namespace use at the same time, also those that were replaced. Each connection keeps its own
   * in memory. More than `namespaceBytesMax` allows the ConfigMaps of a namespace by default.
   */
  upstreamCaBytesInUseMax: 16 * 1024 * 1024,
  /** The maximum number of these headers whose values are in Secrets, because the operator reads each of the Secrets every few seconds. */
  upstreamSecretsMax: 4,
  corsOriginsMax: 32,
  corsOriginLengthMax: 512,
  corsHeadersMax: 64,
  /** The longest time that a browser honors. */
  corsMaxAgeMsMax: 24 * 60 * 60 * 1_000,
  headerValueLengthMax: 4_096,
  forwardUrlLengthMax: 2_048,
  projectUriLengthMin: 16,
  projectUriLengthMax: 64,
  /** Three characters and a hyphen. With a shorter one, an Account could reserve the URIs of many teams. */
  projectUriPrefixLengthMin: 4,
  projectUriPrefixLengthMax: 48,
  retentionDaysDefault: 30,
  retentionDaysMax: 3_650,
  ownApiKeyLengthMin: 32,
  ownApiKeyLengthMax: 512,
  /**
   * The maximum number of entries in the Secret with a namespace's identities (ADR 024). The Secret keeps the entries of deleted
   * Accounts and Projects. It can hold 1 MiB, which is about 8,000 entries.
   */
  identitiesPerNamespaceMax: 5_000,
  /**
   * The number of ConfigMaps with the records of claims (ADR 041). Each can hold 1 MiB, which is about 9,000 records. Never change
   * it, because the operator would not find the records.
   */
  claimShards: 64,
  /** How long a URI, key or prefix is reserved for its last holder, which may be restored or applied again. */
  claimKeptMs: 30 * 86_400_000,
  /** The maximum number of these reserved claims for a namespace, because its users can create and delete objects without end. */
  absentClaimsPerNamespaceMax: 1_000,
  /** The length of an identity, which is the uid of an object. The API server's uids have 36 characters. */
  identityLengthMax: 64,
  /** Identities that one question of the dashboard to the operator may contain. The question is then at most 200 kB. */
  identitiesAskedMax: 500,
  /** Names of a namespace that are compared with one that does not exist, so that a near one can be suggested. Of more, none are. */
  comparedNamesMax: 50,
  /** The API server accepts 32,768 characters, but people do not read longer messages than this. */
  conditionMessageLengthMax: 1_000,

  // ── replays and shares ──
  /** Edits are part of the Replay. etcd accepts objects up to 1.5 MiB, and kubectl apply's annotation up to 262,144 bytes. */
  replayEditBytesMax: 200_000,
  replayEditHeadersMax: 128,
  /** Longer than the limit for a mock, because callers send cookies and tokens. */
  replayHeaderValueLengthMax: 8_192,
  replaySearchLengthMax: 4_096,
  /** The maximum number of captured requests in one Replay. To send more, split the time range into several Replays. */
  replayRequestsMax: 1_000_000,
  replayRatePerSecondDefault: 10,
  replayRatePerSecondMax: 1_000,
  /** How long a Replay or KeyRegeneration that has ended is kept, unless it sets `ttlSecondsAfterFinished`. */
  operationTtlSecondsDefault: 24 * 60 * 60,
  /** A forgotten link should not work forever. */
  shareLifetimeMsMax: 30 * 24 * 60 * 60 * 1_000,
  /** An expired Share stays listed for another day, so that people can see why a link stopped working. */
  shareKeptMs: 24 * 60 * 60 * 1_000,
  /** Text of a user, such as a search, in a line of the audit of reads. Escapes can make a search longer than what was typed. */
  auditTextLengthMax: 2_000,
  redactedNamesMax: 64,
  redactedNameLengthMax: 256,

  // ── API keys ──
  /** How many times one account's key may be regenerated within the window. */
  keyRegenerationsMax: 6,
  keyRegenerationWindowMs: 60 * 60 * 1_000,
  /** A KeyRegeneration that has waited this long for its Account is refused. */
  keyRegenerationWaitMsMax: 24 * 60 * 60 * 1_000,

  purgeSearchLengthMax: 4_096,
  purgeReasonLengthMax: 1_024,
  /** The maximum number of gateways, volumes and replays in a Purge's `status.waitingFor`. */
  purgeWaitingForMax: 32,
  /** A Purge that has waited this long for its Project is refused. */
  purgeWaitMsMax: 24 * 60 * 60 * 1_000,

  expectationSearchLengthMax: 4_096,
  /** The highest number of requests that an Expectation can require. */
  expectationCountMax: 1_000_000,
  /** Creation times have a precision of seconds. */
  expectationDeadlineMsMin: 1_000,
  /**
   * With the next two limits, an Expectation is decided less than a day after the beginning of its window. Captured requests are kept for
   * at least a day, so none of them expires before that.
   */
  expectationDeadlineMsMax: 12 * 60 * 60 * 1_000,
  /** How long before its creation the window of an Expectation can begin. */
  expectationLeadMsMax: 6 * 60 * 60 * 1_000,
  /** For how long after its deadline an Expectation stays open while it is not known whether all requests are in the log. */
  expectationUndecidedMsMax: 60 * 60 * 1_000,
  /** The maximum number of open Expectations in a namespace. Further ones wait. */
  expectationsOpenPerNamespaceMax: 1_000,
  /** Matching requests, and nearest requests, in the status of an Expectation. */
  expectationRequestIdsMax: 10,
  expectationNearMissesMax: 3,
  /** Terms of the search in each of them, and their length. */
  expectationFailedTermsMax: 8,
  expectationFailedTermLengthMax: 256,

  // ── control plane ──
  /** Changes that arrive within this time after the first one are sent as one delta. */
  holdOffMs: 20,
  /**
   * How many objects of a namespace the operator translates again in a second because other objects change, after `dependentsBurst`. A
   * large Endpoint takes up to 0.15 ms of CPU time at the operator and 1.4 ms at each gateway, so a namespace uses at most
   * about a seventh of a CPU.
   */
  dependentsPerSecond: 100,
  /** How many of them are translated without a wait. Most namespaces never reach this number. */
  dependentsBurst: 3_000,
  /** The maximum number of them that counts, so that no change waits for longer than half a minute. */
  dependentsCountedMax: 6_000,
  streamHeartbeatMs: 2_000,
  /**
   * A gateway that receives no message for this long reconnects. After a gateway's first acknowledgement, an operator that receives
   * no other one for this long closes the stream.
   */
  streamSilenceMsMax: 7_000,
  /**
   * A gateway has contact with the operator at every heartbeat. With a smaller value, a single late heartbeat would cause
   * rejected requests.
   */
  maxStalenessMsMin: 3_000,
  /** The maximum number of rejected objects that one acknowledgement lists. See `FairSelection` for how namespaces share them. */
  rejectedObjectsMax: 1_000,
  /**
   * The maximum number of projects that one acknowledgement names because of their undelivered requests. By default, one namespace can
   * have this many requests in progress. With more projects, each namespace has its share of the names, and the long requests to one of
   * its projects also hold up the Purges of its other projects that are not named.
   */
  undeliveredProjectsMax: 10_000,
  /**
   * When a gateway's stream has been closed for this long, `Programmed` no longer waits for the gateway. Revoked keys still do (ADR
   * 022).
   */
  gatewayForgetMs: 60_000,
  leaseDurationMs: 8_000,
  leaseRenewDeadlineMs: 5_000,
  leaseRetryPeriodMs: 1_000,

  // ── rate limits ──
  /** Of an Account at one gateway. More than a gateway can serve. */
  requestsPerSecondMax: 100_000,

  // ── quota ──
  /**
   * A block of permits should cover the demand during this time. While a gateway has permits left, an operator outage does not
   * cause rejections.
   */
  quotaBlockDemandMs: 10 * 60 * 1_000,
  quotaBlockPermitsMax: 1_000_000_000,
  /**
   * The maximum number of an account's blocks that a gateway lists in one request. A gateway has up to four open blocks per
   * account, and may have closed a few more since its last permit request.
   */
  quotaBlocksNamedMax: 100,
  /** When all permits are granted, a permit request waits at the operator this long for permits that other gateways return. */
  quotaRecallWaitMs: 250,
  /** A gateway that has learned that a quota is used up asks again after this time. */
  quotaAskAgainMs: 1_000,
  /** How often a gateway reports the number of spent permits for accounts where this number has changed. */
  quotaReportMs: 2_000,
  quotaReportAccountsMax: 1_000,

  // ── refused requests ──
  /** How long a gateway counts refused requests. */
  refusalWindowMs: 60 * 60 * 1_000,
  /** The maximum number of counts of a gateway. They take up to 10 MiB. */
  refusalsKeptMax: 10_000,
  /** The maximum number of counts of one project, so that the callers of one project do not displace the others' counts. */
  refusalsPerProjectMax: 1_000,
  /** A longer path or slug is cut off. In bytes. */
  refusalPathLengthMax: 256,
  /** The maximum number of counts of a project that are shown. */
  refusalsReportedMax: 200,
  /** How long the operator waits for the gateways' reports. A user is waiting for the result. */
  refusalsWaitMs: 1_500,
  /** Reads of refused requests that run at the same time. Each asks all gateways. */
  refusalReadsMax: 20,

  // ── settled reads ──
  /** How long the operator waits for the log to be complete. Longer than a gateway waits before it shows a request in progress. */
  settleWaitMs: 4_000,
  /** The shortest time between two questions to the gateways. Calls in between share the next one. */
  settleIntervalMs: 25,
  /** Calls that wait for the log to be complete, of which each namespace has a share. */
  settlesMax: 1_000,
  /** The maximum number of projects in one report of a gateway. */
  settledReportedMax: 1_000,
  /** A gateway whose clock differs by more than this does not know what it received before a time of the operator. */
  clockSkewMsMax: 1_000,

  // ── log ──
  /**
   * The time within which a row should be in ClickHouse. A gateway collects rows for half of this time and leaves the other half
   * for the insert.
   */
  flushIntervalMsMax: 500,
  flushBytesMax: 8 * 1024 * 1024,
  /**
   * The decoded text of a body that is searched. A body with a longer text is searched as it was sent. Expressions have the same limit.
   */
  bodyTextBytesMax: 1024 * 1024,
  /**
   * The CPU time that a gateway spends on the texts of the bodies in a segment, including the insert of the texts. Each namespace has a
   * share of it. One unit is about 10 ns, so this is about 0.4 s, or about 30 MiB of compressed text.
   */
  segmentTextUnitsMax: 40_000_000,
  /**
   * How long the last file of an ended process must be unchanged before it is removed, and how long a volume must have no pod
   * before it is drained. Much longer than any pause of a live process between two writes.
   */
  spoolQuietMs: 10 * 60 * 1_000,
  /** The maximum number of removed gateways' volumes that are drained at the same time. Each drain inserts as fast as a gateway. */
  drainJobsMax: 5,
  /**
   * The size of the rows that are waiting on a gateway's disk. Above this limit, requests get 503. The space lasts about half an
   * hour at 1,000 requests per second of 1 kB each.
   */
  spoolBytesMax: 2 * 1024 * 1024 * 1024,
} as const;

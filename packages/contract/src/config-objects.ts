import { z } from 'zod';
import {
  FALLBACK_REASONS,
  HMAC_ALGORITHMS,
  HMAC_ENCODINGS,
  METHODS,
  UPSTREAM_REWRITES,
  PLANS,
  TIMESTAMP_SCHEMES,
  VALUE_CONDITIONS,
} from './api-group.ts';
import { LIMITS } from './limits.ts';

/**
 * The configuration that the operator sends to the gateways: the output of `operator/translate` and the input of `gateway/match`.
 * Everything is resolved, so a gateway needs neither defaults nor lookups.
 */

/** A name and a value as sent on the wire. Names can repeat. The order is preserved. */
const headerPair = z.tuple([z.string(), z.string()]).readonly();
export type HeaderPair = readonly [name: string, value: string];

const accountConfig = z.strictObject({
  kind: z.literal('Account'),
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  plan: z.enum(PLANS),
  /** Lowercase hex SHA-256 of the account's API key. Without a key, no one can call the account's projects. */
  keySha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** The number of requests that may be accepted in a calendar month. Undefined means no limit. */
  quota: z.number().int().min(0).optional(),
  /** The number of requests that each gateway accepts in a second. Undefined means no limit. */
  requestsPerSecond: z.number().int().min(1).optional(),
});

/** The pages of other origins whose scripts may read the responses of a project. */
const corsConfig = z.strictObject({
  /** Origins as browsers send them, or `*`. */
  allowOrigins: z.array(z.string()).min(1).readonly(),
  /** Besides `x-api-key`. */
  allowHeaders: z.array(z.string()).readonly(),
  exposeHeaders: z.array(z.string()).readonly(),
  /** How long browsers may keep the response to a preflight. Absent if browsers decide. */
  maxAgeS: z.number().int().min(0).optional(),
});
export type CorsConfig = z.infer<typeof corsConfig>;

const projectConfig = z.strictObject({
  kind: z.literal('Project'),
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  accountUid: z.string(),
  /** First path segment of the URLs of all the project's endpoints. */
  uri: z.string(),
  /** The public URL of the project: scheme, host and the URI. */
  url: z.string(),
  retentionDays: z.number().int().positive(),
  /** Set if gateways count the project's requests in metrics of its own. */
  metrics: z.literal('Enabled').optional(),
  /** Absent if preflights are handled like other requests, and responses are sent as they are. */
  cors: corsConfig.optional(),
});

/** The certificates in one value of a ConfigMap. Many endpoints can trust the same. */
const authorityConfig = z.strictObject({
  kind: z.literal('Authority'),
  /** See `authorityUid`. */
  uid: z.string(),
  namespace: z.string(),
  /** The name of the ConfigMap. */
  name: z.string(),
  /** In PEM. */
  certificates: z.string(),
});

/** Returns the uid of an Authority: the place of its certificates, so that new ones do not change the endpoints that trust them. */
export const authorityUid = (
  namespace: string,
  { name, key }: { readonly name: string; readonly key: string },
): string => `${namespace}/${name}/${key}`;

const delayMs = z.number().min(1).max(LIMITS.responseDelayMsMax);

/** How long to hold a response back. The request's id determines the delay between the limits. */
const delayConfig = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('Fixed'), fixedMs: delayMs }),
  z.strictObject({ kind: z.literal('Uniform'), minMs: delayMs, maxMs: delayMs }),
  z.strictObject({ kind: z.literal('LogNormal'), medianMs: delayMs, p99Ms: delayMs }),
]);

const jsonMock = z.strictObject({
  status: z.number().int(),
  headers: z.array(headerPair).readonly(),
  /** Returned verbatim, as UTF-8, if there is no template. */
  body: z.string(),
  /** The language of the expressions in the body and in the values of headers. Absent if they have none. */
  template: z.literal('CEL').optional(),
  /** Absent if the response is sent immediately. */
  delay: delayConfig.optional(),
});

const jsonAction = jsonMock.extend({ kind: z.literal('JSON') });

const headerChanges = z.strictObject({
  /** Replace all headers of the same name, in any case. */
  set: z.array(headerPair).readonly(),
  /** In lowercase. */
  remove: z.array(z.string()).readonly(),
});

const secretHeader = z.strictObject({
  name: z.string(),
  /**
   * Refers to a `secret` message (config-stream.ts). An id never stands for another value later. Absent if the Secret cannot be used,
   * so that requests for the upstream are refused.
   */
  secretId: z.string().optional(),
});

const forwardAction = z.strictObject({
  kind: z.literal('Forward'),
  /** An http or https URL. The caller's query string is appended as received. */
  url: z.string(),
  timeoutMs: z.number().int().positive(),
  /** Whether `serviceRef` specifies the upstream. Its address is a cluster address, which the address policy allows. */
  viaService: z.boolean(),
  /** How to verify the upstream. Absent if its certificate must be for the host of the URL, and from an authority that all trust. */
  tls: z
    .strictObject({
      /** The uid of the only Authority that is trusted. If there is none with this uid, no certificate is. */
      authorityUid: z.string().optional(),
      /** The name that the upstream is asked for, and that its certificate must have, in place of the host of the URL. */
      serverName: z.string().optional(),
    })
    .optional(),
  /** Set if the upstream gets the caller's Host header. */
  host: z.literal('Preserve').optional(),
  requestHeaders: headerChanges.optional(),
  /** Headers whose values are in Secrets. They replace all headers of the same name, in any case. Absent if there are none. */
  secretHeaders: z.array(secretHeader).min(1).max(LIMITS.upstreamSecretsMax).readonly().optional(),
  responseHeaders: headerChanges.optional(),
  rewrite: z.array(z.enum(UPSTREAM_REWRITES)).readonly().optional(),
  /** Responds if the upstream fails for one of these reasons before its response begins. Absent if nothing else responds. */
  fallback: z.strictObject({ on: z.array(z.enum(FALLBACK_REASONS)).readonly(), mock: jsonMock }).optional(),
});

/** A condition on a value of the request. `value` is set only for `Exact` and `RegularExpression`. */
const valueCondition = z.strictObject({
  name: z.string(),
  type: z.enum(VALUE_CONDITIONS),
  value: z.string().optional(),
});

/** A condition that a part of all keys meets, always the same ones. */
const drawConfig = z.strictObject({
  percent: z.number().min(0).max(100),
  /** Requests with the same seed and the same key draw the same number. */
  seed: z.string(),
  /** An expression in CEL. Absent if the key is the id of the request. */
  key: z.string().optional(),
});

/** A mock that responds to requests that meet all its conditions. */
const responseConfig = z.strictObject({
  name: z.string(),
  pathParams: z.array(valueCondition).readonly(),
  headers: z.array(valueCondition).readonly(),
  queryParams: z.array(valueCondition).readonly(),
  draw: drawConfig.optional(),
  /** An expression in CEL whose value must be true. */
  cel: z.string().optional(),
  mock: jsonMock.extend({ bodyEncoding: z.enum(['utf8', 'base64']) }),
});

/** The endpoint has a mistake. The gateway responds with 503, so that no less specific endpoint responds. */
const notAcceptedAction = z.strictObject({ kind: z.literal('NotAccepted') });

/** Replaces the action of an endpoint that a gateway does not support. The gateway responds with 503. */
const withheldAction = z.strictObject({ kind: z.literal('Withheld') });

/** How a request is signed. Names of headers are lowercase. */
const signatureConfig = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.enum(['GitHub', 'Shopify']) }),
  z.strictObject({
    scheme: z.enum(TIMESTAMP_SCHEMES),
    /** How far the timestamp may be from the gateway's clock, in both directions. */
    toleranceMs: z.number().int().min(LIMITS.signatureToleranceMsMin).max(LIMITS.signatureToleranceMsMax),
  }),
  z.strictObject({
    scheme: z.literal('HMAC'),
    header: z.string(),
    algorithm: z.enum(HMAC_ALGORITHMS),
    encoding: z.enum(HMAC_ENCODINGS),
    /** The text before the encoded digest. May be empty. */
    prefix: z.string(),
  }),
  z.strictObject({ scheme: z.literal('Token'), header: z.string() }),
]);

/** Authenticates requests without an API key. */
const credentialConfig = z.strictObject({
  kind: z.literal('Signature'),
  signature: signatureConfig,
  /**
   * Refer to `secret` messages (config-stream.ts), any of which may have signed a request. An id never stands for another value
   * later. Empty if no Secret can be used, so that no signature is valid.
   */
  secretIds: z.array(z.string()).max(LIMITS.signingSecretsMax).readonly(),
});

export const endpointConfigSchema = z.strictObject({
  kind: z.literal('Endpoint'),
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  projectUid: z.string(),
  generation: z.number().int(),
  /**
   * A path that begins with `/`. It is compared with the target's path after the project URI: segments in braces are parameters,
   * and everything else is compared byte by byte.
   */
  slug: z.string(),
  method: z.enum(METHODS),
  /** Tried in order before the action. Absent if there are none. */
  responses: z.array(responseConfig).readonly().optional(),
  action: z.discriminatedUnion('kind', [jsonAction, forwardAction, notAcceptedAction, withheldAction]),
  /** Absent if requests need the API key. */
  credential: credentialConfig.optional(),
});

/** The parts of an endpoint that all versions share. */
const anyEndpoint = endpointConfigSchema
  .omit({ responses: true })
  .extend({ action: z.unknown(), credential: z.unknown().optional() })
  .strip();

/**
 * The credential of an endpoint with the action `Withheld`, whichever credential it has. With it, the gateway responds with 503 to
 * requests without a key, too. Nothing is verified with it.
 */
export const WITHHELD_CREDENTIAL: CredentialConfig = {
  kind: 'Signature',
  signature: { scheme: 'GitHub' },
  secretIds: [],
};

/**
 * Returns the endpoint with the action `Withheld`, even if this version does not know the action or the credential that the endpoint
 * has. Returns undefined if the object is not an endpoint.
 */
export const withhold = (object: unknown): EndpointConfig | undefined => {
  const parsed = anyEndpoint.safeParse(object);
  if (!parsed.success) return undefined;
  const { credential, ...endpoint } = parsed.data;
  return {
    ...endpoint,
    action: { kind: 'Withheld' },
    ...(credential !== undefined && { credential: WITHHELD_CREDENTIAL }),
  };
};

export const configObjectSchema = z.discriminatedUnion('kind', [
  accountConfig,
  projectConfig,
  authorityConfig,
  endpointConfigSchema,
]);

export type AccountConfig = Readonly<z.infer<typeof accountConfig>>;
export type ProjectConfig = Readonly<z.infer<typeof projectConfig>>;
export type AuthorityConfig = Readonly<z.infer<typeof authorityConfig>>;
export type EndpointConfig = Readonly<z.infer<typeof endpointConfigSchema>>;
export type ValueCondition = Readonly<z.infer<typeof valueCondition>>;
export type JsonMockConfig = Readonly<z.infer<typeof jsonMock>>;
export type DrawConfig = Readonly<z.infer<typeof drawConfig>>;
export type DelayConfig = Readonly<z.infer<typeof delayConfig>>;
export type ResponseConfig = Readonly<z.infer<typeof responseConfig>>;
export type JsonActionConfig = Readonly<z.infer<typeof jsonAction>>;
export type HeaderChanges = Readonly<z.infer<typeof headerChanges>>;
export type ForwardActionConfig = Readonly<z.infer<typeof forwardAction>>;
export type SignatureConfig = Readonly<z.infer<typeof signatureConfig>>;
export type CredentialConfig = Readonly<z.infer<typeof credentialConfig>>;
export type ConfigObject = AccountConfig | ProjectConfig | AuthorityConfig | EndpointConfig;

/** Returns the ids of the secrets that may have signed a request to an endpoint. */
export const signingSecretIds = (object: ConfigObject): readonly string[] =>
  object.kind === 'Endpoint' ? (object.credential?.secretIds ?? []) : [];

/** Returns the ids of the secrets that the upstream of an endpoint gets. */
export const upstreamSecretIds = (object: ConfigObject): readonly string[] => {
  const headers =
    object.kind === 'Endpoint' && object.action.kind === 'Forward' ? object.action.secretHeaders : undefined;
  return (headers ?? []).flatMap(({ secretId }) => secretId ?? []);
};

/** Returns whether an endpoint needs a feature, by feature. */
export type ConfigFeatures = Readonly<Record<string, (endpoint: EndpointConfig) => boolean>>;

/**
 * The features of endpoints that were added after the first version. A gateway sends the list of those that it supports, so that the
 * operator withholds an endpoint that needs others. No version adds one yet.
 */
export const CONFIG_FEATURES: ConfigFeatures = {};

/** Identifies an object in deltas and acknowledgements, for example `Endpoint/1f0c…`. */
export type ConfigKey = string;
export const configKey = (object: Pick<ConfigObject, 'kind' | 'uid'>): ConfigKey => `${object.kind}/${object.uid}`;

/** The API group of all custom resources. */
export const API_GROUP = 'standin.dev';
export const API_VERSION = 'v1alpha1';
export const GROUP_VERSION = `${API_GROUP}/${API_VERSION}`;

/** The namespace of an object in a directory of manifests if its manifest does not specify one. kubectl uses the same default. */
export const DEFAULT_NAMESPACE = 'default';

/** The category of all kinds, as in `kubectl get standin`. */
export const CATEGORY = 'standin';

/**
 * The resource names (ADR 003, ADR 014). Core Kubernetes owns the plural `endpoints`, so these plurals have a prefix. kubectl
 * prints `project.standin.dev/shop`. Because of the singular and the second short names, kubectl accepts both the names that it
 * prints and the names that users expect.
 */
export const RESOURCES = {
  Account: { plural: 'mockaccounts', singular: 'account', shortNames: ['mac', 'accounts'] },
  Project: { plural: 'mockprojects', singular: 'project', shortNames: ['mpr', 'projects'] },
  Endpoint: { plural: 'mockendpoints', singular: 'endpoint', shortNames: ['mep', 'endpoints'] },
  Replay: { plural: 'mockreplays', singular: 'replay', shortNames: ['mre', 'replays'] },
  Share: { plural: 'mockshares', singular: 'share', shortNames: ['msh', 'shares'] },
  KeyRegeneration: {
    plural: 'mockkeyregenerations',
    singular: 'keyregeneration',
    shortNames: ['mkr', 'keyregenerations'],
  },
  Purge: { plural: 'mockpurges', singular: 'purge', shortNames: ['mpu', 'purges'] },
  Expectation: { plural: 'mockexpectations', singular: 'expectation', shortNames: ['mex', 'expectations'] },
} as const;

export type Kind = keyof typeof RESOURCES;
export const KINDS = Object.keys(RESOURCES) as Kind[];

/** Desired state. The operator translates these kinds into the gateways' configuration. */
export const CONFIG_KINDS = ['Account', 'Project', 'Endpoint'] as const satisfies readonly Kind[];
export type ConfigKind = (typeof CONFIG_KINDS)[number];

/**
 * One-time operations, which are not part of the configuration. `standin dev` stores them in the data folder, not with the manifests.
 */
export const OPERATION_KINDS = [
  'Replay',
  'Share',
  'KeyRegeneration',
  'Purge',
  'Expectation',
] as const satisfies readonly Kind[];
export type OperationKind = (typeof OPERATION_KINDS)[number];

export const isConfigKind = (kind: Kind): kind is ConfigKind => (CONFIG_KINDS as readonly Kind[]).includes(kind);

/** Where a Replay sends the captured requests. */
export const REPLAY_TARGETS = ['Endpoint', 'Upstream', 'URL'] as const;
export type ReplayTarget = (typeof REPLAY_TARGETS)[number];

/**
 * `Any` sends several requests at a time. `Original` sends them one after the other, in the order in which they were received.
 */
export const REPLAY_ORDERS = ['Any', 'Original'] as const;
export type ReplayOrder = (typeof REPLAY_ORDERS)[number];

/** The desired state of a Replay. `Cancelled` is final. */
export const REPLAY_STATES = ['Running', 'Suspended', 'Cancelled'] as const;
export type ReplayState = (typeof REPLAY_STATES)[number];

/** The progress of a Replay. The last three phases are final. */
export const REPLAY_PHASES = ['Pending', 'Running', 'Suspended', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type ReplayPhase = (typeof REPLAY_PHASES)[number];

/** The progress of a KeyRegeneration. The last two phases are final. */
export const REGENERATION_PHASES = ['Pending', 'Running', 'Completed', 'Refused'] as const;
export type RegenerationPhase = (typeof REGENERATION_PHASES)[number];

/** The progress of a Purge. The last two phases are final. */
export const PURGE_PHASES = ['Pending', 'Waiting', 'Running', 'Completed', 'Refused'] as const;
export type PurgePhase = (typeof PURGE_PHASES)[number];

/** The progress of an Expectation. The last three phases are final. */
export const EXPECTATION_PHASES = ['Pending', 'Open', 'Met', 'Unmet', 'Undetermined'] as const;
export type ExpectationPhase = (typeof EXPECTATION_PHASES)[number];

/** Methods that an Endpoint can serve. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** Methods of accepted requests. An Endpoint for GET also serves HEAD. */
export const REQUEST_METHODS = [...METHODS, 'HEAD'] as const;
export type RequestMethod = (typeof REQUEST_METHODS)[number];

/** What an Endpoint does with a request. */
export const ACTIONS = ['JSON', 'Forward'] as const;
export type Action = (typeof ACTIONS)[number];

/** How a condition compares a value of a request. Those of `PATH_CONDITIONS` require a value, the others have none. */
export const PATH_CONDITIONS = ['Exact', 'RegularExpression'] as const;
export const VALUE_CONDITIONS = [...PATH_CONDITIONS, 'Present', 'Absent'] as const;

/** How the delay of a response is chosen. */
export const DELAY_TYPES = ['Fixed', 'Uniform', 'LogNormal'] as const;

/** Whose Host header an upstream gets: its own, or the caller's. */
export const UPSTREAM_HOSTS = ['Upstream', 'Preserve'] as const;

/** What a gateway maps from an upstream's paths to the project's. */
export const UPSTREAM_REWRITES = ['Location', 'CookiePath'] as const;
export type UpstreamRewrite = (typeof UPSTREAM_REWRITES)[number];

/** What can go wrong with an upstream, so that the fallback of a Forward responds. */
export const FALLBACK_REASONS = ['Unreachable', 'Timeout', 'InvalidAnswer', 'ServerError'] as const;
export type FallbackReason = (typeof FALLBACK_REASONS)[number];

/** Whether Endpoints of an Account may accept signed requests without the API key. */
export const SIGNATURES = ['Allowed', 'Denied'] as const;

/** Whether gateways count the requests of a Project in metrics of its own. */
export const PROJECT_METRICS = ['Enabled', 'Disabled'] as const;

/** What authenticates a request to an Endpoint, besides the Account's API key. */
export const CREDENTIAL_TYPES = ['Signature'] as const;

/** How a sender proves that it knows a secret. The secret of `Token` is a header of the request. */
export const SIGNATURE_SCHEMES = ['GitHub', 'Stripe', 'Slack', 'Shopify', 'StandardWebhooks', 'HMAC', 'Token'] as const;
export type SignatureScheme = (typeof SIGNATURE_SCHEMES)[number];

/** The schemes that sign a timestamp, so that a request can be too old. */
export const TIMESTAMP_SCHEMES = ['Stripe', 'Slack', 'StandardWebhooks'] as const satisfies readonly SignatureScheme[];

export const HMAC_ALGORITHMS = ['SHA256', 'SHA512'] as const;
export const HMAC_ENCODINGS = ['Hex', 'Base64'] as const;

/** What Endpoints may use the data of a Secret for, by the label that the Secret must have with the value `true`. */
export const SECRET_LABELS = {
  Signing: `${API_GROUP}/signing-secret`,
  Upstream: `${API_GROUP}/upstream-credential`,
} as const;
export type SecretUse = keyof typeof SECRET_LABELS;

/** The annotation with the https origins that may get the data of a Secret, separated by commas or spaces. */
export const UPSTREAM_ORIGINS_ANNOTATION = `${API_GROUP}/upstream-origins`;

/**
 * The label that a ConfigMap must have with the value `true`, so that an Endpoint can trust the authorities in it. With a label, the
 * operator does not read all ConfigMaps of a cluster.
 */
export const UPSTREAM_CA_LABEL = `${API_GROUP}/upstream-ca`;

/**
 * The label of Projects and Endpoints that exist only for a test. In `standin dev`, they are not written to the directory of manifests, and
 * end with the process.
 */
export const TEMPORARY_LABEL = `${API_GROUP}/temporary`;

export const PLANS = ['Free', 'Pro'] as const;
export type Plan = (typeof PLANS)[number];

/** The field manager of the operator's writes, and the `managed-by` label of the Secrets that the operator creates. */
export const OPERATOR_FIELD_MANAGER = 'standin-operator';

/** The data key of the Secret with an Account's generated API key. The Secret is named `<account>-api-key`. */
export const API_KEY_DATA_KEY = 'api-key';
export const apiKeySecretName = (account: string): string => `${account}-api-key`;

/**
 * The API group of all custom resources (design §3). These plurals have a prefix because core Kubernetes owns the plural
 * `endpoints`.
 */
export const API_GROUP = 'standin.dev';
export const API_VERSION = 'v1alpha1';
export const GROUP_VERSION = `${API_GROUP}/${API_VERSION}`;

/** The namespace of an object in a directory whose manifest does not name one. kubectl uses the same default. */
export const DEFAULT_NAMESPACE = 'default';

/** kubectl get standin */
export const CATEGORY = 'standin';

export const RESOURCES = {
  Account: { plural: 'mockaccounts', singular: 'mockaccount', shortName: 'mac' },
  Project: { plural: 'mockprojects', singular: 'mockproject', shortName: 'mpr' },
  Endpoint: { plural: 'mockendpoints', singular: 'mockendpoint', shortName: 'mep' },
  Replay: { plural: 'mockreplays', singular: 'mockreplay', shortName: 'mre' },
  Share: { plural: 'mockshares', singular: 'mockshare', shortName: 'msh' },
  KeyRegeneration: { plural: 'mockkeyregenerations', singular: 'mockkeyregeneration', shortName: 'mkr' },
} as const;

export type Kind = keyof typeof RESOURCES;
export const KINDS = Object.keys(RESOURCES) as Kind[];

/** Desired state. The operator translates these kinds into the gateways' configuration. */
export const CONFIG_KINDS = ['Account', 'Project', 'Endpoint'] as const satisfies readonly Kind[];
export type ConfigKind = (typeof CONFIG_KINDS)[number];

/**
 * One-time actions that do not affect the configuration. `standin dev` stores them in the data folder, not with the manifests.
 */
export const ACT_KINDS = ['Replay', 'Share', 'KeyRegeneration'] as const satisfies readonly Kind[];
export type ActKind = (typeof ACT_KINDS)[number];

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

/** The progress of a Replay. The last three are final. */
export const REPLAY_PHASES = ['Pending', 'Running', 'Suspended', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type ReplayPhase = (typeof REPLAY_PHASES)[number];

/** The progress of a KeyRegeneration. The last two are final. */
export const REGENERATION_PHASES = ['Pending', 'Running', 'Completed', 'Refused'] as const;
export type RegenerationPhase = (typeof REGENERATION_PHASES)[number];

/** Methods that an Endpoint can serve. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** What an Endpoint does with a request. */
export const ACTIONS = ['JSON', 'Forward'] as const;
export type Action = (typeof ACTIONS)[number];

export const PLANS = ['Free', 'Pro'] as const;
export type Plan = (typeof PLANS)[number];

/** The field manager for every status that the operator writes. */
export const OPERATOR_FIELD_MANAGER = 'standin-operator';

/** The Secret with an Account's generated key is named `<account>-api-key`. This is its data key. */
export const API_KEY_DATA_KEY = 'api-key';
export const apiKeySecretName = (account: string): string => `${account}-api-key`;

/** The API group of all custom resources (design §3). Core Kubernetes owns the plural `endpoints`, so ours are prefixed. */
export const API_GROUP = 'standin.dev';
export const API_VERSION = 'v1alpha1';
export const GROUP_VERSION = `${API_GROUP}/${API_VERSION}`;

/** kubectl get standin */
export const CATEGORY = 'standin';

export const RESOURCES = {
  Account: { plural: 'mockaccounts', singular: 'mockaccount', shortName: 'mac' },
  Project: { plural: 'mockprojects', singular: 'mockproject', shortName: 'mpr' },
  Endpoint: { plural: 'mockendpoints', singular: 'mockendpoint', shortName: 'mep' },
} as const;

export type Kind = keyof typeof RESOURCES;
export const KINDS = Object.keys(RESOURCES) as Kind[];

/** Methods that an Endpoint can answer. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** What an Endpoint does with a request. */
export const ACTIONS = ['JSON', 'Forward'] as const;
export type Action = (typeof ACTIONS)[number];

export const PLANS = ['Free', 'Pro'] as const;
export type Plan = (typeof PLANS)[number];

/** Field manager of every status that the operator writes. */
export const OPERATOR_FIELD_MANAGER = 'standin-operator';

/** The Secret of an Account's generated key: `<account>-api-key`, data key `api-key`. */
export const API_KEY_DATA_KEY = 'api-key';
export const apiKeySecretName = (account: string): string => `${account}-api-key`;

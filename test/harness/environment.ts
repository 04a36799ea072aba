/** Variables that `npm test` and its user set. This file loads nothing, so that importing them does not count as using a cluster. */

/** Set by `npm test -- --containers`. */
export const CONTAINERS_VARIABLE = 'STANDIN_TEST_CONTAINERS';
/** The kubeconfig of the user's own cluster. */
export const KUBECONFIG_VARIABLE = 'STANDIN_TEST_KUBECONFIG';

/**
 * Environment variables set by `npm test` or its user. This file has no imports, so that importing it does not count as using a
 * cluster.
 */

/** Set by `npm test -- --containers`. */
export const CONTAINERS_VARIABLE = 'STANDIN_TEST_CONTAINERS';
/** The kubeconfig of the user's own cluster. */
export const KUBECONFIG_VARIABLE = 'STANDIN_TEST_KUBECONFIG';

/** Set to run the tests of `npm run rehearse` in place of all others. */
export const REHEARSAL_VARIABLE = 'STANDIN_TEST_REHEARSAL';

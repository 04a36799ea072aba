// client-node does not return which files KUBECONFIG lists.

import { delimiter } from 'node:path';
import process from 'node:process';

/** Returns the kubeconfigs that the environment variable KUBECONFIG lists, as it does for kubectl. */
export const kubeconfigFiles = (): readonly string[] =>
  (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');

import type { Command } from 'commander';
import { clusterOptions, OTHER_SOURCES } from './server-options.ts';

const NAMESPACE_DEFAULT = 'default';

/**
 * Makes a command use the cluster of a kubeconfig, if its options say so, or if that is the program's default and no option names
 * another source. Then `--namespace` defaults to the namespace of the context, as in kubectl.
 */
export const chooseCluster = async (command: Command, isDefault: boolean): Promise<void> => {
  const has = (name: string): boolean => command.options.some((option) => option.attributeName() === name);
  if (!has('serviceAccount')) return;
  const isGiven = (name: string): boolean => ![undefined, 'default'].includes(command.getOptionValueSource(name));
  if (OTHER_SOURCES.some(isGiven)) return;
  if (!isDefault && ![...Object.keys(clusterOptions), 'allNamespaces'].some(isGiven)) return;
  command.setOptionValue('cluster', true);
  // `explain` finds an id in all namespaces, unless one is given.
  if (!has('namespace') || has('path') || isGiven('namespace') || isGiven('allNamespaces')) return;
  command.setOptionValueWithSource('namespace', await contextNamespace(command), 'default');
};

/** Resolves with the namespace of the selected context. Connecting reports a kubeconfig that cannot be used. */
const contextNamespace = async (command: Command): Promise<string> => {
  const { openKubeClient } = await import('./open-cluster.ts');
  try {
    const { config } = openKubeClient(command.opts());
    return config.getContextObject(config.getCurrentContext())?.namespace ?? NAMESPACE_DEFAULT;
  } catch {
    return NAMESPACE_DEFAULT;
  }
};

import { resourcePath, type KubeClient } from '@standin/kube';

interface ClusterRole {
  readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}
const ROLE = resourcePath({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterroles',
  name: 'standin-operator',
});

/**
 * Removes a permission from the operator, so that the operator fails at exactly the step that needs the permission. Returns a
 * function that restores the permission.
 */
export const denyOperator = async (
  client: KubeClient,
  verb: string,
  resource: string,
): Promise<() => Promise<unknown>> => {
  const { rules } = await client.get<ClusterRole>(ROLE);
  const without = rules.map((rule) =>
    rule.resources.includes(resource) ? { ...rule, resources: rule.resources.filter((one) => one !== resource) } : rule,
  );
  const others = rules
    .filter(({ resources }) => resources.includes(resource))
    .map((rule) => ({ ...rule, resources: [resource], verbs: rule.verbs.filter((one) => one !== verb) }));
  const kept = [...without, ...others].filter(({ resources, verbs }) => resources.length > 0 && verbs.length > 0);
  await client.mergePatch(ROLE, { rules: kept });
  return () => client.mergePatch(ROLE, { rules });
};

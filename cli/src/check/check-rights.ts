import { API_GROUP, KINDS, RESOURCES } from '@standin/contract';
import type { KubeClient } from '@standin/kube';
import { failed, passed, type Finding } from './finding.ts';
import { componentOf, variable, type Installation } from './installation.ts';

const CHECK = 'Permissions';
const REVIEW = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

/** A permission that the operator needs. */
export interface Right {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verbs: readonly string[];
}

const plural = (kind: (typeof KINDS)[number]): string => RESOURCES[kind].plural;

/** What the operator needs in the namespaces that it serves, as in charts/standin/templates/operator/rbac.yaml. */
export const SERVED: readonly Right[] = [
  ...KINDS.map((kind) => ({ group: API_GROUP, resource: plural(kind), verbs: ['list', 'watch'] })),
  ...KINDS.map((kind) => ({ group: API_GROUP, resource: plural(kind), subresource: 'status', verbs: ['patch'] })),
  { group: API_GROUP, resource: plural('Account'), verbs: ['get'] },
  { group: '', resource: 'services', verbs: ['list', 'watch'] },
  { group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] },
];
export const SECRETS: Right = { group: '', resource: 'secrets', verbs: ['get', 'create', 'update'] };
/** What it needs in its own namespace. */
export const OWN: readonly Right[] = [
  { group: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'create', 'update'] },
  { group: '', resource: 'configmaps', verbs: ['get', 'list', 'create', 'update', 'delete'] },
  { group: '', resource: 'pods', verbs: ['get'] },
  SECRETS,
];

interface Scoped extends Right {
  /** Undefined for all namespaces. */
  readonly namespace?: string;
}

/** Asks the API server whether the operator has its permissions. Rejects with `ApiError` if this user must not ask. */
export const checkRights = async (client: KubeClient, installation: Installation): Promise<readonly Finding[]> => {
  const operator = componentOf(installation, 'operator');
  const account = operator?.workload.spec.template.spec.serviceAccountName;
  if (account === undefined) return [];
  const { namespace } = installation;
  const user = `system:serviceaccount:${namespace}:${account}`;
  const rights = rightsOf(installation).flatMap((right) => right.verbs.map((verb) => ({ ...right, verb })));
  const missing = await Promise.all(
    rights.map(async ({ verb, namespace: scope, ...right }) => {
      const resourceAttributes = { ...attributesOf(right), verb, ...(scope !== undefined && { namespace: scope }) };
      const { status } = await client.create<{ readonly status: { readonly allowed: boolean } }>(REVIEW, {
        ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
        spec: { user, groups: GROUPS(namespace), resourceAttributes },
      });
      if (status.allowed) return [];
      const name = [right.resource, right.subresource].filter(Boolean).join('/');
      return [`${verb} ${name} in ${scope === undefined ? 'all namespaces' : `namespace ${scope}`}`];
    }),
  );
  const names = missing.flat();
  return names.length === 0
    ? [passed(CHECK, `ServiceAccount ${namespace}/${account} has the permissions of the operator.`)]
    : [
        failed(
          CHECK,
          `ServiceAccount ${namespace}/${account} lacks permissions: ${listOf(names)}.`,
          'Run helm upgrade with rbac.create=true, or grant what charts/standin/templates/operator/rbac.yaml grants.',
        ),
      ];
};

const NAMES_MAX = 4;
const listOf = (names: readonly string[]): string =>
  `${names.slice(0, NAMES_MAX).join(', ')}${names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : ''}`;

const GROUPS = (namespace: string): readonly string[] => [
  ...['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${namespace}`],
];

const attributesOf = ({ group, resource, subresource }: Omit<Right, 'verbs'>) => ({
  ...{ group, resource },
  ...(subresource !== undefined && { subresource }),
});

/** Returns what the operator needs with the settings of its Deployment. */
const rightsOf = (installation: Installation): readonly Scoped[] => {
  const operator = componentOf(installation, 'operator');
  const listed = variable(operator, 'STANDIN_WATCH_NAMESPACES')?.split(',').filter(Boolean) ?? [];
  // With a selector, each namespace has its own Role for Secrets, which the conditions of its Accounts report.
  const served = variable(operator, 'STANDIN_WATCH_NAMESPACE_SELECTOR') === undefined ? [...SERVED, SECRETS] : SERVED;
  const scopes = listed.length === 0 ? [{}] : listed.map((namespace) => ({ namespace }));
  return [
    ...scopes.flatMap((scope) => served.map((right) => ({ ...right, ...scope }))),
    ...OWN.map((right) => ({ ...right, namespace: installation.namespace })),
  ];
};

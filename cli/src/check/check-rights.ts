import { API_GROUP, KINDS, RESOURCES } from '@standin/contract';
import { ApiError, listAll, resourcePath, type KubeClient } from '@standin/kube';
import { authorizationApi } from '@standin/kube/review-api';
import { INSTALLATION_SECRET, LEASE_NAME } from '@standin/operator';
import { failed, passed, unknown, type Finding } from './finding.ts';
import { environmentVariable, findComponent, type Installation } from './installation.ts';

const CHECK = 'Permissions';

/** A permission of a component. */
export interface Right {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** If undefined, the permission is for all objects. */
  readonly name?: string;
  readonly verbs: readonly string[];
  /** Undefined for all namespaces. */
  readonly namespace?: string;
}

/** What the ServiceAccount of a component needs. */
export interface AccountRights {
  readonly component: 'operator' | 'dashboard';
  readonly account: string;
  readonly rights: readonly Right[];
}

const plural = (kind: (typeof KINDS)[number]): string => RESOURCES[kind].plural;
/** The kinds that the operator deletes after they end. */
const DELETED = ['Replay', 'Share', 'KeyRegeneration', 'Expectation'] as const;
/** The kinds that the operator reads without a cache before it changes a key. */
const READ = ['Account', 'KeyRegeneration'] as const;
const NAMESPACES: Right = { group: '', resource: 'namespaces', verbs: ['list', 'watch'] };
const SECRETS: Right = { group: '', resource: 'secrets', verbs: ['get', 'create', 'update'] };
const EVENTS: Right = { group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] };

/** What the operator needs in the namespaces that it serves, as in charts/standin/templates/operator/rbac.yaml. */
const SERVED: readonly Right[] = [
  ...KINDS.map((kind) => ({ group: API_GROUP, resource: plural(kind), verbs: ['list', 'watch'] })),
  ...KINDS.map((kind) => ({ group: API_GROUP, resource: plural(kind), subresource: 'status', verbs: ['patch'] })),
  ...DELETED.map((kind) => ({ group: API_GROUP, resource: plural(kind), verbs: ['delete'] })),
  ...READ.map((kind) => ({ group: API_GROUP, resource: plural(kind), verbs: ['get'] })),
  { group: '', resource: 'services', verbs: ['list', 'watch'] },
  { group: '', resource: 'configmaps', verbs: ['list', 'watch'] },
  EVENTS,
];

/** What the dashboard itself needs, as in charts/standin/templates/dashboard/rbac.yaml. */
const SHOWN: readonly Right[] = [
  ...(['Account', 'Project', 'Share'] as const).map((kind) => ({
    group: API_GROUP,
    resource: plural(kind),
    verbs: ['list', 'watch'],
  })),
  { group: API_GROUP, resource: plural('Share'), verbs: ['get'] },
];

/** What the operator needs in its own namespace. */
const ownRights = (installation: Installation): readonly Right[] => {
  const operator = findComponent(installation, 'operator');
  const certificates = environmentVariable(operator, 'STANDIN_STREAM_CERTIFICATE_SECRET');
  const issuesCertificates =
    certificates !== undefined && environmentVariable(operator, 'STANDIN_STREAM_CERTIFICATE_DIR') === undefined;
  return [
    { group: 'coordination.k8s.io', resource: 'leases', verbs: ['create'] },
    { group: 'coordination.k8s.io', resource: 'leases', name: LEASE_NAME, verbs: ['get', 'update'] },
    { group: '', resource: 'configmaps', verbs: ['get', 'list', 'create', 'update', 'delete'] },
    { group: '', resource: 'pods', verbs: ['get'] },
    { group: '', resource: 'secrets', verbs: ['create'] },
    { group: '', resource: 'secrets', name: INSTALLATION_SECRET, verbs: ['get'] },
    ...(issuesCertificates ? [{ group: '', resource: 'secrets', name: certificates, verbs: ['get', 'update'] }] : []),
    ...drainRights(installation),
  ];
};

/** What the operator needs for the volumes of removed gateways. */
const drainRights = (installation: Installation): readonly Right[] => {
  const operator = findComponent(installation, 'operator');
  const gateways = environmentVariable(operator, 'STANDIN_DRAIN_STATEFUL_SET');
  const hasVolumes = findComponent(installation, 'gateway')?.kind === 'StatefulSet';
  if (environmentVariable(operator, 'STANDIN_DRAIN_JOB_TEMPLATE') === undefined || gateways === undefined)
    return hasVolumes ? [{ group: '', resource: 'persistentvolumeclaims', verbs: ['list'] }] : [];
  return [
    { group: '', resource: 'persistentvolumeclaims', verbs: ['list', 'watch', 'patch'] },
    { group: '', resource: 'pods', verbs: ['list', 'watch'] },
    { group: 'apps', resource: 'statefulsets', name: gateways, verbs: ['list', 'watch'] },
    { group: 'batch', resource: 'jobs', verbs: ['list', 'watch', 'create', 'delete'] },
    EVENTS,
  ];
};

const watchedNamespaceSelector = (installation: Installation): string | undefined =>
  environmentVariable(findComponent(installation, 'operator'), 'STANDIN_WATCH_NAMESPACE_SELECTOR');

/**
 * Returns what the components need with the settings of their Deployments. `selected` are the namespaces that the label selector of
 * the installation selects, each of which has its own Role for Secrets.
 */
export const accountRights = (installation: Installation, selected: readonly string[]): readonly AccountRights[] => {
  const listed =
    environmentVariable(findComponent(installation, 'operator'), 'STANDIN_WATCH_NAMESPACES')
      ?.split(',')
      .filter(Boolean) ?? [];
  const isSelective = watchedNamespaceSelector(installation) !== undefined;
  const inServed = (rights: readonly Right[]): readonly Right[] =>
    listed.length === 0 ? rights : listed.flatMap((namespace) => rights.map((right) => ({ ...right, namespace })));
  const rights = {
    operator: [
      ...inServed(isSelective ? [...SERVED, NAMESPACES] : [...SERVED, SECRETS]),
      ...selected.map((namespace) => ({ ...SECRETS, namespace })),
      ...ownRights(installation).map((right) => ({ ...right, namespace: installation.namespace })),
    ],
    dashboard: inServed(isSelective ? [...SHOWN, NAMESPACES] : SHOWN),
  };
  return (['operator', 'dashboard'] as const).flatMap((component) => {
    const account = findComponent(installation, component)?.workload.spec.template.spec.serviceAccountName;
    return account === undefined ? [] : [{ component, account, rights: rights[component] }];
  });
};

/**
 * Asks the API server whether the operator and the dashboard have their permissions. Rejects with `ApiError` if this user must not
 * ask.
 */
export const checkRights = async (client: KubeClient, installation: Installation): Promise<readonly Finding[]> => {
  const findings: Finding[] = [];
  const selected = await selectedNamespaces(client, watchedNamespaceSelector(installation)).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    const message = `The permissions on Secrets in the selected namespaces are unknown: ${error.message}.`;
    findings.push(unknown(CHECK, message, 'Run the check with more permissions (docs/guides/kubectl.md).'));
    return [];
  });
  for (const rights of accountRights(installation, selected))
    findings.push(await checkAccount(client, installation.namespace, rights));
  return findings;
};

const selectedNamespaces = async (client: KubeClient, selector: string | undefined): Promise<readonly string[]> => {
  if (selector === undefined) return [];
  const path = resourcePath({ group: '', version: 'v1', plural: 'namespaces' });
  const { items } = await listAll(client, path, { query: { labelSelector: selector } });
  return items.map(({ metadata }) => metadata.name);
};

const checkAccount = async (
  client: KubeClient,
  namespace: string,
  { component, account, rights }: AccountRights,
): Promise<Finding> => {
  const user = `system:serviceaccount:${namespace}:${account}`;
  const groups = ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const missing: string[] = [];
  // One right at a time, because there may be a hundred namespaces.
  for (const { verbs, ...object } of rights) {
    const lacking = await Promise.all(
      verbs.map(async (verb) => {
        const spec = { user, groups, resourceAttributes: { ...object, verb } };
        const { status } = await authorizationApi(client).createSubjectAccessReview({ body: { spec } });
        return status?.allowed === true ? [] : [verb];
      }),
    );
    missing.push(...lacking.flat().map((verb) => `${verb} ${describe(object)}`));
  }
  if (missing.length === 0)
    return passed(CHECK, `ServiceAccount ${namespace}/${account} has the permissions of the ${component}.`);
  return failed(
    CHECK,
    `ServiceAccount ${namespace}/${account} lacks permissions: ${firstNames(missing)}.`,
    `Run helm upgrade with rbac.create=true, or grant what charts/standin/templates/${component}/rbac.yaml grants. ` +
      'Namespaces that are selected by label also need the Role in docs/guides/install.md.',
  );
};

const describe = ({ resource, subresource, name, namespace }: Omit<Right, 'verbs'>): string => {
  const what = [resource, subresource].filter(Boolean).join('/');
  const where = namespace === undefined ? 'all namespaces' : `namespace ${namespace}`;
  return `${what}${name === undefined ? '' : ` ${name}`} in ${where}`;
};

const NAMES_MAX = 4;
const firstNames = (names: readonly string[]): string =>
  `${names.slice(0, NAMES_MAX).join(', ')}${names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : ''}`;

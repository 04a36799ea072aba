import { describe, expect, it } from 'vitest';
import { accountRights, type Right } from '../../cli/src/check/check-rights.ts';
import type { Component, Installation } from '../../cli/src/check/installation.ts';
import { CHART_CASES, parseObjects, renderChart, type RenderedObject } from '../harness/helm.ts';
import { SYSTEM_NAMESPACE } from '../harness/install-standin.ts';

/** Compares the permissions that `standin check` asks for with the roles that the chart renders. */

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** A permission in one namespace, or in all of them if `namespace` is undefined. */
interface Grant extends Rule {
  readonly namespace: string | undefined;
}

/** The namespaces of selected-values.yaml with a Role for Secrets. */
const SELECTED: Readonly<Record<string, readonly string[]>> = { selected: ['team-a', 'team-b'] };
/** Cases that create no roles. */
const WITHOUT_ROLES = ['headless'];

const renderedInstallation = (objects: readonly RenderedObject[]): Installation => ({
  namespace: SYSTEM_NAMESPACE,
  components: objects
    .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
    .map((object) => ({
      name: (object.metadata as { labels?: Record<string, string> }).labels?.['app.kubernetes.io/component'] ?? '',
      kind: object.kind as Component['kind'],
      workload: object as unknown as Component['workload'],
      pods: [],
    })),
  services: [],
});

/** Returns what the rendered bindings grant to a ServiceAccount. */
const grantsTo = (account: string, objects: readonly RenderedObject[]): readonly Grant[] =>
  objects
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
    .filter((binding) => (binding['subjects'] as readonly { name: string }[]).some(({ name }) => name === account))
    .flatMap((binding) => {
      const ref = binding['roleRef'] as { kind: string; name: string };
      const { namespace } = binding.metadata;
      const role = objects.find(
        ({ kind, metadata }) =>
          kind === ref.kind &&
          metadata.name === ref.name &&
          (kind === 'ClusterRole' || metadata.namespace === namespace),
      );
      return (role?.['rules'] as readonly Rule[]).map((rule) => ({ ...rule, namespace }));
    });

/** A permission for one verb. */
type Single = Omit<Right, 'verbs'> & { readonly verb: string };
const singles = (rights: readonly Right[]): readonly Single[] =>
  rights.flatMap(({ verbs, ...right }) => verbs.map((verb) => ({ ...right, verb })));
const resourceName = ({ resource, subresource }: Single): string => [resource, subresource].filter(Boolean).join('/');

const grants = ({ apiGroups, resources, resourceNames, verbs, namespace }: Grant, right: Single): boolean =>
  (namespace === undefined || namespace === right.namespace) &&
  apiGroups.includes(right.group) &&
  resources.includes(resourceName(right)) &&
  verbs.includes(right.verb) &&
  (resourceNames === undefined || (right.name !== undefined && resourceNames.includes(right.name)));

describe.for(CHART_CASES.filter((chartCase) => !WITHOUT_ROLES.includes(chartCase)))(
  'standin check with %s-values.yaml',
  (chartCase) => {
    const rendering = async () => {
      const objects = parseObjects(await renderChart({ chartCase, set: ['crds.enabled=false'] }));
      const accounts = accountRights(renderedInstallation(objects), SELECTED[chartCase] ?? []);
      return accounts.map(({ component, account, rights }) => ({
        component,
        granted: grantsTo(account, objects),
        asked: singles(rights),
      }));
    };

    it('asks for no permission that the chart does not grant', async () => {
      const found = await rendering();
      expect(found.map(({ component }) => component)).toEqual(['operator', 'dashboard']);
      for (const { component, granted, asked } of found)
        expect(
          asked.filter((right) => !granted.some((grant) => grants(grant, right))),
          component,
        ).toEqual([]);
    });

    it('asks for every permission that the chart grants', async () => {
      for (const { component, granted, asked } of await rendering()) {
        const each = granted.flatMap(({ apiGroups, resources, verbs, ...grant }) =>
          apiGroups.flatMap((group) =>
            resources.flatMap((resource) =>
              verbs.map((verb) => ({ ...grant, apiGroups: [group], resources: [resource], verbs: [verb] })),
            ),
          ),
        );
        expect(
          each.filter((grant) => !asked.some((right) => grants(grant, right))),
          component,
        ).toEqual([]);
      }
    });
  },
);

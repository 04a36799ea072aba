import { API_GROUP, API_VERSION, RESOURCES, type Kind } from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import { ApiError, listAll, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import { isPodReady } from '@standin/kube/pod-connection';
import { PlainError } from '../plain-error.ts';
import { styled, type Line } from '../terminal.ts';
import { readLease } from './check-leader.ts';
import { readMetrics } from './check-metrics.ts';
import { readInstallation } from './installation.ts';

/** The kinds that are served as long as they exist. The other kinds run once and end. */
const SERVED = ['Account', 'Project', 'Endpoint'] as const satisfies readonly Kind[];
const SHOWN_MAX = 20;

interface ComponentStatus {
  readonly name: string;
  readonly replicas: number;
  readonly ready: number;
  /** The versions that ready pods report. */
  readonly versions: readonly string[];
}

interface ObjectStatus {
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
  readonly message: string;
}

interface KindStatus {
  readonly kind: (typeof SERVED)[number];
  readonly total: number;
  readonly notReady: readonly ObjectStatus[];
}

/** An installation and the objects that it serves. */
export interface InstallationStatus {
  readonly namespace: string;
  readonly components: readonly ComponentStatus[];
  /** The pod of the operator that leads. Absent if no operator does. */
  readonly leader?: string;
  readonly kinds: readonly KindStatus[];
  /** What this user must not read. */
  readonly forbidden: readonly string[];
}

/**
 * Reads the status of the installation in a namespace. Rejects with `ApiError` if the API server cannot be reached, and with a
 * `PlainError` if the namespace has no installation.
 */
export const readInstallationStatus = async (client: KubeClient, namespace: string): Promise<InstallationStatus> => {
  const forbidden: string[] = [];
  const ifAllowed = async <T>(reading: Promise<T>): Promise<T | undefined> => {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 403) throw error;
      forbidden.push(error.message);
      return undefined;
    }
  };
  const [components, lease, ...kinds] = await Promise.all([
    ifAllowed(readComponents(client, namespace)),
    ifAllowed(readLease(client, namespace)),
    ...SERVED.map((kind) => ifAllowed(readKind(client, kind))),
  ]);
  // The identity of an operator is the name of its pod and a UUID.
  const leader = lease?.spec.holderIdentity?.split('_')[0];
  if (components?.length === 0) {
    throw new PlainError(
      `namespace ${namespace} has no components of Standin: name its namespace with --system-namespace. ` +
        'If standin dev runs them on your machine, use kubectl get standin --all-namespaces',
    );
  }
  return {
    namespace,
    components: components ?? [],
    ...(leader !== undefined && leader !== '' && { leader }),
    kinds: kinds.filter((kind) => kind !== undefined),
    forbidden,
  };
};

const readComponents = async (client: KubeClient, namespace: string): Promise<readonly ComponentStatus[]> => {
  const installation = await readInstallation(client, namespace);
  const { metrics } = await readMetrics(client, installation);
  return installation.components.map(({ name, workload, pods }) => ({
    name,
    replicas: workload.spec.replicas ?? 1,
    ready: pods.filter(isPodReady).length,
    versions: [
      ...new Set(metrics.flatMap(({ component, version = [] }) => (component === name ? version : []))),
    ].toSorted(),
  }));
};

const readKind = async (client: KubeClient, kind: (typeof SERVED)[number]): Promise<KindStatus> => {
  const path = resourcePath({ group: API_GROUP, version: API_VERSION, plural: RESOURCES[kind].plural });
  const { items } = await listAll<KubeObject & { readonly status?: unknown }>(client, path);
  const notReady = items.flatMap(({ metadata: { namespace = '', name }, status }): ObjectStatus[] => {
    const ready = conditionsIn(status).find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') return [];
    const { reason = 'Pending', message = 'The operator has not written its status.' } = ready ?? {};
    return [{ namespace, name, reason, message }];
  });
  return { kind, total: items.length, notReady };
};

export const formatStatus = ({ components, leader, kinds, forbidden }: InstallationStatus): readonly Line[] => {
  const rows = components.map(({ name, replicas, ready, versions }) => [
    ...[name, `${ready}/${replicas}`, versions.join(', ') || '-'],
    name === 'operator' ? (leader ?? 'none') : '',
  ]);
  const counts = kinds.map(({ kind, total, notReady }) => [
    ...[RESOURCES[kind].singular, `${total - notReady.length}/${total}`],
  ]);
  const objects = kinds.flatMap(({ kind, notReady }) => notReady.map((object) => ({ kind, ...object })));
  const more = objects.length - SHOWN_MAX;
  return [
    ...(rows.length === 0 ? [] : [...toTable([['COMPONENT', 'READY', 'VERSION', 'LEADER'], ...rows]), '']),
    ...(counts.length === 0 ? [] : toTable([['KIND', 'READY'], ...counts])),
    ...(objects.length === 0 ? [] : ['']),
    ...objects
      .slice(0, SHOWN_MAX)
      .map(({ kind, namespace, name, reason, message }): Line => [
        styled('yellow', reason),
        ` ${kind} ${namespace}/${name}: ${message}`,
      ]),
    ...(more > 0 ? [`and ${more} more: kubectl get standin --all-namespaces`] : []),
    ...forbidden.map((message): Line => [styled('yellow', 'Unknown'), ` ${message}`]),
  ];
};

const toTable = (rows: readonly (readonly string[])[]): readonly string[] =>
  rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(Math.max(...rows.map((other) => other[column]?.length ?? 0))))
      .join('   ')
      .trimEnd(),
  );

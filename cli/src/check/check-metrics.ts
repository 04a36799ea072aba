import { errorMessage } from '@standin/contract';
import type { KubeClient } from '@standin/kube';
import { isPodReady, podFetch } from '@standin/kube/pod-connection';
import { componentTitle } from './check-workloads.ts';
import { failed, passed, unknown, type Finding } from './finding.ts';
import type { Component, Installation } from './installation.ts';

const RESPONSE_MS_MAX = 10_000;

/** The metrics of a pod, by name. For several series with one name, the highest value. */
interface PodMetrics {
  readonly component: string;
  readonly pod: string;
  readonly values: ReadonlyMap<string, number>;
  readonly version: string | undefined;
}

/** Reads the metrics of all ready pods through port-forwards. A pod that does not respond is a finding. */
export const readMetrics = async (
  client: KubeClient,
  { namespace, components }: Installation,
): Promise<{ readonly metrics: readonly PodMetrics[]; readonly findings: readonly Finding[] }> => {
  const targets = components.flatMap((component) => metricsTargets(component));
  const read = await Promise.all(
    targets.map(async ({ component, pod, port }): Promise<PodMetrics | Finding> => {
      try {
        const get = podFetch(client.config, { namespace, pod, port });
        const response = await get(new URL('http://localhost/metrics'), {
          signal: AbortSignal.timeout(RESPONSE_MS_MAX),
        });
        if (!response.ok) throw new Error(`unexpected response (${response.status})`);
        return { component, pod, ...parseMetrics(await response.text()) };
      } catch (error) {
        const { cause = error } = error as Error;
        const message = `The metrics of pod ${pod} cannot be read: ${errorMessage(cause)}.`;
        return unknown('Metrics', message, 'Grant get and create on pods/portforward, and see the log of the pod.');
      }
    }),
  );
  return {
    metrics: read.filter((one) => 'values' in one),
    findings: read.filter((one) => 'check' in one),
  };
};

const metricsTargets = ({ name, pods }: Component) =>
  pods.filter(isPodReady).flatMap(({ metadata, spec }) => {
    const port = spec.containers
      .flatMap(({ ports = [] }) => ports)
      .find((one) => one.name === 'metrics')?.containerPort;
    return port === undefined ? [] : [{ component: name, pod: metadata.name, port }];
  });

const SERIES = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;

/** Parses the text format of Prometheus. */
export const parseMetrics = (text: string): Pick<PodMetrics, 'values' | 'version'> => {
  const values = new Map<string, number>();
  let version: string | undefined;
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = SERIES.exec(line) ?? [];
    if (name === undefined || !name.startsWith('standin_')) continue;
    values.set(name, Math.max(values.get(name) ?? -Infinity, Number(value)));
    if (name === 'standin_build_info') version = /version="([^"]*)"/.exec(labels)?.[1];
  }
  return { values, version };
};

/** Returns the names of the pods whose metric has such a value. */
const podsWhere = (
  metrics: readonly PodMetrics[],
  name: string,
  isBad: (value: number) => boolean,
): readonly string[] => metrics.filter(({ values }) => isBad(values.get(name) ?? NaN)).map(({ pod }) => pod);

const logCommand = (pod: string, namespace: string): string => `kubectl logs ${pod} -n ${namespace}`;

const checkClickHouse = (metrics: readonly PodMetrics[], namespace: string): readonly Finding[] => {
  if (metrics.length === 0) return [];
  const [pod, ...others] = new Set([
    ...podsWhere(metrics, 'standin_log_store_up', (value) => value === 0),
    ...podsWhere(metrics, 'standin_deliver_failing_seconds', (value) => value > 0),
  ]);
  if (pod !== undefined)
    return [
      failed(
        'ClickHouse',
        `${others.length + 1} of ${metrics.length} pods cannot reach ClickHouse: ${[pod, ...others].join(', ')}. Captured requests stay on the volumes of the gateways.`,
        `Check clickhouse.url and its Secret, the NetworkPolicies and the server. The log shows the error: ${logCommand(pod, namespace)}.`,
      ),
    ];
  return metrics.some(({ values }) => values.has('standin_log_store_up'))
    ? [passed('ClickHouse', 'All ready pods reach ClickHouse.')]
    : [unknown('ClickHouse', 'The pods are of a version that does not report this.', 'Upgrade Standin.')];
};

/** Checks what pods report about their connections: to the operator, to ClickHouse and to their disk. */
export const checkConnections = (metrics: readonly PodMetrics[], namespace: string): readonly Finding[] => {
  const where = (name: string, isBad: (value: number) => boolean): readonly string[] => podsWhere(metrics, name, isBad);
  return [
    ...checkClickHouse(metrics, namespace),
    ...where('standin_config_connected', (value) => value === 0).map((pod) =>
      failed(
        'Config stream',
        `Gateway ${pod} is not connected to an operator, so it does not receive changes.`,
        `Check the Service of the operator, the certificates and the NetworkPolicies. The log shows the error: ${logCommand(pod, namespace)}.`,
      ),
    ),
    ...where('standin_record_full', (value) => value === 1).map((pod) =>
      failed(
        'Volumes',
        `Gateway ${pod} rejects requests, because its volume or its spool is full, or the volume does not respond.`,
        'Check the volume. Make ClickHouse reachable, or enlarge gateway.persistence.size and gateway.settings.spool.bytes.',
      ),
    ),
    ...where('standin_deliver_quarantine', (value) => value > 0).map((pod) =>
      failed(
        'Quarantine',
        `Gateway ${pod} has rows that ClickHouse does not accept.`,
        `See them: kubectl exec ${pod} -n ${namespace} -- node cli/bin/standin.js admin quarantine /var/lib/standin-gateway/spool.`,
      ),
    ),
  ];
};

/** Checks that all pods are of one version, which is that of this program, because its CRDs are the ones that are compared. */
export const checkVersions = (metrics: readonly PodMetrics[], own: string): readonly Finding[] => {
  const byVersion = new Map<string, Set<string>>();
  for (const { component, version } of metrics) {
    if (version === undefined) continue;
    byVersion.set(version, (byVersion.get(version) ?? new Set()).add(componentTitle(component)));
  }
  const versions = [...byVersion.keys()];
  if (versions.length === 0) return [];
  if (versions.length > 1) {
    const parts = [...byVersion].map(([version, names]) => `${[...names].join(' and ')} ${version}`);
    return [
      failed(
        'Versions',
        `The pods are of different versions: ${parts.join(', ')}.`,
        'Wait for the rollout to end, or finish the upgrade with helm upgrade.',
      ),
    ];
  }
  const [version = ''] = versions;
  return version === own
    ? [passed('Versions', `All ready pods are of version ${version}, as this program.`)]
    : [
        unknown(
          'Versions',
          `This program is of version ${own}, and Standin of version ${version}. The CRDs may be reported as different.`,
          `Use kubectl standin of version ${version}.`,
        ),
      ];
};

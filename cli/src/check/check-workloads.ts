import { capitalize, ownMember } from '@standin/contract';
import { isPodReady } from '@standin/kube/pod-connection';
import { failed, passed, unknown, type Finding } from './finding.ts';
import { findComponent, type Component, type Installation, type Pod } from './installation.ts';

const NEEDED = ['operator', 'gateway'];
const EXPECTED = [...NEEDED, 'dashboard'];

/** For the start of a line. */
export const componentTitle = (name: string): string =>
  ownMember({ gateway: 'Gateways', clickhouse: 'Embedded ClickHouse' }, name) ?? capitalize(name);

/** Checks that the components exist and that all their pods are ready. */
export const checkWorkloads = (installation: Installation): readonly Finding[] => {
  const missing = EXPECTED.filter((name) => findComponent(installation, name) === undefined);
  return [
    ...missing.map((name) => missingFinding(installation, name)),
    ...installation.components.map((component) => judge(component)),
  ];
};

const missingFinding = ({ namespace }: Installation, name: string): Finding =>
  NEEDED.includes(name)
    ? failed(
        componentTitle(name),
        `Namespace ${namespace} has no ${name}.`,
        'Install the chart with helm upgrade --install, or name the namespace of Standin with --system-namespace.',
      )
    : unknown(
        componentTitle(name),
        `Namespace ${namespace} has no ${name}, so there are no pages and no JSON API.`,
        'If this is not intended, run helm upgrade with dashboard.enabled=true.',
      );

/** The embedded ClickHouse is a single server. Two would each have a part of the log. */
const REPLICAS: Readonly<Record<string, number>> = { clickhouse: 1 };

const judge = ({ name, kind, workload, pods }: Component): Finding => {
  const { name: workloadName, namespace = '' } = workload.metadata;
  const what = `${kind} ${workloadName}`;
  const { replicas = 1 } = workload.spec;
  const target = `${kind.toLowerCase()}/${workloadName} -n ${namespace}`;
  if (replicas === 0)
    return failed(
      componentTitle(name),
      `${what} has 0 replicas.`,
      `Run kubectl scale ${target} --replicas=${ownMember(REPLICAS, name) ?? 2}.`,
    );
  const ready = workload.status?.readyReplicas ?? 0;
  const unready = pods.filter((pod) => !isPodReady(pod));
  // During an update, the pods of the earlier version are ready while a new pod cannot start.
  const stuck = unready.find((pod) => waitingContainer(pod) !== undefined);
  if (ready >= replicas && stuck === undefined)
    return passed(componentTitle(name), `${what} has ${ready} of ${replicas} pods ready.`);
  const first = stuck ?? unready[0];
  const problem = first === undefined ? undefined : podProblem(first);
  const refusal = workload.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  const reason = problem?.text ?? refusal?.message ?? 'No pod was created.';
  const remedy =
    problem === undefined
      ? `See the events: kubectl describe ${target}.`
      : (problem.remedy ??
        `See its events and its log: kubectl describe pod ${problem.pod} -n ${namespace}, kubectl logs ${problem.pod} -n ${namespace}.`);
  return failed(componentTitle(name), `${what} has ${ready} of ${replicas} pods ready. ${reason}`, remedy);
};

const IMAGE =
  'Check image.repository, image.tag and image.pullSecrets of the chart, and whether the nodes can reach the registry.';
/** Remedies by the reason why a container waits. */
const REMEDIES: Readonly<Record<string, string>> = {
  ErrImagePull: IMAGE,
  ImagePullBackOff: IMAGE,
  InvalidImageName: IMAGE,
  CreateContainerConfigError: 'Create the Secret or ConfigMap that the message names.',
};

/** The reasons while a pod starts normally. */
const STARTING = new Set(['ContainerCreating', 'PodInitializing']);

/** Returns the container that prevents the pod from starting, if there is one. */
const waitingContainer = ({ status }: Pod) =>
  status?.containerStatuses?.find(({ state }) => {
    const reason = state?.waiting?.reason;
    return reason !== undefined && !STARTING.has(reason);
  });

interface PodProblem {
  readonly pod: string;
  readonly text: string;
  readonly remedy: string | undefined;
}

const podProblem = (unready: Pod): PodProblem => {
  const { metadata, status } = unready;
  const { name: pod } = metadata;
  const container = waitingContainer(unready);
  const waiting = container?.state?.waiting;
  if (waiting !== undefined) {
    const { reason = '', message } = waiting;
    const end = container?.lastState?.terminated;
    const last = end === undefined ? '' : ` (last exit: ${end.reason ?? ''} ${end.exitCode ?? ''})`;
    const text = `Pod ${pod} is waiting: ${[reason, message].filter(Boolean).join(': ')}${last}.`;
    return { pod, text, remedy: ownMember(REMEDIES, reason) };
  }
  const condition = status?.conditions?.find(({ status: is, message }) => is !== 'True' && message !== undefined);
  const unscheduled = condition?.type === 'PodScheduled';
  return {
    pod,
    text: `Pod ${pod} is not ready${condition === undefined ? '.' : `: ${condition.message ?? ''}`}`,
    remedy: unscheduled
      ? 'Add nodes or volumes that fit the pod, or change its resources, affinity or storage class.'
      : undefined,
  };
};

import { describe, expect, it } from 'vitest';
import { checkWorkloads } from './check-workloads.ts';
import { component, pod, testInstallation } from './installation.testing.ts';
import type { Component } from './installation.ts';

const OTHERS = ['operator', 'dashboard'].map((name) => component(name));
const gateway = (spec: object, status: object, pods: Component['pods'] = []): Component => {
  const { workload } = component('gateway');
  return {
    ...component('gateway', {}, { pods }),
    kind: 'StatefulSet',
    workload: { ...workload, status, spec: { ...workload.spec, ...spec } },
  };
};
const waiting = (reason: string, more: object = {}) =>
  pod('gateway-0', false, { containerStatuses: [{ state: { waiting: { reason } }, ...more }] });
const found = (one: Component) =>
  checkWorkloads(testInstallation(...OTHERS, one)).find(({ check }) => check === 'Gateways');

describe('the pods of a component', () => {
  it.each<[string, Component, string, string]>([
    [
      'are ready',
      gateway({ replicas: 2 }, { readyReplicas: 2 }),
      'Passed',
      'StatefulSet standin-gateway has 2 of 2 pods ready.',
    ],
    ['are scaled to zero', gateway({ replicas: 0 }, {}), 'Failed', 'StatefulSet standin-gateway has 0 replicas.'],
    [
      'were not created',
      gateway({ replicas: 2 }, { readyReplicas: 0 }),
      'Failed',
      'has 0 of 2 pods ready. No pod was created.',
    ],
    [
      'are refused',
      gateway({}, { conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'quota exceeded' }] }),
      'Failed',
      'quota exceeded',
    ],
    [
      'cannot load their image',
      gateway({}, {}, [waiting('ImagePullBackOff')]),
      'Failed',
      'Pod gateway-0 is waiting: ImagePullBackOff.',
    ],
    [
      'crash, although enough pods of the earlier version are ready',
      gateway({}, { readyReplicas: 1 }, [
        pod('gateway-1', true),
        waiting('CrashLoopBackOff', { lastState: { terminated: { reason: 'Error', exitCode: 1 } } }),
      ]),
      'Failed',
      'Pod gateway-0 is waiting: CrashLoopBackOff (last exit: Error 1).',
    ],
    [
      'start normally during an update',
      gateway({}, { readyReplicas: 1 }, [waiting('ContainerCreating')]),
      'Passed',
      '1 of 1',
    ],
    [
      'cannot be scheduled',
      gateway({}, {}, [
        pod('gateway-0', false, { conditions: [{ type: 'PodScheduled', status: 'False', message: 'no nodes' }] }),
      ]),
      'Failed',
      'Pod gateway-0 is not ready: no nodes',
    ],
  ])('%s', (_, one, status, message) => {
    expect(found(one)).toMatchObject({ status, message: expect.stringContaining(message) as string });
  });
});

it('a missing component is a failure, except the dashboard', () => {
  expect(checkWorkloads(testInstallation()).map(({ check, status }) => [check, status])).toEqual([
    ['Operator', 'Failed'],
    ['Gateways', 'Failed'],
    ['Dashboard', 'Unknown'],
  ]);
});

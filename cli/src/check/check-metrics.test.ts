import { describe, expect, it } from 'vitest';
import { checkConnections, checkVersions, parseMetrics } from './check-metrics.ts';

const podMetrics = (pod: string, values: Readonly<Record<string, number>>, version?: string) => ({
  component: pod.split('-')[0] ?? '',
  pod,
  version,
  values: new Map(Object.entries(values)),
});
const statuses = (...pods: readonly ReturnType<typeof podMetrics>[]) =>
  checkConnections(pods, 'ns').map(({ check, status }) => `${check} ${status}`);
const HEALTHY = {
  standin_log_store_up: 1,
  standin_deliver_failing_seconds: 0,
  standin_config_connected: 1,
  standin_record_full: 0,
  standin_deliver_quarantine: 0,
};

describe('the connections of pods', () => {
  it.each([
    ['all are healthy', HEALTHY, ['ClickHouse Passed']],
    ['the log store is unreachable', { ...HEALTHY, standin_log_store_up: 0 }, ['ClickHouse Failed']],
    ['deliveries fail', { ...HEALTHY, standin_deliver_failing_seconds: 3 }, ['ClickHouse Failed']],
    [
      'the config stream is interrupted',
      { ...HEALTHY, standin_config_connected: 0 },
      ['ClickHouse Passed', 'Config stream Failed'],
    ],
    ['the spool is full', { ...HEALTHY, standin_record_full: 1 }, ['ClickHouse Passed', 'Volumes Failed']],
    [
      'rows are in quarantine',
      { ...HEALTHY, standin_deliver_quarantine: 2 },
      ['ClickHouse Passed', 'Quarantine Failed'],
    ],
    ['the version is older', {}, ['ClickHouse Unknown']],
  ])('%s', (_, values, expected) => {
    expect(statuses(podMetrics('gateway-0', values))).toEqual(expected);
  });

  it('of one pod count, even if the others are healthy, and a pod is counted once', () => {
    const bad = podMetrics('gateway-1', { ...HEALTHY, standin_log_store_up: 0, standin_deliver_failing_seconds: 3 });
    expect(checkConnections([podMetrics('gateway-0', HEALTHY), bad], 'ns')).toMatchObject([
      {
        check: 'ClickHouse',
        message: expect.stringContaining('1 of 2 pods cannot reach ClickHouse: gateway-1.') as string,
      },
    ]);
  });

  it('are not judged without metrics', () => {
    expect(statuses()).toEqual([]);
  });
});

it.each([
  ['1.2.0', '1.2.0', 'Passed', 'All ready pods are of version 1.2.0'],
  ['1.2.0', '1.1.0', 'Failed', 'The pods are of different versions: Gateways 1.2.0, Operator 1.1.0.'],
  ['1.1.0', '1.1.0', 'Unknown', 'This program is of version 1.2.0, and Standin of version 1.1.0.'],
])('gateways of version %s and an operator of version %s', (gateway, operator, status, message) => {
  const pods = [podMetrics('gateway-0', {}, gateway), podMetrics('operator-0', {}, operator)];
  expect(checkVersions(pods, '1.2.0')).toMatchObject([{ status, message: expect.stringContaining(message) as string }]);
});

it('of several series with one name the highest value counts, in any order', () => {
  const text = (...values: readonly number[]) =>
    [
      '# TYPE standin_deliver_failing_seconds gauge',
      'process_cpu_seconds_total 5',
      'standin_build_info{version="1.2.0"} 1',
    ]
      .concat(values.map((value, index) => `standin_deliver_failing_seconds{shard="${index}"} ${value}`))
      .join('\n');
  for (const values of [
    [0, 7.5],
    [7.5, 0],
  ]) {
    const parsed = parseMetrics(text(...values));
    expect(parsed.version).toBe('1.2.0');
    expect([...parsed.values]).toEqual([
      ['standin_build_info', 1],
      ['standin_deliver_failing_seconds', 7.5],
    ]);
  }
});

import type { PurgeStatus } from '@standin/crds';
import { Command } from 'commander';
import { describe, expect, it, test } from 'vitest';
import { ServerError, type ApiClient, type ApiRequest } from '../server/api-client.ts';
import { purgeClient } from './purge-client.ts';
import { addPurgeCommand } from './purge-command.ts';
import { purgeRequest, type SelectOptions } from './purge-request.ts';
import { formatPurgeProgress, runPurge } from './run-purge.ts';

describe('the options of a purge', () => {
  const sinceUs = Date.parse('2026-11-21T09:00:00Z') * 1_000 + 1;
  const untilUs = Date.parse('2026-11-21T10:00:00Z') * 1_000;
  const now = new Date('2026-11-21T12:00:00Z');
  const given = (options: Partial<SelectOptions>) => purgeRequest({ all: false, reason: 'a leak', ...options }, now);

  it('select requests by search and time range, or all of them', () => {
    expect(given({ filter: 'path:/a', sinceUs, untilUs })).toEqual({
      filter: { search: 'path:/a', from: '2026-11-21T09:00:00.000001Z', to: '2026-11-21T10:00:00Z' },
      reason: 'a leak',
    });
    expect(given({ sinceUs })).toMatchObject({ filter: { to: '2026-11-21T12:00:00Z' } });
    expect(given({ all: true, untilUs })).toEqual({
      filter: { to: '2026-11-21T10:00:00Z' },
      requests: 'All',
      reason: 'a leak',
    });
  });

  it('are refused if they select nothing, or contradict each other', () => {
    for (const options of [{}, { untilUs }])
      expect(() => given(options)).toThrow('select requests with --filter or --since, or all requests with --all');
    expect(() => given({ all: true, sinceUs })).toThrow('--all selects all requests');
  });

  it('do not contradict each other in the examples of the help', () => {
    const program = new Command();
    addPurgeCommand(program);
    let help = '';
    program.commands[0]?.configureOutput({ writeOut: (part) => (help += part) }).outputHelp();
    const examples = help.split('\n').filter((line) => line.includes('purge shop '));
    expect(examples).toHaveLength(2);
    for (const example of examples) expect(example.includes(' --all')).not.toBe(/ --(filter|since) /.test(example));
  });
});

const reconciling = (message: string): NonNullable<PurgeStatus['conditions']> => [
  { type: 'Reconciling', status: 'True', reason: 'Running', message, lastTransitionTime: '2026-11-21T12:00:00Z' },
];

test.each<[PurgeStatus, string]>([
  [{}, 'Pending: the operator has not processed it yet'],
  [{ phase: 'Running', conditions: reconciling('Deleting 3 requests.') }, 'Deleting 3 requests.'],
  [
    { phase: 'Waiting', waitingFor: ['gateway a', 'volume b'], conditions: reconciling('shortened') },
    'Waiting for gateway a; and volume b',
  ],
])('progress: %j', (status, text) => {
  expect(formatPurgeProgress(status)).toBe(text);
});

test('a purge that is deleted ends the command with an error', async () => {
  const statuses: PurgeStatus[] = [{ phase: 'Running' }];
  const respond = ({ method = 'GET', path }: ApiRequest): unknown => {
    if (path.endsWith(':count')) return { count: 1 };
    const status = method === 'POST' ? {} : statuses.shift();
    if (status === undefined) throw new ServerError('There is no such purge.', { status: 404, code: '' });
    return { status };
  };
  const ask = (request: ApiRequest) => new Promise((resolve) => resolve(respond(request)));
  const client = purgeClient({ ask } as unknown as ApiClient);
  const request = { filter: { to: '2026-11-21T10:00:00Z' }, requests: 'All', reason: 'a leak' } as const;
  const project = { namespace: 'default', project: 'shop' };
  const run = runPurge(client, request, { ...project, yes: true, timeoutMs: 3_000, output: 'json' });
  const deleted = { message: expect.stringMatching(/^Purge \S+ was deleted before it ended$/) as string, exitCode: 1 };
  await expect(run).rejects.toMatchObject(deleted);
});

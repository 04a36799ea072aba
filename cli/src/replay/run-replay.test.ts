import process from 'node:process';
import type { ReplayStatus } from '@standin/crds';
import { afterEach, describe, expect, test } from 'vitest';
import { ServerError, type ApiClient, type ApiRequest } from '../server/api-client.ts';
import { replayClient } from './replay-client.ts';
import { replayMany } from './run-replay.ts';

// The command unreferences the channel to its parent process, which here is the test runner.
afterEach(() => process.channel?.ref());

/**
 * Replays one request with an API whose Replay has these statuses, one per read. The Replay does not exist while the status is
 * undefined, or after the last status.
 */
const replay = (statuses: readonly (ReplayStatus | undefined)[], onFirstRead: () => void = () => undefined) => {
  const left = [...statuses];
  const answer = ({ method = 'GET', path }: ApiRequest): unknown => {
    if (method === 'POST') return {};
    if (path.endsWith(':count')) return { count: 1 };
    if (path.endsWith('/requests') || path.endsWith('/results')) return { items: [] };
    if (method === 'GET' && left.length === statuses.length) onFirstRead();
    const status = method === 'GET' ? left.shift() : undefined;
    if (status === undefined) throw new ServerError('There is no such replay.', { status: 404, code: '' });
    return { status };
  };
  const ask = (request: ApiRequest) => new Promise((resolve) => resolve(answer(request)));
  return replayMany(replayClient({ ask } as unknown as ApiClient), {
    ...{ project: { namespace: 'default', name: 'shop' }, search: undefined, filter: undefined, limit: 1 },
    ...{ from: new Date('2026-11-21T09:00:00Z'), until: new Date('2026-11-21T10:00:00Z') },
    ...{ to: { kind: 'Endpoint' }, rate: 1, ordered: false },
    ...{ dryRun: false, yes: true, output: 'json', colour: false },
  });
};

describe('a Replay that is followed', () => {
  test('may not be visible at first', async () => {
    expect(await replay([undefined, {}, { phase: 'Succeeded' }])).toBe(true);
  });

  test('ends the command with an error when it is deleted', async () => {
    const deleted = {
      message: expect.stringMatching(/^Replay \S+ was deleted before it ended$/) as string,
      exitCode: 1,
    };
    await expect(replay([{ phase: 'Running' }])).rejects.toMatchObject(deleted);
  });

  test('ends the command with an error when it is deleted, even if the user cancels it', async () => {
    const cancel = (): unknown => process.listeners('SIGINT').at(-1)?.('SIGINT');
    await expect(replay([{ phase: 'Running' }], cancel)).rejects.toThrow('was deleted');
  });
});

import process from 'node:process';
import type { ReplayStatus } from '@standin/crds';
import { ApiError } from '@standin/kube';
import { afterEach, describe, expect, test } from 'vitest';
import { ServerError, type ApiClient, type ApiRequest } from '../server/api-client.ts';
import { replayClient } from './replay-client.ts';
import { replayMany } from './run-replay.ts';

// The command unreferences the channel to its parent process, which here is the test runner.
afterEach(() => process.channel?.ref());

const refused = (status: number): ServerError => new ServerError(`refused with ${status}`, { status, code: '' });

interface ReplayOptions {
  readonly onFirstRead?: () => void;
  /** The errors with which the first attempts to create the Replay fail. */
  readonly creations?: readonly ServerError[];
  /** The error with which the first attempt to read the results fails. */
  readonly results?: Error;
}

/**
 * Replays one request with an API whose Replay has these statuses, one per read. The Replay does not exist while the status is
 * undefined, or after the last status.
 */
const replay = (
  statuses: readonly (ReplayStatus | Error | undefined)[],
  { onFirstRead = () => undefined, creations = [], results }: ReplayOptions = {},
) => {
  const left = [...statuses];
  const creationsLeft = [...creations];
  const resultsLeft = results === undefined ? [] : [results];
  const respond = ({ method = 'GET', path }: ApiRequest): unknown => {
    if (method === 'POST') {
      const error = creationsLeft.shift();
      if (error !== undefined) throw error;
      return {};
    }
    if (path.endsWith(':count')) return { count: 1 };
    if (path.endsWith('/requests')) return { items: [] };
    if (path.endsWith('/results')) {
      const error = resultsLeft.shift();
      if (error !== undefined) throw error;
      return { items: [] };
    }
    if (method === 'GET' && left.length === statuses.length) onFirstRead();
    const status = method === 'GET' ? left.shift() : undefined;
    if (status === undefined) throw new ServerError('There is no such replay.', { status: 404, code: '' });
    if (status instanceof Error) throw status;
    return { status };
  };
  const ask = (request: ApiRequest) => new Promise((resolve) => resolve(respond(request)));
  return replayMany(replayClient({ ask } as unknown as ApiClient), {
    project: { namespace: 'default', name: 'shop' },
    search: undefined,
    filter: undefined,
    limit: 1,
    range: { from: '2026-11-21T09:00:00Z', to: '2026-11-21T10:00:00Z' },
    to: { kind: 'Endpoint' },
    rate: 1,
    ordered: false,
    dryRun: false,
    yes: true,
    output: 'json',
    colour: false,
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
    await expect(replay([{ phase: 'Running' }], { onFirstRead: cancel })).rejects.toThrow('was deleted');
  });

  // Otherwise, a script would send the requests again.
  test.each([0, 429, 503])('does not end the command when a read is refused with %i', async (status) => {
    expect(await replay([refused(status), { phase: 'Running' }, refused(status), { phase: 'Succeeded' }])).toBe(true);
  });

  test('continues when the server no longer lets the command read it, which the error says', async () => {
    const continues = {
      message: expect.stringMatching(
        /^Replay \S+ continues, but the command cannot follow it: refused with 401/,
      ) as string,
      exitCode: 5,
    };
    await expect(replay([{ phase: 'Running' }, refused(401)])).rejects.toMatchObject(continues);
  });

  test('continues when its token cannot be renewed, which the error says', async () => {
    const error = new ApiError('connect ECONNREFUSED', { status: 0, reason: '', request: '' });
    await expect(replay([{ phase: 'Running' }, error])).rejects.toMatchObject({
      message: expect.stringMatching(/^Replay \S+ continues, but the command cannot follow it: connect/) as string,
      exitCode: 5,
    });
  });

  test('is created once if the response to its creation is lost', async () => {
    expect(await replay([{ phase: 'Succeeded' }], { creations: [refused(0), refused(409)] })).toBe(true);
  });

  test('is not created if the server refuses it', async () => {
    await expect(replay([], { creations: [refused(403)] })).rejects.toMatchObject({
      message: 'refused with 403',
      exitCode: 1,
    });
  });

  test.each([
    refused(503),
    refused(403),
    new ApiError('the token cannot be renewed', { status: 0, reason: '', request: '' }),
  ])('has succeeded even if its results cannot be read: %s', async (results) => {
    expect(await replay([{ phase: 'Succeeded' }], { results })).toBe(true);
  });
});

import process from 'node:process';
import type { ExpectationStatus } from '@standin/crds';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ServerError, type ApiClient, type ApiRequest } from '../server/api-client.ts';
import { stderr, stdout } from '../terminal.ts';
import { expectClient } from './expect-client.ts';
import { formatEnd, runExpect } from './run-expect.ts';

// The command unreferences the channel to its parent process, which here is the test runner.
afterEach(() => {
  process.channel?.ref();
  vi.restoreAllMocks();
});

const failed = (status: number): ServerError => new ServerError(`failed with ${status}`, { status, code: '' });

interface Server {
  readonly onRead?: () => void;
  /** The errors with which the first attempts to create the Expectation fail. */
  readonly creations?: readonly ServerError[];
  readonly output?: 'text' | 'json';
}

const MET = {
  phase: 'Met',
  matched: 1,
  requestIds: ['01a1fde9-a649-71f0-95e5-86f94baaeb30'],
} satisfies ExpectationStatus;
const UNMET = {
  phase: 'Unmet',
  matched: 0,
  requestIds: [],
  nearMisses: [{ requestId: '01a1fde9-a649-71f0-95e5-86f94baaeb30', failed: ['method:POST', 'body:"pr-1"'] }],
} satisfies ExpectationStatus;

/** Expects requests with an API whose Expectation has these statuses, one per read. After the last one, it does not exist. */
const run = (
  statuses: readonly (ExpectationStatus | Error)[],
  { onRead = () => undefined, creations = [], output = 'text' }: Server = {},
) => {
  vi.spyOn(stderr, 'line').mockReturnValue();
  const printed: unknown[] = [];
  vi.spyOn(stdout, 'line').mockImplementation((line) => void printed.push(line));
  vi.spyOn(stdout, 'json').mockImplementation((value) => void printed.push(value));
  const left = [...statuses];
  const creationsLeft = [...creations];
  const respond = ({ method = 'GET' }: ApiRequest): unknown => {
    if (method === 'POST') {
      const error = creationsLeft.shift();
      if (error !== undefined) throw error;
      return {};
    }
    onRead();
    const status = left.shift();
    if (status === undefined) throw failed(404);
    if (status instanceof Error) throw status;
    return { status };
  };
  const ask = (request: ApiRequest) => new Promise((resolve) => resolve(respond(request)));
  const request = { count: { min: 1 }, deadline: '1s' };
  const options = { namespace: 'default', project: 'shop', deadlineMs: 1_000, output };
  const isMet = runExpect(expectClient({ ask } as unknown as ApiClient), request, options);
  return { isMet, printed };
};

describe('an expectation', () => {
  test('is met or unmet', async () => {
    expect(await run([{}, { phase: 'Open' }, MET]).isMet).toBe(true);
    expect(await run([UNMET]).isMet).toBe(false);
  });

  test('is printed as JSON with its counts and ids', async () => {
    const { isMet, printed } = run([MET], { output: 'json' });
    await isMet;
    expect(printed).toEqual([
      expect.objectContaining({ ...MET, expectation: expect.stringMatching(/^expect-[0-9a-f]{8}$/) as string }),
    ]);
  });

  test('shows which conditions of its search the nearest requests do not meet', () => {
    const conditions: ExpectationStatus['conditions'] = [
      {
        type: 'Failed',
        status: 'True',
        reason: 'Unmet',
        message: '0 requests matched.',
        lastTransitionTime: '2026-11-21T12:00:00Z',
      },
    ];
    expect(formatEnd({ ...UNMET, conditions })).toEqual([
      'Unmet: 0 requests matched.',
      '  01a1fde9-a649-71f0-95e5-86f94baaeb30 does not meet method:POST and body:"pr-1"',
    ]);
  });

  test('that cannot be decided ends the command with 3', async () => {
    await expect(run([{ phase: 'Undetermined' }]).isMet).rejects.toMatchObject({ exitCode: 3 });
    await expect(run([{ phase: 'Open' }]).isMet).rejects.toMatchObject({
      message: expect.stringMatching(/was deleted before it ended$/) as string,
      exitCode: 3,
    });
  });

  test('that cannot be followed continues, and the error says where it is', async () => {
    await expect(run([{ phase: 'Open' }, failed(401)]).isMet).rejects.toMatchObject({
      message: expect.stringMatching(
        /^Expectation (\S+) continues, but .*failed with 401\. To see its end, .*\/api\/v1\/namespaces\/default\/projects\/shop\/expectations\/\1$/,
      ) as string,
      exitCode: 3,
    });
  });

  test('continues after Ctrl-C, and the error says where it is', async () => {
    const onRead = (): unknown => process.listeners('SIGINT').at(-1)?.('SIGINT');
    await expect(run([{ phase: 'Open' }], { onRead }).isMet).rejects.toMatchObject({
      message: expect.stringMatching(/ is not decided \(stopped\), and continues\. To see its end, /) as string,
      exitCode: 3,
    });
  });

  test.each([0, 429, 503])('is followed after a read that failed with %i', async (status) => {
    expect(await run([failed(status), MET]).isMet).toBe(true);
  });

  test('is created once if the response to its creation is lost', async () => {
    expect(await run([MET], { creations: [failed(0), failed(409)] }).isMet).toBe(true);
  });

  test.each([400, 403, 422])('that is not created, because of %i, ends the command with 2', async (status) => {
    await expect(run([], { creations: [failed(status)] }).isMet).rejects.toMatchObject({
      message: `failed with ${status}`,
      exitCode: 2,
    });
  });
});

import type { RejectedRequest } from '@standin/gateway';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  boundRejected,
  holdUntilReady,
  onlyChanges,
  type DevOutput,
  type ObjectNotice,
  type Ready,
} from './dev-output.ts';

const READY = { gateway: 'http://localhost:8080', accounts: [], projects: [], endpoints: [] } as unknown as Ready;
const notice = (object: string, state: ObjectNotice['state'], message = ''): ObjectNotice => ({
  ...{ object, state, message },
  where: '',
});

/** Records each call as one word. */
const recording = (): { readonly said: string[]; readonly output: DevOutput } => {
  const said: string[] = [];
  const output: Partial<DevOutput> = {
    ready: () => said.push('ready'),
    notice: ({ object, state }) => said.push(`${object} ${state}`),
    problems: (problems) => said.push(`${problems.length} problems`),
    rejected: ({ code }) => said.push(code),
  };
  return { said, output: output as DevOutput };
};

describe('until standin dev is ready', () => {
  test('what is wrong waits and follows, what is well is part of being ready', () => {
    const { said, output } = recording();
    const held = holdUntilReady(output);
    held.notice(notice('a', 'live'));
    held.notice(notice('b', 'not ready', 'x'));
    held.notice(notice('c', 'not ready', 'x'));
    held.notice(notice('c', 'live'));
    held.problems([{ where: 'a.yaml:1', message: 'x' }]);
    held.rejected({ code: 'not_ready', status: 503, method: 'GET', path: '/' });
    expect(said).toEqual([]);
    held.ready(READY);
    held.notice(notice('b', 'live'));
    held.problems([]);
    held.rejected({ code: 'api_key_missing', status: 401, method: 'GET', path: '/' });
    expect(said).toEqual(['ready', '1 problems', 'b not ready', 'b live', '0 problems', 'api_key_missing']);
  });
});

test('of all problems only new ones are told, and files that have none any more', () => {
  const told: [string[], readonly string[]][] = [];
  const tell = onlyChanges((added, solved) => told.push([added.map(({ where }) => where), solved]));
  const [a1, a2, b] = [
    { where: 'a.yaml:1', message: 'x' },
    { where: 'a.yaml:2', message: 'x' },
    { where: 'b.yaml:1', message: 'x' },
  ] as const;
  tell([a1]);
  tell([a1, b]);
  tell([a2, b]);
  tell([]);
  expect(told).toEqual([
    [['a.yaml:1'], []],
    [['b.yaml:1'], []],
    [['a.yaml:2'], []],
    [[], ['a.yaml', 'b.yaml']],
  ]);
});

describe('rejected requests', () => {
  const REJECTED: RejectedRequest = { code: 'api_key_missing', status: 401, method: 'GET', path: '/x' };

  let said: string[];
  let output: DevOutput;
  const reject = (count: number): void => {
    for (let n = 0; n < count; n++) output.rejected({ ...REJECTED, path: `/${n}` });
  };

  beforeEach(() => {
    vi.useFakeTimers();
    said = [];
    const inner: Partial<DevOutput> = {
      rejected: ({ path }) => said.push(path),
      moreRejected: (count) => said.push(`${count} more`),
      stopping: () => said.push('stopping'),
    };
    output = boundRejected(inner as DevOutput);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('five rejected requests of a second are shown, and no more is said of them', () => {
    reject(5);
    vi.advanceTimersByTime(5_000);
    expect(said).toEqual(['/0', '/1', '/2', '/3', '/4']);
  });

  test('of a flood the first five of each second are shown, then how many more there were', () => {
    reject(1_000);
    expect(said).toHaveLength(5);
    vi.advanceTimersByTime(1_000);
    expect(said.slice(5)).toEqual(['995 more']);
    reject(6);
    vi.advanceTimersByTime(999);
    expect(said.slice(6)).toEqual(['/0', '/1', '/2', '/3', '/4']);
    vi.advanceTimersByTime(1);
    expect(said.slice(11)).toEqual(['1 more']);
  });

  test('what is left to say is said before the end', () => {
    reject(7);
    output.stopping();
    vi.advanceTimersByTime(5_000);
    expect(said.slice(5)).toEqual(['2 more', 'stopping']);
  });
});

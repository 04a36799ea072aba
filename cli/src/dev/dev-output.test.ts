import type { RejectedRequest } from '@standin/gateway';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  boundRefused,
  holdUntilReady,
  onlyChanges,
  type DevOutput,
  type ObjectNotice,
  type Ready,
} from './dev-output.ts';

const READY = { gateway: 'http://localhost:8080', accounts: [], projects: [], endpoints: [] } as unknown as Ready;
const notice = (object: string, state: ObjectNotice['state'], message = ''): ObjectNotice => ({
  object,
  state,
  message,
  where: '',
});

/** Creates an output that records each call as text in `shown`. */
const recording = (): { readonly shown: string[]; readonly output: DevOutput } => {
  const shown: string[] = [];
  const output: Partial<DevOutput> = {
    ready: () => shown.push('ready'),
    notice: ({ object, state }) => shown.push(`${object} ${state}`),
    problems: (problems) => shown.push(`${problems.length} problems`),
    refused: ({ code }) => shown.push(code),
  };
  return { shown, output: output as DevOutput };
};

describe('standin dev', () => {
  test('holds problems back until after the ready event, which includes the ready objects', () => {
    const { shown, output } = recording();
    const held = holdUntilReady(output);
    held.notice(notice('a', 'live'));
    held.notice(notice('b', 'not ready', 'x'));
    held.notice(notice('c', 'not ready', 'x'));
    held.notice(notice('c', 'live'));
    held.problems([{ where: 'a.yaml:1', message: 'x' }]);
    held.refused({ code: 'not_ready', status: 503, method: 'GET', path: '/' });
    expect(shown).toEqual([]);
    held.ready(READY);
    held.notice(notice('b', 'live'));
    held.problems([]);
    held.refused({ code: 'api_key_missing', status: 401, method: 'GET', path: '/' });
    expect(shown).toEqual(['ready', '1 problems', 'b not ready', 'b live', '0 problems', 'api_key_missing']);
  });
});

test('reports only new problems, and files that no longer have problems', () => {
  const reported: [string[], readonly string[]][] = [];
  const update = onlyChanges((added, solved) => reported.push([added.map(({ where }) => where), solved]));
  const [a1, a2, b] = [
    { where: 'a.yaml:1', message: 'x' },
    { where: 'a.yaml:2', message: 'x' },
    { where: 'b.yaml:1', message: 'x' },
  ] as const;
  update([a1]);
  update([a1, b]);
  update([a2, b]);
  update([]);
  expect(reported).toEqual([
    [['a.yaml:1'], []],
    [['b.yaml:1'], []],
    [['a.yaml:2'], []],
    [[], ['a.yaml', 'b.yaml']],
  ]);
});

describe('refused requests', () => {
  const REFUSED: RejectedRequest = { code: 'api_key_missing', status: 401, method: 'GET', path: '/x' };

  let shown: string[];
  let output: DevOutput;
  const refuse = (count: number): void => {
    for (let n = 0; n < count; n++) output.refused({ ...REFUSED, path: `/${n}` });
  };

  beforeEach(() => {
    vi.useFakeTimers();
    shown = [];
    const inner: Partial<DevOutput> = {
      refused: ({ path }) => shown.push(path),
      moreRefused: (count) => shown.push(`${count} more`),
      stopping: () => shown.push('stopping'),
    };
    output = boundRefused(inner as DevOutput);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('five refused requests per second are shown without a count', () => {
    refuse(5);
    vi.advanceTimersByTime(5_000);
    expect(shown).toEqual(['/0', '/1', '/2', '/3', '/4']);
  });

  test('the first five of many refused requests per second are shown, then the number of others', () => {
    refuse(1_000);
    expect(shown).toHaveLength(5);
    vi.advanceTimersByTime(1_000);
    expect(shown.slice(5)).toEqual(['995 more']);
    refuse(6);
    vi.advanceTimersByTime(999);
    expect(shown.slice(6)).toEqual(['/0', '/1', '/2', '/3', '/4']);
    vi.advanceTimersByTime(1);
    expect(shown.slice(11)).toEqual(['1 more']);
  });

  test('a pending count is shown before the output stops', () => {
    refuse(7);
    output.stopping();
    vi.advanceTimersByTime(5_000);
    expect(shown.slice(5)).toEqual(['2 more', 'stopping']);
  });
});

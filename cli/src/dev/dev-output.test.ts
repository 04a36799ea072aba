import { describe, expect, test } from 'vitest';
import { holdUntilReady, onlyChanges, type DevOutput, type ObjectNotice, type Ready } from './dev-output.ts';

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

import { pino } from 'pino';
import { expect, test } from 'vitest';
import { checkSchema, type CheckSchemaOptions } from './check-schema.ts';
import { LogStoreError } from './log-store-error.ts';
import type { SchemaState } from './schema-state.ts';

const CURRENT: SchemaState = { kind: 'current' };
const MISSING: SchemaState = { kind: 'missing' };
const OLDER: SchemaState = { kind: 'older', pending: ['005_log_quota'] };
const NEWER: SchemaState = { kind: 'newer', applied: 9, known: 6 };
const failure = (code: string): LogStoreError =>
  new LogStoreError(`code ${code}`, { kind: 'retryable', code, cause: undefined });
const AWAY = failure('ECONNREFUSED');

/** Returns what is logged while ClickHouse gives these responses, one after the other. The last one must end the check. */
const linesOf = async (
  answers: readonly (SchemaState | LogStoreError)[],
  options: Partial<CheckSchemaOptions> = {},
): Promise<readonly string[]> => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => lines.push((JSON.parse(line) as { msg: string }).msg) });
  const left = [...answers];
  const schema = (): Promise<SchemaState> => {
    const answer = left.shift();
    if (answer === undefined) throw new Error('asked once more than expected');
    return answer instanceof LogStoreError ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const { signal } = new AbortController();
  await checkSchema({ schema }, { process: 'gateway', migrates: false, logger, signal, retryMs: 1, ...options });
  expect(left).toEqual([]);
  return lines;
};

test.for([
  [[CURRENT], false, []],
  [[AWAY, AWAY, CURRENT], false, []],
  [[NEWER], false, ['made by a newer version than this gateway']],
  [[NEWER], true, ['made by a newer version than this gateway']],
  [[OLDER, OLDER, CURRENT], false, ['older than this gateway', 'up to date now']],
  [[MISSING, AWAY, OLDER, CURRENT], false, ['no tables yet', 'older than this gateway', 'up to date now']],
  // The process creates the tables itself.
  [[MISSING], true, []],
  [[OLDER], true, []],
  [[failure('497')], false, ['needs SELECT on the table migrations']],
] as const)('of %j, migrating: %s, it says %j', async ([answers, migrates, expected]) => {
  const lines = await linesOf(answers, { migrates });
  expect(lines).toEqual(expected.map((part) => expect.stringContaining(part) as string));
});

test('it stops asking when its process stops', async () => {
  const stopping = new AbortController();
  stopping.abort();
  expect(await linesOf([], { signal: stopping.signal })).toEqual([]);
});

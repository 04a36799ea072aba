import { pino } from 'pino';
import { expect, test } from 'vitest';
import { checkSchema, type CheckSchemaOptions } from './check-schema.ts';
import { LogStoreError } from './log-store-error.ts';
import type { SchemaState } from './schema-state.ts';

const CURRENT: SchemaState = { kind: 'current' };
const MISSING: SchemaState = { kind: 'missing' };
const OLDER: SchemaState = { kind: 'older', pending: ['004_purged_permits'] };
const NEWER: SchemaState = { kind: 'newer', applied: 9, known: 6 };
const failure = (code: string): LogStoreError => new LogStoreError(`code ${code}`, { kind: 'retryable', code });
const UNAVAILABLE = failure('ECONNREFUSED');

/** Returns the messages that are logged while ClickHouse gives these responses in turn. The last response must end the check. */
const loggedLines = async (
  answers: readonly (SchemaState | LogStoreError)[],
  options: Partial<CheckSchemaOptions> = {},
): Promise<readonly string[]> => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => lines.push((JSON.parse(line) as { msg: string }).msg) });
  const left = [...answers];
  const schema = (): Promise<SchemaState> => {
    const answer = left.shift();
    if (answer === undefined) throw new Error('the schema was read more often than expected');
    return answer instanceof LogStoreError ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const { signal } = new AbortController();
  await checkSchema({ schema }, { process: 'gateway', migrates: false, logger, signal, retryMs: 1, ...options });
  expect(left).toEqual([]);
  return lines;
};

test.for([
  [[CURRENT], false, []],
  [[UNAVAILABLE, UNAVAILABLE, CURRENT], false, []],
  [[NEWER], false, ['log tables newer than this version']],
  [[NEWER], true, ['log tables newer than this version']],
  [[OLDER, OLDER, CURRENT], false, ['log tables older than this version', 'log tables up to date']],
  [
    [MISSING, UNAVAILABLE, OLDER, CURRENT],
    false,
    ['log tables missing', 'log tables older than this version', 'log tables up to date'],
  ],
  // The process itself creates missing tables.
  [[MISSING], true, []],
  [[OLDER], true, []],
  [[failure('497')], false, ['needs SELECT on the migrations table']],
] as const)('with migrations %j and migrate %s, the log contains %j', async ([answers, migrates, expected]) => {
  const lines = await loggedLines(answers, { migrates });
  expect(lines).toEqual(expected.map((part) => expect.stringContaining(part) as string));
});

test('the check stops when its process stops', async () => {
  const stopping = new AbortController();
  stopping.abort();
  expect(await loggedLines([], { signal: stopping.signal })).toEqual([]);
});

import { inspect } from 'node:util';
import { ClickHouseError } from '@clickhouse/client';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { LogStoreError, toLogStoreError } from './log-store-error.ts';

const refused = (code: string, message: string, type = 'TYPE') => new ClickHouseError({ code, message, type });

describe('toLogStoreError', () => {
  test.each([
    [
      'too many parts as retryable',
      refused('252', 'Too many parts (3000). Merges are processing slower'),
      'retryable',
      '252',
    ],
    [
      'too many partitions as permanent',
      refused('252', 'Too many partitions for single INSERT block'),
      'permanent',
      '252',
    ],
    ['an exceeded memory limit', refused('241', 'Memory limit (total) exceeded'), 'retryable', '241'],
    ['too many queries', refused('202', 'Too many simultaneous queries'), 'retryable', '202'],
    ['truncated data', refused('33', 'Cannot read all data'), 'permanent', '33'],
    ['a wrong value', refused('117', 'Incorrect data'), 'permanent', '117'],
    ['a missing table', refused('60', 'Unknown table'), 'retryable', '60'],
    ['a wrong password', refused('516', 'Authentication failed'), 'retryable', '516'],
    ['an unknown code', refused('9999', 'New'), 'retryable', '9999'],
    [
      'a refused connection',
      Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
      'retryable',
      'ECONNREFUSED',
    ],
    ['a timeout', new Error('Timeout error.'), 'retryable', 'ETIMEDOUT'],
    ['any other error', 'odd', 'retryable', 'EUNKNOWN'],
  ])('classifies %s', (_what, cause, kind, code) => {
    const error = toLogStoreError('insert 3 rows', cause);
    expect(error).toMatchObject({ kind, code });
    expect(error.message).toContain('insert 3 rows');
  });

  test('limits the message to one short line, because ClickHouse may quote captured data', () => {
    const { message } = toLogStoreError('insert', refused('27', `Cannot parse\n${'secret '.repeat(100)}`));
    expect(message).not.toContain('secret');
    expect(toLogStoreError('insert', refused('27', 'x'.repeat(10_000))).message.length).toBeLessThan(500);
  });

  test('hides the rest of the client error from loggers', () => {
    const lines: string[] = [];
    const logger = pino({}, { write: (line: string) => lines.push(line) });
    const error = toLogStoreError('insert', refused('27', 'Cannot parse\n(at row 1: secret)'));
    logger.warn({ err: error }, 'failed');
    expect(lines.join('')).toContain('Cannot parse');
    expect(lines.join('') + inspect(error)).not.toContain('secret');
  });

  test('does not wrap an error twice', () => {
    const error = toLogStoreError('a', new Error('b'));
    expect(toLogStoreError('c', error)).toBe(error);
    expect(error).toBeInstanceOf(LogStoreError);
  });
});

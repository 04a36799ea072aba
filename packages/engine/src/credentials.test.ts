import { describe, expect, test } from 'vitest';
import { refuseOthers, requestCredentials } from './credentials.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

describe('requestCredentials', () => {
  test.for([
    ['nothing', {}, '', { user: 'default', password: '' }],
    ['Basic', { authorization: basic('ann:s3:cret') }, '', { user: 'ann', password: 's3:cret' }],
    ['Basic without a password', { authorization: basic('ann') }, '', { user: 'ann', password: '' }],
    ['Basic in UTF-8', { authorization: basic('änn:ß') }, '', { user: 'änn', password: 'ß' }],
    ['a different scheme', { authorization: 'Bearer x' }, '', { user: 'default', password: '' }],
    [
      "ClickHouse's headers",
      { 'x-clickhouse-user': 'ann', 'x-clickhouse-key': 's' },
      '',
      { user: 'ann', password: 's' },
    ],
    ['only a key', { 'x-clickhouse-key': 's' }, '', { user: 'default', password: 's' }],
    ['the URL', {}, 'user=ann&password=s%26t', { user: 'ann', password: 's&t' }],
    ['a header before the URL', { authorization: basic('ann:s') }, 'user=bob', { user: 'ann', password: 's' }],
  ] as const)('reads %s', ([, headers, search, expected]) => {
    expect(requestCredentials({ headers }, new URLSearchParams(search))).toEqual(expected);
  });
});

describe('refuseOthers', () => {
  const wanted = { user: 'standin', password: 'secret' };

  test('accepts the only user', () => {
    expect(refuseOthers({ ...wanted }, wanted)).toBeUndefined();
  });

  test.for([
    { user: 'standin', password: 'Secret' },
    { user: 'standin', password: '' },
    { user: 'default', password: 'secret' },
    { user: '', password: '' },
  ])("refuses %o with the server's error", (given) => {
    const error = refuseOthers(given, wanted);
    expect(error?.code).toBe(516);
    expect(error?.message).toMatch(/^Code: 516\. DB::Exception: .*Authentication failed.*\(AUTHENTICATION_FAILED\)$/);
  });
});

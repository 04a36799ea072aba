import { SIGNATURE_SCHEMES } from '@standin/contract';
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { EXAMPLES, exampleVerdict } from './examples.testing.ts';
import { signingKey } from './signing-key.ts';

const RAW_SCHEMES = SIGNATURE_SCHEMES.filter((scheme) => scheme !== 'StandardWebhooks');
const latin1Key = (scheme: (typeof SIGNATURE_SCHEMES)[number], secret: string | Buffer): string | undefined =>
  signingKey(scheme, Buffer.from(secret))?.toString('latin1');

test.each(RAW_SCHEMES)('the secret of %s is used as it is', (scheme) => {
  const found = ['a', ' a\n', 'whsec_YQ==', '\xff\0', ''].map((secret) =>
    latin1Key(scheme, Buffer.from(secret, 'latin1')),
  );
  expect(found).toEqual(['a', ' a\n', 'whsec_YQ==', '\xff\0', undefined]);
});

test.each([
  ['whsec_YQ==', 'a'],
  ['YQ==', 'a'],
  ['whsec_YWJj', 'abc'],
  ['whsec_YWJj\n', undefined],
  ['whsec_//79', '\xff\xfe\xfd'],
  ['whsec_', undefined],
  ['whsec_YQ', undefined],
  ['whsec_YQ=', undefined],
  ['whsec_Y===', undefined],
  ['whsec_a secret', undefined],
  ['whsk_YQ==', undefined],
  [' whsec_YQ==', undefined],
  ['', undefined],
])('the secret %j of Standard Webhooks stands for %j', (secret, key) => {
  expect(latin1Key('StandardWebhooks', secret)).toBe(key);
});

// Anyone can sign with an empty key.
test('a signature with an empty key is refused', () => {
  const digest = createHmac('sha256', '').update(EXAMPLES.HmacHex.body).digest('hex');
  const signed = { ...EXAMPLES.HmacHex, headers: [['x-sig', `hmac ${digest}`]] as const };
  expect(exampleVerdict(signed, { secrets: [Buffer.alloc(0), Buffer.from('a')] })).toBe('mismatch');
  expect(exampleVerdict({ ...EXAMPLES.Token, headers: [['x-gitlab-token', '']] }, { secrets: [Buffer.alloc(0)] })).toBe(
    'malformed',
  );
});

import { LIMITS, type HeaderPair, type SignatureConfig } from '@standin/contract';
import { decodeDigest } from '../../../packages/signatures/src/digest-text.ts';
import { readClaim } from '../../../packages/signatures/src/read-claim.ts';
import { verify } from '../../../packages/signatures/src/verify.ts';
import type { GrowthEntry } from '../entry.ts';
import { BYTES, framed, repeated } from '../generators.ts';

const toleranceMs = LIMITS.signatureToleranceMsDefault;
const CONFIGS: readonly SignatureConfig[] = [
  { scheme: 'GitHub' },
  { scheme: 'Stripe', toleranceMs },
  { scheme: 'Slack', toleranceMs },
  { scheme: 'Shopify' },
  { scheme: 'StandardWebhooks', toleranceMs },
  { scheme: 'HMAC', header: 'x-sig', algorithm: 'SHA512', encoding: 'Base64', prefix: '' },
  { scheme: 'Token', header: 'x-gitlab-token' },
];
const NAMES = [
  ...['x-hub-signature-256', 'x-github-delivery', 'stripe-signature', 'x-slack-signature', 'x-slack-request-timestamp'],
  ...['x-shopify-hmac-sha256', 'x-shopify-event-id', 'webhook-id', 'webhook-timestamp', 'webhook-signature', 'x-sig'],
  'x-gitlab-token',
];
const hex = 'ab'.repeat(32);
const base64 = Buffer.from(hex, 'hex').toString('base64');

const readAll = (headers: readonly HeaderPair[]): void => {
  for (const config of CONFIGS) readClaim(config, headers);
};

/** Functions that read the headers of requests without a key. */
export const SIGNATURES: readonly GrowthEntry[] = [
  {
    of: 'packages/signatures/src/read-claim.ts#readClaim',
    limit: LIMITS.requestHeadBytesMax,
    run: (text) => {
      // The same text as the value of each header, and as many short headers.
      readAll(NAMES.map((name) => [name, text]));
      readAll(text.split('\n').map((line) => ['webhook-signature', line]));
    },
    near: {
      'signatures of Stripe': framed('t=1', repeated(`,v1=${hex}`)),
      'timestamps of Stripe': repeated('t=1,'),
      'empty elements': repeated(','),
      'signatures of Standard Webhooks': repeated(`v1,${base64} `),
      'signatures of another version': repeated('v1a,x '),
      'a long digest': framed('sha256=', repeated('a')),
      'repeated headers': repeated('v\n'),
    },
  },
  {
    of: 'packages/signatures/src/digest-text.ts#decodeDigest',
    limit: LIMITS.requestHeadBytesMax,
    run: (text) => {
      for (const algorithm of ['SHA256', 'SHA512'] as const)
        for (const encoding of ['Hex', 'Base64'] as const) decodeDigest(text, { algorithm, encoding });
    },
    near: { 'hex digits': repeated('a'), padding: repeated('=') },
  },
  {
    of: 'packages/signatures/src/verify.ts#verify',
    limit: LIMITS.requestBodyBytesMax,
    run: (text) => {
      const secrets = Array.from({ length: LIMITS.signingSecretsMax }, (_, index) => Buffer.from([index + 1]));
      const headers: HeaderPair[] = [['x-hub-signature-256', `sha256=${hex}`]];
      verify({ scheme: 'GitHub' }, { headers, body: Buffer.from(text, 'latin1'), nowMs: 0 }, secrets);
    },
    near: BYTES,
    nearOnly: true,
  },
];

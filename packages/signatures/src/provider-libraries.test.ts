import { sign as signGitHub, verify as verifyGitHub } from '@octokit/webhooks-methods';
import { verifyRequestSignature as verifySlack } from '@slack/events-api';
import type { HeaderPair, SignatureConfig } from '@standin/contract';
import { createHmac, randomBytes } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, test } from 'vitest';
import { verify } from './verify.ts';

const toleranceMs = 300_000;
const nowMs = Date.now();
const seconds = Math.floor(nowMs / 1_000);

const BODIES = [
  '{"id":"evt_1","object":"event"}',
  '',
  '{\n  "name": "Zoë 🦊"\n}\r\n',
  'a=1&b=%20',
  'x'.repeat(100_000),
];
// Stripe's library refuses to verify an empty body.
const STRIPE_BODIES = BODIES.filter((body) => body !== '');

/** Returns the index of the secret that signed the request, or why it is refused, for the body as sent and for another body. */
const verdicts = (config: SignatureConfig, headers: readonly HeaderPair[], body: string, secret: string) =>
  [body, `${body} `].map((sent) => {
    const secrets = [randomBytes(16), Buffer.from(secret)];
    const result = verify(config, { headers, body: Buffer.from(sent), nowMs }, secrets);
    return result.ok ? result.secretIndex : result.reason;
  });
const ONLY_AS_SENT = [1, 'mismatch'];

describe('a signature by', () => {
  test.each(BODIES.filter((body) => body !== ''))('@octokit/webhooks-methods is accepted: %j', async (body) => {
    const secret = randomBytes(20).toString('hex');
    const signature = await signGitHub(secret, body);
    expect(await verifyGitHub(secret, body, signature)).toBe(true);
    expect(verdicts({ scheme: 'GitHub' }, [['X-Hub-Signature-256', signature]], body, secret)).toEqual(ONLY_AS_SENT);
  });

  test.each(STRIPE_BODIES)('stripe is accepted: %j', (body) => {
    const { webhooks } = new Stripe('sk_test', { apiVersion: '2020-08-27' });
    const secret = `whsec_${randomBytes(16).toString('hex')}`;
    const header = webhooks.generateTestHeaderString({ payload: body, secret, timestamp: seconds });
    expect(webhooks.signature.verifyHeader(body, header, secret, 300)).toBe(true);
    const headers: HeaderPair[] = [['Stripe-Signature', header]];
    expect(verdicts({ scheme: 'Stripe', toleranceMs }, headers, body, secret)).toEqual(ONLY_AS_SENT);
  });

  test.each(BODIES)('standardwebhooks is accepted: %j', (body) => {
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    const signature = new StandardWebhook(secret).sign('msg_1', new Date(nowMs), body);
    const headers: HeaderPair[] = [
      ['webhook-id', 'msg_1'],
      ['webhook-timestamp', String(seconds)],
      ['webhook-signature', `v1,${randomBytes(32).toString('base64')} ${signature}`],
    ];
    expect(verdicts({ scheme: 'StandardWebhooks', toleranceMs }, headers, body, secret)).toEqual(ONLY_AS_SENT);
  });

  test.each(BODIES)('svix is accepted: %j', (body) => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const headers: HeaderPair[] = [
      ['svix-id', 'msg_1'],
      ['svix-timestamp', String(seconds)],
      ['svix-signature', new SvixWebhook(secret).sign('msg_1', new Date(nowMs), body)],
    ];
    expect(verdicts({ scheme: 'StandardWebhooks', toleranceMs }, headers, body, secret)).toEqual(ONLY_AS_SENT);
  });
});

// Slack's library has no function that signs.
test.each(BODIES)("a signature that Slack's library accepts is accepted: %j", (body) => {
  const secret = randomBytes(16).toString('hex');
  const digest = createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex');
  const requestSignature = `v0=${digest}`;
  const request = { signingSecret: secret, requestSignature, requestTimestamp: seconds, body };
  expect(verifySlack(request)).toBe(true);
  expect(() => verifySlack({ ...request, body: `${body} ` })).toThrow();
  const headers: HeaderPair[] = [
    ['X-Slack-Request-Timestamp', String(seconds)],
    ['X-Slack-Signature', requestSignature],
  ];
  expect(verdicts({ scheme: 'Slack', toleranceMs }, headers, body, secret)).toEqual(ONLY_AS_SENT);
});

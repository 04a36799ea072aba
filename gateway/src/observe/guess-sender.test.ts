import { SENDERS } from '@standin/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { guessSender, hasKeyHeader } from './guess-sender.ts';

test.each([
  [['X-GitHub-Event', 'push', 'User-Agent', 'GitHub-Hookshot/1'], 'GitHub'],
  [['User-Agent', 'GitHub-Hookshot/044aadd'], 'GitHub'],
  [['X-Gitlab-Event', 'Push Hook'], 'GitLab'],
  [['Stripe-Signature', 't=1,v1=ab', 'User-Agent', 'Stripe/1.0'], 'Stripe'],
  [['X-Slack-Signature', 'v0=ab', 'User-Agent', 'Slackbot 1.0'], 'Slack'],
  [['X-Shopify-Topic', 'orders/create'], 'Shopify'],
  [['webhook-id', 'msg_1', 'webhook-signature', 'v1,ab'], 'Standard Webhooks'],
  [['svix-signature', 'v1,ab'], 'Standard Webhooks'],
  [['User-Agent', 'Mozilla/5.0 (X11)'], 'browser'],
  [['user-agent', 'curl/8.5.0'], 'curl'],
  [['User-Agent', 'Go-http-client/1.1'], 'Go'],
  [['User-Agent', 'Java-http-client/21'], 'Java'],
  [['User-Agent', 'python-requests/2'], 'Python'],
  [['User-Agent', 'node'], 'Node.js'],
  [['User-Agent', 'x curl/8'], 'other'],
  [[], 'other'],
] as const)('%j → %s', (headers, expected) => {
  expect(guessSender(headers)).toBe(expected);
});

test('the sender is always from the list', () => {
  fc.assert(fc.property(fc.array(fc.string()), (headers) => SENDERS.includes(guessSender(headers))));
});

test('a header for a key is found in any case', () => {
  expect(hasKeyHeader(['host', 'x', 'X-Api-Key', ''])).toBe(true);
  expect(hasKeyHeader(['x-api-kez', 'x-api-key'])).toBe(false);
});

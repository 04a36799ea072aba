import type { Sender } from '@standin/contract';

/** Headers that only one kind of sender sends, by name in lowercase. */
const BY_HEADER = new Map<string, Sender>([
  ['x-github-event', 'GitHub'],
  ['x-gitlab-event', 'GitLab'],
  ['x-shopify-topic', 'Shopify'],
  ['x-slack-signature', 'Slack'],
  ['stripe-signature', 'Stripe'],
  ['webhook-signature', 'Standard Webhooks'],
  ['svix-signature', 'Standard Webhooks'],
  ['sec-fetch-mode', 'browser'],
]);
const LENGTHS = new Set([...BY_HEADER.keys()].map((name) => name.length));

/** Prefixes of `User-Agent`. The first match counts. */
const BY_AGENT: readonly (readonly [string, Sender])[] = [
  ['GitHub-Hookshot', 'GitHub'],
  ['GitLab/', 'GitLab'],
  ['Stripe/', 'Stripe'],
  ['Slackbot', 'Slack'],
  ['Shopify-', 'Shopify'],
  ['Svix-Webhooks', 'Standard Webhooks'],
  ['Mozilla/', 'browser'],
  ['curl/', 'curl'],
  ['Go-http-client', 'Go'],
  ['Java', 'Java'],
  ['Apache-HttpClient', 'Java'],
  ['okhttp', 'Java'],
  ['python', 'Python'],
  ['Python', 'Python'],
  ['node', 'Node.js'],
  ['axios', 'Node.js'],
  ['undici', 'Node.js'],
];

/** Only these headers are checked, so that a request with thousands of headers does not take longer. */
const HEADERS_MAX = 64;

/** Returns the kind of sender, from the names of the headers and from `User-Agent`. Keeps nothing that the sender wrote. */
export const guessSender = (rawHeaders: readonly string[]): Sender => {
  let agent = '';
  for (let at = 0; at < Math.min(rawHeaders.length, 2 * HEADERS_MAX); at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 10 && name.toLowerCase() === 'user-agent') agent = rawHeaders[at + 1] ?? '';
    const sender = LENGTHS.has(name.length) ? BY_HEADER.get(name.toLowerCase()) : undefined;
    if (sender !== undefined) return sender;
  }
  return BY_AGENT.find(([start]) => agent.startsWith(start))?.[1] ?? 'other';
};

const KEY = 'x-api-key';

export const hasKeyHeader = (rawHeaders: readonly string[]): boolean => {
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === KEY.length && rawHeaders[at]?.toLowerCase() === KEY) return true;
  return false;
};

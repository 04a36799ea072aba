import type { HeaderPair } from '@standin/contract';
import { LIMITS } from '@standin/contract';
import { describe, expect, test } from 'vitest';
import { EXAMPLES, exampleVerdict, type Example } from './examples.testing.ts';
import { startVerifying } from './verify.ts';

const NAMED: readonly (readonly [string, Example])[] = Object.entries(EXAMPLES);
const { GitHub: GITHUB, Stripe: STRIPE, Slack: SLACK, StandardWebhooks: STANDARD, Token: TOKEN } = EXAMPLES;
const { HmacHex: HMAC } = EXAMPLES;
const TIMED = [STRIPE, SLACK, STANDARD];

/** Returns the example with another value for a header, which is added if it is missing. */
const withHeader = (example: Example, name: string, value: string): Example => ({
  ...example,
  headers: [...example.headers.filter(([found]) => found.toLowerCase() !== name), [name, value]],
});
const stripe = (value: string): Example => withHeader(STRIPE, 'stripe-signature', value);

describe.each(NAMED)('the published example of %s', (_, example) => {
  const accepted = { deliveryId: example.deliveryId, secretIndex: 0 };

  test('is accepted', () => {
    expect(exampleVerdict(example)).toEqual(accepted);
  });

  test('is accepted in parts', () => {
    const { config, secret, headers, body, signedAt = 0 } = example;
    const started = startVerifying(config, { headers, nowMs: signedAt * 1_000 }, [Buffer.from(secret)]);
    if ('reason' in started) throw new Error(started.reason);
    for (const byte of Buffer.from(body)) started.update(Uint8Array.of(byte));
    expect(started.finish()).toEqual({ ok: true, ...accepted });
  });

  test('is accepted with names of headers in upper case and among other headers', () => {
    const headers = example.headers.map(([name, value]): HeaderPair => [name.toUpperCase(), value]);
    expect(exampleVerdict({ ...example, headers: [['Host', 'a'], ...headers, ['Accept', '*/*']] })).toEqual(accepted);
  });

  test('is accepted with any of the secrets, and reports which', () => {
    const [own, other] = [Buffer.from(example.secret), Buffer.from('b3RoZXI=')];
    expect(exampleVerdict(example, { secrets: [other, own] })).toEqual({ ...accepted, secretIndex: 1 });
    expect(exampleVerdict(example, { secrets: [own, own] })).toEqual(accepted);
    expect(exampleVerdict(example, { secrets: [other] })).toBe('mismatch');
  });

  test('is refused without secrets', () => {
    expect(exampleVerdict(example, { secrets: [] })).toBe('mismatch');
  });

  test('is refused if a header is missing, repeated or empty', () => {
    const needed = example.headers.filter(([name]) => !/delivery|event-id/i.test(name));
    for (const header of needed) {
      expect(exampleVerdict({ ...example, headers: example.headers.filter((other) => other !== header) })).toBe(
        'missing',
      );
      // Even if the same value is repeated.
      expect(exampleVerdict({ ...example, headers: [...example.headers, header] })).toBe('repeated');
      expect(exampleVerdict(withHeader(example, header[0].toLowerCase(), ''))).toBe('malformed');
    }
  });
});

describe('a timestamp', () => {
  const toleranceMs = 300_000;
  const shifted = (example: Example & { signedAt: number }, ms: number) =>
    exampleVerdict(
      { ...example, config: { ...example.config, toleranceMs } as Example['config'] },
      { request: { nowMs: example.signedAt * 1_000 + ms } },
    );

  test('may differ from the clock by the tolerance, in both directions', () => {
    for (const example of TIMED)
      expect([-300_001, -300_000, 300_000, 300_001].map((ms) => typeof shifted(example, ms))).toEqual([
        ...['string', 'object', 'object', 'string'],
      ]);
    expect([shifted(SLACK, 300_001), shifted(SLACK, -300_001)]).toEqual(['stale', 'stale']);
  });

  test.each(['', ' 1531420618', '1531420618 ', '+1531420618', '-1', '0', '1531420618.0', '1e9', '0x5b47ab0a', '١٥'])(
    '%j is malformed',
    (text) => {
      const found = [
        stripe(`t=${text},v1=${STRIPE.digest}`),
        withHeader(SLACK, 'x-slack-request-timestamp', text),
        withHeader(STANDARD, 'webhook-timestamp', text),
      ].map((example) => exampleVerdict(example));
      expect(found).toEqual(['malformed', 'malformed', 'malformed']);
    },
  );

  test.each(['9'.repeat(13), '9'.repeat(400), `0${'0'.repeat(20)}1531420618`])('%s is malformed', (text) => {
    expect(exampleVerdict(withHeader(SLACK, 'x-slack-request-timestamp', text))).toBe('malformed');
  });

  test('far in the future is stale', () => {
    expect(exampleVerdict(withHeader(SLACK, 'x-slack-request-timestamp', '9'.repeat(12)))).toBe('stale');
  });
});

describe('a digest', () => {
  const digest = GITHUB.digest;

  test('in hex may be in upper case, but not in both', () => {
    const verdict = (text: string) => exampleVerdict(withHeader(GITHUB, 'x-hub-signature-256', `sha256=${text}`));
    expect(verdict(digest.toUpperCase())).toEqual(exampleVerdict(GITHUB));
    expect(verdict(`${digest.slice(0, 32)}${digest.slice(32).toUpperCase()}`)).toBe('malformed');
  });

  test.each([
    digest,
    `sha1=${digest}`,
    `SHA256=${digest}`,
    `sha256=${digest}0`,
    `sha256=${digest.slice(1)}`,
    `sha256= ${digest}`,
    `sha256=${digest}, sha256=${digest}`,
    `sha256=${digest}\n`,
    `sha256=${Buffer.from(digest, 'hex').toString('base64')}`,
    'sha256=',
  ])('%j is malformed for GitHub', (text) => {
    expect(exampleVerdict(withHeader(GITHUB, 'x-hub-signature-256', text))).toBe('malformed');
  });

  test.each([
    STANDARD.digest.slice(0, -1),
    `${STANDARD.digest.slice(0, -2)}F=`,
    STANDARD.digest.replace('+', '-').replace('/', '_'),
    ` ${STANDARD.digest}`,
    '',
  ])('%j is malformed as Base64', (text) => {
    expect(exampleVerdict(withHeader(STANDARD, 'webhook-signature', `v1,${text}`))).toBe('malformed');
  });

  test('of another algorithm is malformed', () => {
    expect(exampleVerdict({ ...HMAC, config: { ...HMAC.config, algorithm: 'SHA512' } })).toBe('malformed');
  });
});

describe('a list of signatures', () => {
  const other = 'ab'.repeat(32);

  test('is accepted if one of them is correct, whichever it is', () => {
    for (const list of [
      `t=1492774577,v1=${other},v1=${STRIPE.digest}`,
      `v1=${STRIPE.digest},v1=${other},v0=${other},t=1492774577`,
    ])
      expect(exampleVerdict(stripe(list))).toEqual({ deliveryId: undefined, secretIndex: 0 });
    const wrong = Buffer.from(other, 'hex').toString('base64');
    for (const list of [`v1,${wrong} v1,${STANDARD.digest}`, `v1a,c2ln v1,${STANDARD.digest} v1,${wrong}`])
      expect(exampleVerdict(withHeader(STANDARD, 'webhook-signature', list))).toEqual(exampleVerdict(STANDARD));
  });

  test('is refused if the correct one has another version', () => {
    expect(exampleVerdict(stripe(`t=1492774577,v0=${STRIPE.digest}`))).toBe('malformed');
    expect(exampleVerdict(stripe(`t=1492774577,v0=${STRIPE.digest},v1=${other}`))).toBe('mismatch');
    expect(exampleVerdict(withHeader(STANDARD, 'webhook-signature', `v1a,${STANDARD.digest}`))).toBe('malformed');
  });

  test.each([`v1=${STRIPE.digest}`, `t=1492774577`, `t=1492774577,t=1492774577,v1=${STRIPE.digest}`, 't', ',', 'v1'])(
    '%s is malformed for Stripe',
    (list) => {
      expect(exampleVerdict(stripe(list))).toBe('malformed');
    },
  );

  test('is malformed if one of them is, also next to a correct one', () => {
    expect(exampleVerdict(stripe(`t=1492774577,v1=${STRIPE.digest},v1=x`))).toBe('malformed');
    expect(exampleVerdict(withHeader(STANDARD, 'webhook-signature', `v1,${STANDARD.digest} v1,x`))).toBe('malformed');
  });

  test('has a limit', () => {
    const list = (elements: number): string => `t=1492774577${`,v1=${STRIPE.digest}`.repeat(elements - 1)}`;
    expect(exampleVerdict(stripe(list(LIMITS.signatureElementsMax)))).toEqual({
      deliveryId: undefined,
      secretIndex: 0,
    });
    expect(exampleVerdict(stripe(list(LIMITS.signatureElementsMax + 1)))).toBe('malformed');
    expect(exampleVerdict(stripe(list(10_000)))).toBe('malformed');
    const elements = Array.from({ length: 10_000 }, () => `v1,${STANDARD.digest}`).join(' ');
    expect(exampleVerdict(withHeader(STANDARD, 'webhook-signature', elements))).toBe('malformed');
  });
});

describe('a delivery id', () => {
  test.each(['', 'a b', 'é', 'a\x7f', 'a'.repeat(LIMITS.deliveryIdLengthMax + 1)])(
    '%j is not recorded, and is malformed where it is signed',
    (id) => {
      expect(exampleVerdict(withHeader(GITHUB, 'x-github-delivery', id))).toEqual({
        deliveryId: undefined,
        secretIndex: 0,
      });
      expect(exampleVerdict(withHeader(STANDARD, 'webhook-id', id))).toBe('malformed');
    },
  );

  test('that is repeated is not recorded', () => {
    expect(exampleVerdict({ ...GITHUB, headers: [...GITHUB.headers, GITHUB.headers[0]] })).toEqual({
      deliveryId: undefined,
      secretIndex: 0,
    });
  });

  // `a.1.2.x` could otherwise be read as the id `a` with the timestamp 1, and as the id `a.1` with the timestamp 2.
  test('that is signed must not contain a full stop', () => {
    expect(exampleVerdict(withHeader(STANDARD, 'webhook-id', 'msg_1.1614265330'))).toBe('malformed');
  });
});

describe('the headers of Standard Webhooks', () => {
  test('of one name are not combined with those of the other', () => {
    const [id, timestamp] = STANDARD.headers as readonly [HeaderPair, HeaderPair, HeaderPair];
    const signature = EXAMPLES.Svix.headers[2] as HeaderPair;
    expect(exampleVerdict({ ...STANDARD, headers: [id, timestamp, signature] })).toBe('missing');
  });
});

describe('a token', () => {
  test.each(['a-toke', 'a-token2', 'A-token', ' a-token', 'b', 'x'.repeat(8_000)])('%s is refused', (token) => {
    expect(exampleVerdict(withHeader(TOKEN, 'x-gitlab-token', token))).toBe('mismatch');
  });

  test('is compared by its bytes', () => {
    const secret = Buffer.from('é', 'utf8');
    const sent = withHeader(TOKEN, 'x-gitlab-token', secret.toString('latin1'));
    expect(exampleVerdict(sent, { secrets: [secret] })).toEqual({ deliveryId: undefined, secretIndex: 0 });
  });
});

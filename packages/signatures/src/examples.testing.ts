import type { HeaderPair, SignatureConfig } from '@standin/contract';
import { verify } from './verify.ts';

/** A signed request, and what is needed to verify it. */
export interface Example {
  readonly config: SignatureConfig;
  readonly secret: string;
  readonly headers: readonly HeaderPair[];
  readonly body: string;
  /** When the request was signed, in seconds since 1970. */
  readonly signedAt?: number;
  /** The digest in the headers. Undefined for a token. */
  readonly digest?: string;
  readonly deliveryId?: string;
}

const TOLERANCE = { toleranceMs: 3_600_000 };
const GITHUB_DIGEST = '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
const STRIPE_DIGEST = 'b82c592c146e9c9f688d6c22304fec30b65e997802644c4454e989a0d79f1343';
const SLACK_DIGEST = 'a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503';
const SHOPIFY_DIGEST = 'D0UMXmhjwBRi4y66TmhJrDlhQABD7zI2fm3p6/QLMo8=';
const STANDARD_DIGEST = 'g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const RFC_SHA256 = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843';
const RFC_SHA512 = Buffer.from(
  '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
  'hex',
).toString('base64');

const STANDARD = {
  config: { scheme: 'StandardWebhooks', ...TOLERANCE },
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  body: '{"test": 2432232314}',
  signedAt: 1614265330,
  digest: STANDARD_DIGEST,
  deliveryId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
} as const;
const standardHeaders = (family: string): readonly HeaderPair[] => [
  [`${family}-id`, STANDARD.deliveryId],
  [`${family}-timestamp`, '1614265330'],
  [`${family}-signature`, `v1,${STANDARD_DIGEST}`],
];

/** Published examples. Stripe and Shopify publish none with a secret, so these were signed with `openssl dgst -sha256 -hmac`. */
export const EXAMPLES = {
  /** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries#testing-the-webhook-payload-validation */
  GitHub: {
    config: { scheme: 'GitHub' },
    secret: "It's a Secret to Everybody",
    headers: [
      ['X-GitHub-Delivery', '72d3162e-cc78-11e3-81ab-4c9367dc0958'],
      ['X-Hub-Signature-256', `sha256=${GITHUB_DIGEST}`],
    ],
    body: 'Hello, World!',
    digest: GITHUB_DIGEST,
    deliveryId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  },
  Stripe: {
    config: { scheme: 'Stripe', ...TOLERANCE },
    secret: 'whsec_c629bf77db5fd477d18b44265a2b13cd',
    headers: [['Stripe-Signature', `t=1492774577,v1=${STRIPE_DIGEST}`]],
    body: '{"id":"evt_1","object":"event"}',
    signedAt: 1492774577,
    digest: STRIPE_DIGEST,
  },
  /** https://docs.slack.dev/authentication/verifying-requests-from-slack */
  Slack: {
    config: { scheme: 'Slack', ...TOLERANCE },
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    headers: [
      ['X-Slack-Request-Timestamp', '1531420618'],
      ['X-Slack-Signature', `v0=${SLACK_DIGEST}`],
    ],
    body:
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&' +
      'user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com' +
      '%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.' +
      '803a0bc887a14d10d2c447fce8b6703c',
    signedAt: 1531420618,
    digest: SLACK_DIGEST,
  },
  Shopify: {
    config: { scheme: 'Shopify' },
    secret: 'hush',
    headers: [
      ['X-Shopify-Event-Id', '98880550-7158-44d4-b7cd-2c97c8a091b5'],
      ['X-Shopify-Hmac-Sha256', SHOPIFY_DIGEST],
    ],
    body: '{"id":820982911946154508,"email":"jon@example.com"}',
    digest: SHOPIFY_DIGEST,
    deliveryId: '98880550-7158-44d4-b7cd-2c97c8a091b5',
  },
  /** https://github.com/standard-webhooks/standard-webhooks/tree/main/libraries */
  StandardWebhooks: { ...STANDARD, headers: standardHeaders('webhook') },
  Svix: { ...STANDARD, headers: standardHeaders('svix') },
  /** RFC 4231, section 4.3. */
  HmacHex: {
    config: { scheme: 'HMAC', header: 'x-sig', algorithm: 'SHA256', encoding: 'Hex', prefix: 'hmac ' },
    secret: 'Jefe',
    headers: [['X-Sig', `hmac ${RFC_SHA256}`]],
    body: 'what do ya want for nothing?',
    digest: RFC_SHA256,
  },
  /** RFC 4231, section 4.3. */
  HmacBase64: {
    config: { scheme: 'HMAC', header: 'x-sig', algorithm: 'SHA512', encoding: 'Base64', prefix: '' },
    secret: 'Jefe',
    headers: [['X-Sig', RFC_SHA512]],
    body: 'what do ya want for nothing?',
    digest: RFC_SHA512,
  },
  Token: {
    config: { scheme: 'Token', header: 'x-gitlab-token' },
    secret: 'a-token',
    headers: [['X-Gitlab-Token', 'a-token']],
    body: '{"object_kind":"push"}',
  },
} as const satisfies Readonly<Record<string, Example>>;

/** Returns the delivery id and the index of the secret, or the reason why a request is refused. */
export const exampleVerdict = (
  { config, secret, headers, body, signedAt = 0 }: Example,
  more: Partial<Verify> = {},
) => {
  const request = { headers, body: Buffer.from(body), nowMs: signedAt * 1_000, ...more.request };
  const result = verify(config, request, more.secrets ?? [Buffer.from(secret)]);
  return result.ok ? { deliveryId: result.deliveryId, secretIndex: result.secretIndex } : result.reason;
};

interface Verify {
  readonly request: Partial<Parameters<typeof verify>[1]>;
  readonly secrets: Parameters<typeof verify>[2];
}

import {
  CREDENTIAL_TYPES,
  HMAC_ALGORITHMS,
  HMAC_ENCODINGS,
  LIMITS,
  listText,
  SIGNATURE_SCHEMES,
  TIMESTAMP_SCHEMES,
  type SignatureScheme,
} from '@standin/contract';
import { z } from 'zod';
import { durationRules } from '../duration.ts';
import { secretRef, text } from '../fields.ts';
import { headerValueRules, signatureHeaderRules } from '../http-rules.ts';
import { withRules, type Rule } from '../rules.ts';

const header = () => withRules(text({ min: 1, max: LIMITS.headerNameLengthMax }), signatureHeaderRules);

const signingSecretRef = secretRef('Signing', 'the signing secret', { name: 'github', key: 'current' }).describe(
  'A signing secret.',
);

const hmac = z.strictObject({
  header: header().describe('Name of the header with the signature, in any case, for example x-signature.'),
  algorithm: z
    .enum(HMAC_ALGORITHMS)
    .default('SHA256')
    .describe('The hash function of the HMAC, which covers the body of the request.'),
  encoding: z.enum(HMAC_ENCODINGS).default('Hex').describe('How the signature is written as text.'),
  prefix: withRules(text({ max: LIMITS.signaturePrefixLengthMax }), headerValueRules)
    .optional()
    .describe('The text before the signature in the value of the header, for example sha256=.'),
});

const token = z.strictObject({
  header: header().describe(
    'Name of the header whose value is the secret, in any case, for example x-gitlab-token or x-telegram-bot-api-secret-token.',
  ),
});

/** The fields that belong to one scheme each. */
const SCHEME_FIELDS = { hmac: 'HMAC', token: 'Token' } as const;

type Signature = { readonly scheme: SignatureScheme; readonly tolerance?: string | undefined } & {
  readonly [field in keyof typeof SCHEME_FIELDS]?: unknown;
};

const fieldRule = (field: keyof typeof SCHEME_FIELDS): Rule<Signature> => {
  const scheme = SCHEME_FIELDS[field];
  return {
    cel: `has(self.${field}) == (self.scheme == '${scheme}')`,
    holds: (self) => (self[field] !== undefined) === (self.scheme === scheme),
    message: `must be set if scheme is ${scheme}, and omitted otherwise`,
    field,
  };
};

const toleranceRule: Rule<Signature> = {
  cel: `!has(self.tolerance) || self.scheme in [${TIMESTAMP_SCHEMES.map((name) => `'${name}'`).join(', ')}]`,
  holds: ({ scheme, tolerance }) =>
    tolerance === undefined || (TIMESTAMP_SCHEMES as readonly SignatureScheme[]).includes(scheme),
  message: `must be omitted if scheme is not ${listText(TIMESTAMP_SCHEMES, 'or')}: other signatures have no timestamp`,
  field: 'tolerance',
};

interface SecretRef {
  readonly name: string;
  readonly key: string;
}

const distinctSecrets: Rule<readonly SecretRef[]> = {
  cel: 'self.size() < 2 || self[0].name != self[1].name || self[0].key != self[1].key',
  holds: ([first, second]) => second === undefined || first?.name !== second.name || first.key !== second.key,
  message: 'must not contain the same secret twice',
};

const signature = withRules(
  z.strictObject({
    scheme: z
      .enum(SIGNATURE_SCHEMES)
      .describe(
        "How requests are signed. GitHub, Stripe, Slack and Shopify: as these providers sign. StandardWebhooks: as in the Standard Webhooks specification, including Svix's header names. " +
          'HMAC: an HMAC of the body in a header. Token: the secret itself in a header, as GitLab and Telegram send it.',
      ),
    secretRefs: withRules(z.array(signingSecretRef).min(1).max(LIMITS.signingSecretsMax), [distinctSecrets])
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe(
        'The secrets, any of which may have signed a request. To replace a secret, add the new one, change it at the provider, and then remove the old one.',
      ),
    tolerance: withRules(
      text({ max: 24 }),
      durationRules(LIMITS.signatureToleranceMsMin, LIMITS.signatureToleranceMsMax),
    )
      .optional()
      .describe(
        `How far the timestamp of a request may be from the gateway's clock, for example 5m. Allowed range: 1s to 60m. Default: ${LIMITS.signatureToleranceMsDefault / 60_000}m. Only for ${TIMESTAMP_SCHEMES.join(', ')}.`,
      ),
    hmac: hmac.optional().describe('The format of the signature if scheme is HMAC.'),
    token: token.optional().describe('The place of the secret if scheme is Token.'),
  }),
  [fieldRule('hmac'), fieldRule('token'), toleranceRule],
);

export const credential = withRules(
  z.strictObject({
    type: z
      .enum(CREDENTIAL_TYPES)
      .describe('What authenticates a request without the x-api-key header. Signature: the signature of its sender.'),
    signature: signature.optional().describe('How requests are signed. Required if type is Signature.'),
  }),
  [
    {
      cel: "has(self.signature) == (self.type == 'Signature')",
      holds: (self) => self.signature !== undefined,
      message: 'must be set if type is Signature',
      field: 'signature',
      required: true,
    },
  ],
);

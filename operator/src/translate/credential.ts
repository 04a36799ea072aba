import { LIMITS, type CredentialConfig, type ObjectRef, type SignatureConfig } from '@standin/contract';
import { durationMs, type EndpointSpec } from '@standin/crds';
import { fails } from './findings.ts';
import { usedSecret, type SecretStates, type UsedSecret } from './secrets.ts';
import type { Entry, Finding } from './types.ts';

type SignatureSpec = NonNullable<NonNullable<EndpointSpec['credential']>['signature']>;
export interface Credential {
  readonly config: CredentialConfig;
  /** The secrets that can be used, for the status. Undefined if there are none. */
  readonly signingSecrets: readonly UsedSecret['shown'][] | undefined;
  /** The problem with the first secret that cannot be used. */
  readonly fault: Finding | undefined;
}

/** Returns the names of the Secrets in an Endpoint's credential. */
export const signingSecretNames = ({ credential }: EndpointSpec): readonly string[] =>
  (credential?.signature?.secretRefs ?? []).map(({ name }) => name);

/** Returns the credential of a valid Endpoint, or undefined if requests need the API key. */
export const evaluateCredential = (
  { namespace }: Pick<ObjectRef, 'namespace'>,
  spec: EndpointSpec,
  states: SecretStates,
): Credential | undefined => {
  const signature = spec.credential?.signature;
  if (signature === undefined) return undefined;
  const found = signature.secretRefs.map(({ name, key }, index) =>
    usedSecret(
      { namespace, name, key, format: signature.scheme, path: `spec.credential.signature.secretRefs[${index}]` },
      states(namespace, name),
    ),
  );
  const used = found.flatMap((one) => ('id' in one ? [one] : []));
  return {
    config: { kind: 'Signature', signature: signatureConfig(signature), secretIds: used.map(({ id }) => id) },
    signingSecrets: used.length === 0 ? undefined : used.map(({ shown }) => shown),
    fault: found.find((one): one is Finding => 'ok' in one),
  };
};

/** The schema requires exactly the fields for the scheme. */
const signatureConfig = ({ scheme, tolerance, hmac, token }: SignatureSpec): SignatureConfig => {
  switch (scheme) {
    case 'GitHub':
    case 'Shopify':
      return { scheme };
    case 'Stripe':
    case 'Slack':
    case 'StandardWebhooks': {
      const toleranceMs = tolerance === undefined ? LIMITS.signatureToleranceMsDefault : durationMs(tolerance);
      return { scheme, toleranceMs };
    }
    case 'HMAC': {
      const { header = '', algorithm = 'SHA256', encoding = 'Hex', prefix = '' } = hmac ?? {};
      return { scheme, header: header.toLowerCase(), algorithm, encoding, prefix };
    }
    case 'Token':
      return { scheme, header: token?.header.toLowerCase() ?? '' };
  }
};

/** Returns a finding if the Account does not allow the Endpoint's credential. */
export const permissionFault = (spec: EndpointSpec, project: Entry | undefined): Finding | undefined => {
  if (spec.credential === undefined || project?.evaluation?.verdict.allowsSignatures !== false) return undefined;
  const account = project.parsed?.kind === 'Project' ? project.parsed.spec.accountRef.name : '';
  return fails(
    'NotPermitted',
    `Account ${account} does not allow signed requests: set spec.signatures of the Account to Allowed ` +
      `(kubectl patch mac ${account} -n ${project.ref.namespace} --type merge -p '{"spec":{"signatures":"Allowed"}}'), or remove spec.credential.`,
    'spec.credential',
  );
};

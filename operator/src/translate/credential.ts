import {
  LIMITS,
  nearestName,
  SIGNING_SECRET_LABEL,
  type CredentialConfig,
  type ObjectRef,
  type SignatureConfig,
  type SignatureScheme,
} from '@standin/contract';
import { durationMs, type EndpointSpec } from '@standin/crds';
import { fails } from './findings.ts';
import type { Entry, Finding, SecretState } from './types.ts';

type SignatureSpec = NonNullable<NonNullable<EndpointSpec['credential']>['signature']>;
export type SecretStates = (namespace: string, name: string) => SecretState | undefined;

/** A signing secret that gateways use, as the Endpoint's status shows it. */
interface UsedSecret {
  readonly id: string;
  readonly shown: { readonly name: string; readonly key: string; readonly version: string };
}

export interface Credential {
  readonly config: CredentialConfig;
  /** The secrets that can be used, for the status. Undefined if there are none. */
  readonly signingSecrets: readonly UsedSecret['shown'][] | undefined;
  /** The names of all Secrets, whether or not they can be used. */
  readonly secretNames: readonly string[];
  /** The problem with the first secret that cannot be used. */
  readonly fault: Finding | undefined;
}

/** Returns the names of the Secrets in an Endpoint's credential. */
export const signingSecretNames = ({ credential }: EndpointSpec): readonly string[] => [
  ...new Set(credential?.signature?.secretRefs.map(({ name }) => name)),
];

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
      { namespace, name, key, scheme: signature.scheme, path: `spec.credential.signature.secretRefs[${index}]` },
      states(namespace, name),
    ),
  );
  const used = found.flatMap((one) => ('id' in one ? [one] : []));
  return {
    config: { kind: 'Signature', signature: signatureConfig(signature), secretIds: used.map(({ id }) => id) },
    signingSecrets: used.length === 0 ? undefined : used.map(({ shown }) => shown),
    secretNames: signingSecretNames(spec),
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

interface SecretPlace {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  readonly scheme: SignatureScheme;
  /** The path of the reference in the Endpoint. */
  readonly path: string;
}

const usedSecret = (place: SecretPlace, state: SecretState | undefined): UsedSecret | Finding => {
  const { namespace, name, key, scheme, path } = place;
  const label = `kubectl label secret ${name} -n ${namespace} ${SIGNING_SECRET_LABEL}=true`;
  switch (state?.kind) {
    case undefined:
      return fails('Pending', `Secret ${name} has not been read yet.`, `${path}.name`);
    case 'missing':
      return fails(
        'SecretNotFound',
        `There is no Secret ${name} in this namespace: create it with the data key ${key} and the label ${SIGNING_SECRET_LABEL}: "true" ` +
          `(kubectl create secret generic ${name} -n ${namespace} --from-file=${key}=FILE && ${label}).`,
        `${path}.name`,
      );
    case 'unreadable':
      return fails('SecretInvalid', `Secret ${name} cannot be used: ${state.message}.`, `${path}.name`);
    case 'found':
      break;
  }
  if (!state.isLabelled)
    return fails(
      'SecretInvalid',
      `Secret ${name} does not have the label ${SIGNING_SECRET_LABEL}: "true", without which Endpoints cannot use it: if it contains signing secrets, add the label (${label}).`,
      `${path}.name`,
    );
  const value = state.values.get(key) ?? { problem: 'does not exist' };
  const isUsable = 'id' in value && value.unusableFor?.includes(scheme) !== true;
  if (isUsable) return { id: value.id, shown: { name, key, version: state.version } };
  const isMissing = !state.values.has(key);
  const near =
    isMissing && state.values.size <= LIMITS.comparedNamesMax ? nearestName(key, state.values.keys()) : undefined;
  if (near !== undefined)
    return fails(
      'SecretInvalid',
      `The data key ${key} of Secret ${name} does not exist: did you mean ${near}?`,
      `${path}.key`,
    );
  // Only StandardWebhooks requires a format.
  const problem = 'problem' in value ? value.problem : 'is not Base64, with or without whsec_ before it';
  return fails(
    'SecretInvalid',
    `The data key ${key} of Secret ${name} ${problem}: set it to the signing secret ` +
      `(kubectl patch secret ${name} -n ${namespace} -p '{"stringData":{"${key}":"SECRET"}}').`,
    `${path}.key`,
  );
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

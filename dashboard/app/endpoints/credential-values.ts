import { isRecord, LIMITS, ownMember, SIGNATURE_SCHEMES, TIMESTAMP_SCHEMES } from '@standin/contract';
import { without } from '../../src/api/without.ts';
import { isSame } from '../ui/merge-values.ts';
import { scalarText } from './condition-values.ts';
import { savedItems, savedPart, toItems, type FormReader } from './form-reader.ts';

const CREDENTIAL = 'spec.credential';

/** The values of `spec.credential`, as paths in it. All except `type` are in `signature`. */
const FIELDS = [
  'type',
  'signature.scheme',
  'signature.secretRefs[0].name',
  'signature.secretRefs[0].key',
  'signature.secretRefs[1].name',
  'signature.secretRefs[1].key',
  'signature.tolerance',
  'signature.hmac.header',
  'signature.hmac.algorithm',
  'signature.hmac.encoding',
  'signature.hmac.prefix',
  'signature.token.header',
] as const;
export type CredentialField = (typeof FIELDS)[number];

/** The type is empty if requests need the API key. */
export type CredentialValues = Readonly<Record<CredentialField, string>>;

const fromFields = (read: (field: CredentialField) => string): CredentialValues =>
  Object.fromEntries(FIELDS.map((field) => [field, read(field)])) as CredentialValues;

export const GITLAB_HEADER = 'x-gitlab-token';

export const NO_CREDENTIAL: CredentialValues = { ...fromFields(() => ''), 'signature.scheme': 'GitHub' };

/**
 * Returns the values with a scheme selected, as a link requests, unless they have a credential. Of the senders for which there are
 * links, only GitLab sends a token.
 */
export const withScheme = (values: CredentialValues, demanded: string | null): CredentialValues => {
  const scheme = SIGNATURE_SCHEMES.find((known) => known === demanded);
  if (scheme === undefined || values.type !== '') return values;
  const header = scheme === 'Token' ? GITLAB_HEADER : '';
  return { ...values, type: 'Signature', 'signature.scheme': scheme, 'signature.token.header': header };
};

/** Returns the name of a form field. */
export const credentialName = (field: CredentialField): string => `${CREDENTIAL}.${field}`;

export const readCredential = (reader: FormReader): CredentialValues =>
  fromFields((field) => {
    const text = reader.text(credentialName(field));
    // Spaces can be part of a prefix.
    return field === 'signature.hmac.prefix' ? text : text.trim();
  });

/** Returns the paths that errors can be assigned to. */
export const credentialFields = (): string[] => [
  CREDENTIAL,
  `${CREDENTIAL}.signature`,
  `${CREDENTIAL}.signature.secretRefs`,
  ...FIELDS.map(credentialName),
];

const valueAt = (value: unknown, path: string): unknown =>
  path
    .split(/[.[\]]+/)
    .filter((name) => name !== '')
    .reduce<unknown>((part, name) => {
      if (Array.isArray(part)) return part[Number(name)] as unknown;
      return isRecord(part) ? ownMember(part, name) : undefined;
    }, value);

/** Converts `credential`, as written, to the values of the form. */
export const toCredentialValues = (credential: unknown): CredentialValues =>
  isRecord(credential) ? fromFields((field) => scalarText(valueAt(credential, field))) : NO_CREDENTIAL;

const optional = (name: string, value: string): Readonly<Record<string, string>> =>
  value === '' ? {} : { [name]: value };

/**
 * Returns the secrets that are filled in. The first one is always included, so that its errors are shown. Keeps what the form does not
 * show of the saved ones.
 */
const toSecretRefs = (values: CredentialValues, saved: unknown): readonly unknown[] => {
  const before = savedItems(saved);
  const shown = Array.from({ length: LIMITS.signingSecretsMax }, (_, index) => ({
    name: values[`signature.secretRefs[${index as 0 | 1}].name`],
    value: values[`signature.secretRefs[${index as 0 | 1}].key`],
  })).filter(({ name, value }, index) => index === 0 || name !== '' || value !== '');
  return [
    ...toItems(shown, before.slice(0, LIMITS.signingSecretsMax), {
      read: ({ name, key }) => ({ name: scalarText(name), value: scalarText(key) }),
      fields: ['name', 'key'],
      write: ({ name, value }) => ({ name, key: value }),
    }),
    ...before.slice(LIMITS.signingSecretsMax),
  ];
};

/**
 * Returns the `credential` field, or nothing. `saved` is this field as written. It is returned if it was not edited, or if its type is
 * one that the form does not know. Otherwise, its fields that the form does not show are kept.
 */
export const toCredential = (values: CredentialValues, saved: unknown): { readonly credential?: unknown } => {
  if (saved !== undefined && isSame(values, toCredentialValues(saved))) return { credential: saved };
  const { type } = values;
  if (type === '') return {};
  if (type !== 'Signature') return { credential: saved };
  const before = savedPart(saved);
  const signature = savedPart(before['signature']);
  const scheme = values['signature.scheme'];
  const isTimed = TIMESTAMP_SCHEMES.some((timed) => timed === scheme);
  const hmac = {
    header: values['signature.hmac.header'],
    ...optional('algorithm', values['signature.hmac.algorithm']),
    ...optional('encoding', values['signature.hmac.encoding']),
    ...optional('prefix', values['signature.hmac.prefix']),
    ...without(savedPart(signature['hmac']), 'header', 'algorithm', 'encoding', 'prefix'),
  };
  const token = { header: values['signature.token.header'], ...without(savedPart(signature['token']), 'header') };
  return {
    credential: {
      type,
      signature: {
        scheme,
        secretRefs: toSecretRefs(values, signature['secretRefs']),
        ...(isTimed && optional('tolerance', values['signature.tolerance'])),
        ...(scheme === 'HMAC' && { hmac }),
        ...(scheme === 'Token' && { token }),
        ...without(signature, 'scheme', 'secretRefs', 'tolerance', 'hmac', 'token'),
      },
      ...(before['type'] === type && without(before, 'type', 'signature')),
    },
  };
};

import { LIMITS, SIGNATURE_SCHEMES, type SignatureScheme, type SigningSecret } from '@standin/contract';
import { signingKey } from '@standin/signatures';
import { secretId } from '../keys/key-changes.ts';
import type { SecretState, SecretValue } from '../translate/index.ts';

/** A Secret as it was read: what `translate` may know about it, and the values. */
export interface ReadSecret {
  readonly state: SecretState;
  /** The usable values by id. */
  readonly values: ReadonlyMap<string, Uint8Array>;
}

/** Judges the values of a Secret. */
export const readValues = (namespace: string, name: string, secret: SigningSecret | undefined): ReadSecret => {
  if (secret === undefined) return { state: { kind: 'missing' }, values: new Map() };
  const { isLabelled, version, data } = secret;
  const judged = new Map<string, SecretValue>();
  const values = new Map<string, Uint8Array>();
  for (const [key, value] of data) {
    const problem = valueProblem(value);
    const id = secretId({ namespace, name, key, version });
    judged.set(key, problem === undefined ? { id, ...unusableFor(value) } : { problem });
    if (problem === undefined) values.set(id, value);
  }
  return { state: { kind: 'found', isLabelled, version, values: judged }, values };
};

/** Returns the schemes whose secrets have another format. */
const unusableFor = (value: Uint8Array): { readonly unusableFor?: readonly SignatureScheme[] } => {
  const schemes = SIGNATURE_SCHEMES.filter((scheme) => signingKey(scheme, value) === undefined);
  return schemes.length === 0 ? {} : { unusableFor: schemes };
};

const ENDS_WITH_LINE_BREAK = /^[\x20-\x7e]*[\r\n]+$/;

/** Returns why a value cannot be a signing secret, or undefined if it can. Only text can end with a line break by mistake. */
const valueProblem = (value: Uint8Array): string | undefined => {
  const { signingSecretBytesMax: max } = LIMITS;
  if (value.length === 0) return 'is empty';
  if (value.length > max) return `has ${value.length} bytes, more than the maximum of ${max}`;
  return ENDS_WITH_LINE_BREAK.test(Buffer.from(value).toString('latin1')) ? 'ends with a line break' : undefined;
};

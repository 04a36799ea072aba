import { LIMITS, SIGNATURE_SCHEMES, type LabelledSecret } from '@standin/contract';
import { headerValueRules } from '@standin/crds';
import { signingKey } from '@standin/signatures';
import { secretId } from '../keys/key-changes.ts';
import type { SecretFormat, SecretState, SecretValue } from '../translate/index.ts';

/** A Secret as it was read: what `translate` may know about it, and the values. */
export interface ReadSecret {
  readonly state: SecretState;
  /** The usable values by id. */
  readonly values: ReadonlyMap<string, Uint8Array>;
}

/** Judges the values of a Secret. */
export const readValues = (namespace: string, name: string, secret: LabelledSecret | undefined): ReadSecret => {
  if (secret === undefined) return { state: { kind: 'missing' }, values: new Map() };
  const { uses, upstreamOrigins, version, data } = secret;
  const judged = new Map<string, SecretValue>();
  const values = new Map<string, Uint8Array>();
  for (const [key, value] of data) {
    const problem = valueProblem(value);
    const id = secretId({ namespace, name, key, version });
    judged.set(key, problem === undefined ? { id, ...unusableAs(value) } : { problem });
    if (problem === undefined) values.set(id, value);
  }
  const origins = upstreamOrigins.split(/[\s,]+/).filter((origin) => origin !== '');
  return {
    state: { kind: 'found', uses, upstreamOrigins: new Set(origins.map(normalizedOrigin)), version, values: judged },
    values,
  };
};

/** Returns an origin as `URL` writes it. An annotation can be so long that parsing each origin would take too much time. */
const normalizedOrigin = (origin: string): string => origin.toLowerCase().replace(/\/$/, '').replace(/:443$/, '');

const FORMATS: readonly SecretFormat[] = [...SIGNATURE_SCHEMES, 'Header'];

const hasFormat = (format: SecretFormat, value: Uint8Array): boolean =>
  format === 'Header'
    ? headerValueRules.every(({ holds }) => holds(Buffer.from(value).toString('latin1')))
    : signingKey(format, value) !== undefined;

/** Returns the formats that the value does not have. */
const unusableAs = (value: Uint8Array): { readonly unusableAs?: readonly SecretFormat[] } => {
  const formats = FORMATS.filter((format) => !hasFormat(format, value));
  return formats.length === 0 ? {} : { unusableAs: formats };
};

const ENDS_WITH_LINE_BREAK = /^[\x20-\x7e]*[\r\n]+$/;

/** Returns why a value cannot be used, or undefined if it can. Only text can end with a line break by mistake. */
const valueProblem = (value: Uint8Array): string | undefined => {
  const { secretBytesMax: max } = LIMITS;
  if (value.length === 0) return 'is empty';
  if (value.length > max) return `has ${value.length} bytes, more than the maximum of ${max}`;
  return ENDS_WITH_LINE_BREAK.test(Buffer.from(value).toString('latin1')) ? 'ends with a line break' : undefined;
};

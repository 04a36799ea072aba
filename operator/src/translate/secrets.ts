import { LIMITS, nearestName, SECRET_LABELS, UPSTREAM_ORIGINS_ANNOTATION, type SecretUse } from '@standin/contract';
import { fails } from './findings.ts';
import type { Finding, SecretFormat, SecretState } from './types.ts';

export type SecretStates = (namespace: string, name: string) => SecretState | undefined;

/** A value of a Secret that gateways use. */
export interface UsedSecret {
  readonly id: string;
  /** As the Endpoint's status shows it. */
  readonly shown: { readonly name: string; readonly key: string; readonly version: string };
}

export interface SecretPlace {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  /** The path of the reference in the Endpoint. */
  readonly path: string;
  readonly format: SecretFormat;
}

interface UseTexts {
  /** What the Secret contains. */
  readonly content: string;
  /** What the value is. */
  readonly value: string;
}
const TEXTS: Readonly<Record<SecretUse, UseTexts>> = {
  Signing: { content: 'signing secrets', value: 'the signing secret' },
  Upstream: { content: 'credentials for upstreams', value: 'the value of the header' },
};

/** Only these formats differ from any text. */
const FORMAT_PROBLEMS: Partial<Record<SecretFormat, string>> = {
  StandardWebhooks: 'is not Base64, with or without whsec_ before it',
  Header: 'has a control character, or a space at its beginning or end, which a header cannot have',
};

/** Returns the value to which an Endpoint refers, or why it cannot be used. */
export const usedSecret = (place: SecretPlace, state: SecretState | undefined): UsedSecret | Finding => {
  const { namespace, name, key, path, format } = place;
  const use: SecretUse = format === 'Header' ? 'Upstream' : 'Signing';
  const { content, value: noun } = TEXTS[use];
  const label = `kubectl label secret ${name} -n ${namespace} ${SECRET_LABELS[use]}=true`;
  switch (state?.kind) {
    case undefined:
      return fails('Pending', `Secret ${name} has not been read yet.`, `${path}.name`);
    case 'missing':
      return fails(
        'SecretNotFound',
        `There is no Secret ${name} in this namespace: create it with the data key ${key} and the label ${SECRET_LABELS[use]}: "true" ` +
          `(kubectl create secret generic ${name} -n ${namespace} --from-file=${key}=FILE && ${label}).`,
        `${path}.name`,
      );
    case 'unreadable':
      return fails('SecretInvalid', `Secret ${name} cannot be used: ${state.message}.`, `${path}.name`);
    case 'found':
      break;
  }
  if (!state.uses.includes(use))
    return fails(
      'SecretInvalid',
      `Secret ${name} does not have the label ${SECRET_LABELS[use]}: "true", without which Endpoints cannot use it: if it contains ${content}, add the label (${label}).`,
      `${path}.name`,
    );
  const value = state.values.get(key) ?? { problem: 'does not exist' };
  const isUsable = 'id' in value && value.unusableAs?.includes(format) !== true;
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
  const problem = 'problem' in value ? value.problem : (FORMAT_PROBLEMS[format] ?? 'has another format');
  return fails(
    'SecretInvalid',
    `The data key ${key} of Secret ${name} ${problem}: set it to ${noun} ` +
      `(kubectl patch secret ${name} -n ${namespace} -p '{"stringData":{"${key}":"SECRET"}}').`,
    `${path}.key`,
  );
};

/**
 * Returns why an origin may not get the values of a Secret, or undefined if it may. The authors of Endpoints may not be allowed to read
 * the Secret, so the Secret itself says who gets it.
 */
export const originFault = (
  { namespace, name, path }: SecretPlace,
  origin: string,
  state: SecretState | undefined,
): Finding | undefined => {
  if (state?.kind !== 'found' || state.upstreamOrigins.has(origin)) return undefined;
  const add =
    state.upstreamOrigins.size > 0
      ? 'add it'
      : `set it (kubectl annotate secret ${name} -n ${namespace} ${UPSTREAM_ORIGINS_ANNOTATION}=${origin})`;
  return fails(
    'SecretInvalid',
    `Secret ${name} is not for ${origin}, because its annotation ${UPSTREAM_ORIGINS_ANNOTATION} does not contain this origin: if the upstream may get the Secret, ${add}.`,
    `${path}.name`,
  );
};

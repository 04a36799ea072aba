import { API_KEY_DATA_KEY, apiKeySecretName, configKey, type AccountConfig } from '@standin/contract';
import type { AccountSpec } from '@standin/crds';
import { ACCEPTED, fails, holds, NOT_CHECKED } from './findings.ts';
import type { Entry, Evaluation, Finding, KeyState, TranslateSettings } from './types.ts';

export interface AccountContext {
  readonly key: KeyState;
  /** Whether another Account has this Account's key, or had it recently. */
  readonly isKeyTaken: boolean;
  /** Whether another Account has reserved this Account's prefix or the beginning of it. */
  readonly isPrefixTaken: boolean;
}

/** Returns the verdict on an Account and its configuration. */
export const evaluateAccount = (
  entry: Entry,
  { key, isKeyTaken, isPrefixTaken }: AccountContext,
  settings: TranslateSettings,
): Evaluation => {
  const { ref, uid, generation, parsed, fault } = entry;
  const base = { ref, uid, generation };
  if (parsed?.kind !== 'Account' || fault !== undefined) {
    const verdict = {
      ...base,
      accepted: fault ?? ACCEPTED,
      resolvedRefs: NOT_CHECKED,
      configKey: undefined,
      status: { requestsPerSecond: undefined },
    };
    return { verdict, config: undefined };
  }
  const { spec } = parsed;
  const keySecret = apiKeySecret(ref.name, spec);
  const resolvedRefs = keyFinding(key, keySecret.secretName, isKeyTaken);
  const quota = spec.monthlyQuota ?? settings.quotaByPlan[spec.plan];
  const requestsPerSecond = rateLimitInForce(spec, settings);
  const config: AccountConfig = {
    kind: 'Account',
    uid,
    namespace: ref.namespace,
    name: ref.name,
    plan: spec.plan,
    ...(key.kind === 'key' && resolvedRefs.ok && { keySha256: key.sha256 }),
    ...(quota !== undefined && { quota }),
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
  };
  const verdict = {
    ...base,
    accepted: acceptedWith(spec, requestsPerSecond, isPrefixTaken),
    resolvedRefs,
    configKey: configKey(config),
    status: { usage: { quota }, requestsPerSecond },
    keySecret,
    plan: spec.plan,
    quota,
    allowsSignatures: spec.signatures === 'Allowed',
  };
  return { verdict, config };
};

/** Returns the account's limit, or the plan's if it is lower. */
const rateLimitInForce = (
  { plan, requestsPerSecond = Infinity }: AccountSpec,
  { requestsPerSecondByPlan }: TranslateSettings,
): number | undefined => {
  const limit = Math.min(requestsPerSecond, requestsPerSecondByPlan[plan] ?? Infinity);
  return limit === Infinity ? undefined : limit;
};

/** A limit or prefix that cannot apply as written is no reason to refuse the account's requests. */
const acceptedWith = (
  { plan, requestsPerSecond, uriPrefix }: AccountSpec,
  limit: number | undefined,
  isPrefixTaken: boolean,
): Finding => {
  const notes = [
    ...(requestsPerSecond === undefined || requestsPerSecond === limit
      ? []
      : [`Each gateway accepts ${limit} requests per second, the maximum for the plan ${plan}.`]),
    ...(isPrefixTaken
      ? [`The prefix ${uriPrefix} is not reserved, because another Account has reserved it or the beginning of it.`]
      : []),
  ];
  return notes.length === 0 ? ACCEPTED : holds('Accepted', [ACCEPTED.message, ...notes].join(' '));
};

const apiKeySecret = (name: string, { apiKey }: AccountSpec) =>
  apiKey === undefined
    ? { secretName: apiKeySecretName(name), generated: true }
    : { secretName: apiKey.secretName, generated: false };

const keyFinding = (key: KeyState, secretName: string, isTaken: boolean): Finding => {
  const path = 'spec.apiKey.secretName';
  switch (key.kind) {
    case 'pending':
      return fails('Pending', `The API key in Secret ${secretName} has not been read yet.`, path);
    case 'missing':
      return fails(
        'SecretNotFound',
        `There is no Secret ${key.secretName} with the data key ${API_KEY_DATA_KEY} in this namespace: create it, or remove spec.apiKey to have a key generated.`,
        path,
      );
    case 'invalid':
      return fails('SecretInvalid', `Secret ${key.secretName} cannot be used: ${key.message}.`, path);
    case 'key':
      // The message does not name the holder, because it may belong to another team.
      return isTaken
        ? fails(
            'Conflicted',
            `The API key in Secret ${secretName} is already in use: put a different key in this Secret.`,
            path,
          )
        : holds('ResolvedRefs', 'The API key is active.');
  }
};

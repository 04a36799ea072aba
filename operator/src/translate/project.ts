import { configKey, type CorsConfig, type Plan, type ProjectConfig } from '@standin/contract';
import { durationMs, projectUri, type ProjectSpec } from '@standin/crds';
import { ACCEPTED, fails, firstFault, holds, NOT_CHECKED } from './findings.ts';
import type { Entry, Evaluation, Finding, RetentionSettings, TranslateSettings } from './types.ts';

const NOTHING_DERIVED = { uri: undefined, url: undefined, retentionDays: undefined };

/**
 * Returns for how many days log entries are kept, which is the project's setting, limited by the maximums of the installation and of
 * its account's plan.
 */
export const retentionInForce = (
  { retentionDays }: ProjectSpec,
  plan: Plan | undefined,
  { retentionDaysMax, retentionDaysMaxByPlan }: RetentionSettings,
): number => Math.min(retentionDays, retentionDaysMax, (plan && retentionDaysMaxByPlan[plan]) ?? Infinity);

export interface ProjectContext {
  readonly account: Entry | undefined;
  /** Suggests an Account of the namespace, if there is none with this name. Empty if there is none to suggest. */
  readonly suggestion: string;
  /** Whether another Project has this Project's URI, or had it recently. */
  readonly isUriTaken: boolean;
  /** Whether the URI is free, but not recorded for this Project yet. */
  readonly isUnrecorded: boolean;
  /** Whether another Account has reserved the URI. */
  readonly isReserved: boolean;
}

/** Returns the verdict on a Project and its configuration. */
export const evaluateProject = (
  entry: Entry,
  { account, suggestion, isUriTaken, isUnrecorded, isReserved }: ProjectContext,
  settings: TranslateSettings,
): Evaluation => {
  const { ref, uid, generation, parsed, fault } = entry;
  const base = { ref, uid, generation };
  if (parsed?.kind !== 'Project' || fault !== undefined) {
    return {
      verdict: {
        ...base,
        accepted: fault ?? ACCEPTED,
        resolvedRefs: NOT_CHECKED,
        configKey: undefined,
        status: NOTHING_DERIVED,
      },
      config: undefined,
    };
  }
  const { spec } = parsed;
  const uri = projectUri(uid, spec);
  const url = `${settings.gatewayUrl}/${uri}`;
  const plan = account?.evaluation?.verdict.plan;
  const retentionDays = retentionInForce(spec, plan, settings);
  const accepted =
    uriFault(uri, { isReserved, isUriTaken, isUnrecorded }) ??
    acceptedWith(
      spec,
      retentionDays,
      retentionDays === settings.retentionDaysMax ? 'this installation' : `the plan ${plan}`,
    );
  const config: ProjectConfig | undefined =
    accepted.ok && account?.evaluation?.config !== undefined
      ? {
          kind: 'Project',
          uid,
          namespace: ref.namespace,
          name: ref.name,
          accountUid: account.uid,
          uri,
          url,
          retentionDays,
          ...(spec.metrics === 'Enabled' && { metrics: spec.metrics }),
          ...(spec.cors !== undefined && { cors: corsConfig(spec.cors) }),
        }
      : undefined;
  const verdict = {
    ...base,
    accepted,
    resolvedRefs: accountFinding(spec.accountRef.name, account, suggestion),
    configKey: config && configKey(config),
    // Another project's URL is not shown as this project's. While the URI is being recorded, the status keeps the former one, with
    // which the Event about the change is written.
    status: accepted.ok ? { uri, url, retentionDays } : accepted.reason === 'Pending' ? {} : NOTHING_DERIVED,
    allowsSignatures: account?.evaluation?.verdict.allowsSignatures,
  };
  return { verdict, config };
};

const corsConfig = ({
  allowOrigins,
  allowHeaders,
  exposeHeaders = [],
  maxAge,
}: NonNullable<ProjectSpec['cors']>): CorsConfig => ({
  allowOrigins,
  allowHeaders,
  exposeHeaders,
  ...(maxAge !== undefined && { maxAgeS: Math.floor(durationMs(maxAge) / 1_000) }),
});

/** @param where what has this maximum */
const acceptedWith = (spec: ProjectSpec, retentionDays: number, where: string): Finding =>
  spec.retentionDays === retentionDays
    ? ACCEPTED
    : holds(
        'Accepted',
        `The object is valid. Captured requests are kept for ${retentionDays === 1 ? 'one day' : `${retentionDays} days`}, the maximum for ${where}.`,
      );

const uriFault = (
  uri: string,
  { isReserved, isUriTaken, isUnrecorded }: Omit<ProjectContext, 'account' | 'suggestion'>,
): Finding | undefined => {
  if (isReserved) return uriReserved(uri);
  if (isUriTaken) return uriConflict(uri);
  return isUnrecorded ? fails('Pending', `The URI ${uri} is being recorded for this Project.`, 'spec.uri') : undefined;
};

/** Does not name the holder, because it may belong to another team. */
const uriConflict = (uri: string): Finding =>
  fails('Conflicted', `The URI ${uri} is already in use: create a new Project with a different spec.uri.`, 'spec.uri');

/** Names neither the Account nor its prefix, because they may belong to another team. */
const uriReserved = (uri: string): Finding =>
  fails(
    'Conflicted',
    `The URI ${uri} is reserved, because it begins with the spec.uriPrefix of another Account: create a new Project with a different spec.uri.`,
    'spec.uri',
  );

const accountFinding = (name: string, account: Entry | undefined, suggestion: string): Finding => {
  const path = 'spec.accountRef.name';
  if (account?.evaluation === undefined) {
    return fails('AccountNotFound', `There is no Account ${name} in this namespace: ${suggestion}create it.`, path);
  }
  const fault = firstFault(account.evaluation);
  return fault === undefined
    ? holds('ResolvedRefs', 'The Account exists and has an API key.')
    : fails('AccountNotReady', `Account ${name} is not ready (${fault.reason}): ${fault.message}`, path);
};

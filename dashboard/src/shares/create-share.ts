import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { API_GROUP, GROUP_VERSION, LIMITS, type ResourceObject } from '@standin/contract';
import { parseObject, readStatus, type Problem } from '@standin/crds';
import type { RedactionRules } from '@standin/exchange/redact';
import type { Backend } from '../backend.ts';
import { problemText } from '../resources/problem-text.ts';
import { SHARE_PATH } from './serve-shares.ts';
import { capturedParts } from '../captured/captured-bytes.ts';
import type { Workers } from '../workers/workers.ts';
import { createShareToken, shareTokenSha256 } from './share-token.ts';

export interface ShareRequest {
  readonly namespace: string;
  readonly project: string;
  readonly requestId: string;
  /** The lifetime starts now. It is limited to `LIMITS.shareLifetimeMsMax`. */
  readonly lifetimeMs: number;
  /** If undefined, the default rules for this exchange apply. */
  readonly redact?: RedactionRules | undefined;
}

/**
 * `NotInPlan` means that sharing requires the Pro plan. `Refused` contains the operator's message, and `Invalid` contains the API
 * server's messages by field.
 */
export type CreateShareResult =
  | {
      readonly ok: true;
      /** Name of the Share. */
      readonly name: string;
      /** Path of the link. It contains the token, which is not stored and cannot be retrieved again. */
      readonly path: string;
      readonly expiresAt: string;
      /**
       * Whether the operator has accepted the Share. If false, the operator has not processed it yet, and the link shows nothing.
       */
      readonly isAccepted: boolean;
    }
  | {
      readonly ok: false;
      readonly reason: 'NotInPlan' | 'ProjectNotFound' | 'RequestNotFound' | 'Refused';
      readonly message: string;
    }
  | { readonly ok: false; readonly reason: 'Invalid'; readonly message: string; readonly problems: readonly Problem[] };

const SHARING_NEEDS_PRO = 'Sharing needs the Pro plan. Ask an administrator to set spec.plan: Pro in the Account.';

/** Annotation with a one-line description of what a Share shows, redacted by the same rules. Only lists use it. */
export const SHARE_TITLE = `${API_GROUP}/request`;
const TITLE_CHARS_MAX = 200;
/** Maximum time to wait for the operator. A running operator responds within a tenth of this time. */
const VERDICT_MS_MAX = 3_000;
const VERDICT_POLL_MS = 50;
const NAME_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const NAME_LENGTH = 8;

const newName = (): string =>
  `share-${Array.from({ length: NAME_LENGTH }, () => NAME_LETTERS[randomInt(NAME_LETTERS.length)]).join('')}`;

/** Returns whether the plan of the project's account includes sharing, or undefined if the account cannot be read. */
export const isSharingInPlan = async (
  { resources }: Pick<Backend, 'resources'>,
  project: ResourceObject,
): Promise<boolean | undefined> => {
  const parsed = parseObject(project);
  if (!parsed.ok || parsed.value.kind !== 'Project') return undefined;
  const ref = {
    kind: 'Account',
    namespace: project.metadata.namespace,
    name: parsed.value.spec.accountRef.name,
  } as const;
  // For users who may not read Accounts, the operator decides.
  const account = await resources.get(ref).catch(() => undefined);
  const parsedAccount = account && parseObject(account);
  return parsedAccount?.ok === true && parsedAccount.value.kind === 'Account'
    ? parsedAccount.value.spec.plan === 'Pro'
    : undefined;
};

/**
 * Creates a Share of a captured request with the user's permissions, and waits for the operator to accept it. Deletes the Share if
 * the operator rejects it. Rejects with `SourceError` (`Forbidden`, …), `LogStoreError` or `WorkRefused`.
 */
export const createShare = async (
  { backend, workers }: { readonly backend: Backend; readonly workers: Workers },
  wanted: ShareRequest,
): Promise<CreateShareResult> => {
  const { resources, logs } = backend;
  const { namespace, project: projectName, requestId, lifetimeMs } = wanted;
  const project = await resources.get({ kind: 'Project', namespace, name: projectName });
  if (project === undefined)
    return { ok: false, reason: 'ProjectNotFound', message: `Project ${namespace}/${projectName} does not exist.` };
  if ((await isSharingInPlan(backend, project)) === false)
    return { ok: false, reason: 'NotInPlan', message: SHARING_NEEDS_PRO };
  const log = await logs.open(await resources.findIdentity(project));
  const row = await log.row(requestId);
  if (row === undefined)
    return { ok: false, reason: 'RequestNotFound', message: `The project log does not contain request ${requestId}.` };

  const token = createShareToken();
  const lifetime = Math.min(lifetimeMs, LIMITS.shareLifetimeMsMax);
  const expiresAt = new Date(Date.now() + lifetime).toISOString().replace(/\.\d+Z$/, 'Z');
  const name = newName();
  const { rules, exchange } = await workers.run('redactShare', { row, rules: wanted.redact }, capturedParts(row));
  const { headers, query, jsonPaths } = rules;
  const title = `${exchange.method} ${exchange.target.slice(0, TITLE_CHARS_MAX)}`;
  const spec = {
    projectRef: { name: projectName },
    requestId,
    tokenSha256: shareTokenSha256(token),
    expiresAt,
    redact: { headers, query, jsonPaths },
  };
  const applied = await resources.apply(
    {
      apiVersion: GROUP_VERSION,
      kind: 'Share',
      metadata: { name, namespace, annotations: { [SHARE_TITLE]: title } },
      spec,
    },
    'absent',
  );
  if (!applied.ok) {
    const { problems } = applied;
    return { ok: false, reason: 'Invalid', message: problemText(problems), problems };
  }
  const verdict = await awaitVerdict(backend, namespace, name);
  if (verdict?.status === 'False') {
    await resources.delete({ kind: 'Share', namespace, name }, applied.object.metadata.uid);
    return { ok: false, reason: verdict.reason === 'NotInPlan' ? 'NotInPlan' : 'Refused', message: verdict.message };
  }
  return { ok: true, name, path: `${SHARE_PATH}${token}`, expiresAt, isAccepted: verdict !== undefined };
};

interface Verdict {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

const awaitVerdict = async ({ resources }: Backend, namespace: string, name: string): Promise<Verdict | undefined> => {
  const until = performance.now() + VERDICT_MS_MAX;
  while (performance.now() < until) {
    const share = await resources.get({ kind: 'Share', namespace, name });
    const { conditions = [] } = readStatus('Share', share?.status);
    const accepted = conditions.find(({ type }) => type === 'Accepted');
    if (accepted !== undefined && accepted.status !== 'Unknown')
      return { status: accepted.status, reason: accepted.reason, message: accepted.message };
    await delay(VERDICT_POLL_MS);
  }
  return undefined;
};

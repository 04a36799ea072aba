import { randomBytes } from 'node:crypto';
import { GROUP_VERSION, LIMITS, SourceError, type RegenerationPhase, type ResourceObject } from '@standin/contract';
import { progressIn, readStatus, regenerationWindow } from '@standin/crds';
import type { ApplyResult, Backend } from '../backend.ts';
import type { AccountName } from '../resources/names.ts';
import { newestFirst } from '../resources/newest-first.ts';
import { NotFound } from '../resources/not-found.ts';
import { validSpec } from '../resources/specs.ts';

/** How long a regeneration is shown after it was created. */
const SHOWN_MS = 10 * 60_000;
const NAME_BYTES = 4;

/** The progress of an account's newest key regeneration, if it is younger than `SHOWN_MS`, and how many regenerations are left. */
export interface KeyRegenerationView {
  /** Number of regenerations that are allowed now. */
  readonly left: number;
  readonly max: number;
  /**
   * Time when the oldest regeneration of the last hour no longer counts toward the limit, in RFC 3339. Undefined if none counts.
   */
  readonly resetsAt: string | undefined;
  readonly newest:
    | {
        readonly name: string;
        readonly phase: RegenerationPhase;
        /** How many of the gateways have acknowledged the new key, such as `2/3`. */
        readonly acknowledged: string | undefined;
        readonly message: string;
      }
    | undefined;
}

const isInAccount = (object: ResourceObject, account: string): boolean =>
  validSpec('KeyRegeneration', object)?.accountRef.name === account;

/** Returns the regenerations of an account's key, newest first. */
export const listRegenerations = async (
  { resources }: Backend,
  { namespace, account }: AccountName,
): Promise<readonly ResourceObject[]> =>
  newestFirst((await resources.list('KeyRegeneration', namespace)).filter((object) => isInAccount(object, account)));

/** Returns a key regeneration. Rejects with `NotFound` or `SourceError`. */
export const getRegeneration = async (
  { resources }: Backend,
  { namespace, account, regeneration }: AccountName & { readonly regeneration: string },
): Promise<ResourceObject> => {
  const object = await resources.get({ kind: 'KeyRegeneration', namespace, name: regeneration });
  if (object !== undefined && isInAccount(object, account)) return object;
  throw new NotFound('regeneration', `regeneration ${regeneration}`);
};

/** Requests a new key with the user's permissions. The operator replaces the key. */
export const regenerateKey = (
  { resources }: Backend,
  { namespace, account }: AccountName,
  name = `regenerate-${randomBytes(NAME_BYTES).toString('hex')}`,
): Promise<ApplyResult> =>
  resources.apply(
    {
      apiVersion: GROUP_VERSION,
      kind: 'KeyRegeneration',
      metadata: { namespace, name },
      spec: { accountRef: { name: account } },
    },
    'absent',
  );

const unlessForbidden = (error: unknown): undefined => {
  if (!(error instanceof SourceError && error.kind === 'Forbidden')) throw error;
};

/**
 * Returns the state of an account's key regenerations. A user who may create one is not necessarily allowed to list them. If
 * listing is forbidden, returns what the Account's status contains.
 */
export const readRegenerations = async (backend: Backend, account: ResourceObject): Promise<KeyRegenerationView> => {
  const now = Date.now();
  const { left, resetsAt, current } = regenerationWindow(account, now);
  const { namespace, name } = account.metadata;
  const all = await listRegenerations(backend, { namespace, account: name }).catch(unlessForbidden);
  if (all === undefined) {
    const message = 'To see the progress, you need permission to list mockkeyregenerations.';
    const newest = current && { name: current.name, phase: 'Running' as const, acknowledged: undefined, message };
    return { left, max: LIMITS.keyRegenerationsMax, resetsAt, newest };
  }
  const newest = all.find(({ metadata }) => now - Date.parse(metadata.creationTimestamp) < SHOWN_MS);
  const status = readStatus('KeyRegeneration', newest?.status);
  return {
    left,
    max: LIMITS.keyRegenerationsMax,
    resetsAt,
    newest:
      newest === undefined
        ? undefined
        : {
            name: newest.metadata.name,
            phase: status.phase ?? 'Pending',
            acknowledged: status.acknowledged,
            message: progressIn(status.conditions)?.message ?? 'Waiting for the operator.',
          },
  };
};

import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyRegenerationStatus } from '@standin/crds';
import { PlainError } from '../plain-error.ts';
import { ServerError } from '../server/api-client.ts';
import type { AccountChoice, AccountRef } from '../server/choose-account.ts';
import { isConfirmed, stderr, stdout } from '../terminal.ts';
import type { KeyClient } from './key-client.ts';

export interface RegenerateOptions extends AccountChoice {
  readonly yes: boolean;
  /** How long to wait until no gateway accepts the old key. */
  readonly timeoutMs: number;
  readonly output: 'text' | 'json';
}

/** Exit codes of `standin key regenerate` besides 0 and 1; docs/accounts.md lists them. */
const EXIT = { limitReached: 3, managedElsewhere: 4, timeout: 5 } as const;

const POLL_MS = 100;

/**
 * Replaces an account's key, waits until no gateway accepts the old one, and prints the new one on stdout. Rejects with a
 * `PlainError` whose exit code identifies the failure.
 */
export const regenerateKey = async (client: KeyClient, options: RegenerateOptions): Promise<void> => {
  const ref = await client.choose(options);
  const title = `${ref.namespace}/${ref.name}`;
  const account = await client.account(ref);
  const left =
    account === undefined ? '' : ` (${account.regenerations.left} of ${account.regenerations.max} left this hour)`;
  const question = `All callers of account ${title} get 401 until they send the new key. Regenerate it${left}?`;
  if (
    !options.yes &&
    !(await isConfirmed(question, 'cannot ask for confirmation without a terminal: add --yes to regenerate the key'))
  )
    throw new PlainError('nothing was changed');

  const name = `regenerate-${randomBytes(4).toString('hex')}`;
  const deadline = performance.now() + options.timeoutMs;
  await persistently(deadline, () => client.create(ref, name));
  stderr.line(`KeyRegeneration ${ref.namespace}/${name} of account ${title}`);
  const status = await follow(client, { ref, name, deadline });
  const outcome = outcomeOf(status);
  if (outcome.kind === 'refused') throw new PlainError(outcome.message, { exitCode: outcome.exitCode });
  if (outcome.kind === 'under-way') throw new PlainError(timedOut(name, options, status), { exitCode: EXIT.timeout });
  stderr.line(outcome.message);
  const apiKey = await client.apiKey(ref).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PlainError(`the key was regenerated, but cannot be shown: ${reason}`, { cause: error });
  });
  const { acknowledged, completedAt } = status;
  const made = { namespace: ref.namespace, account: ref.name, regeneration: name, acknowledged, completedAt, apiKey };
  if (options.output === 'json') stdout.json(made);
  else stdout.line(apiKey);
};

const timedOut = (name: string, { timeoutMs }: RegenerateOptions, status: KeyRegenerationStatus): string =>
  `the key was not regenerated within ${timeoutMs / 1_000} s (${formatProgress(status)}). The old key may still be accepted; ${name} continues`;

interface Followed {
  readonly ref: AccountRef;
  readonly name: string;
  /** In `performance.now()` time. */
  readonly deadline: number;
}

/** Prints each change in progress until the regeneration has ended or the timeout is reached. */
const follow = async (client: KeyClient, { ref, name, deadline }: Followed): Promise<KeyRegenerationStatus> => {
  for (let said = ''; ;) {
    const status = await persistently(deadline, () => client.status(ref, name));
    if (outcomeOf(status).kind !== 'under-way' || performance.now() >= deadline) return status;
    const progress = formatProgress(status);
    if (progress !== said) stderr.line(progress);
    said = progress;
    await delay(POLL_MS);
  }
};

/** Retries after transient failures, such as a dashboard restart, until the deadline. */
const persistently = async <T>(deadline: number, work: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ServerError && error.isPassing)) throw error;
      if (performance.now() < deadline) await delay(POLL_MS);
      else throw new PlainError(error.message, { cause: error, exitCode: EXIT.timeout });
    }
  }
};

/** Returns the state of a regeneration, for a command that waits for it. */
type RegenerationOutcome =
  | { readonly kind: 'under-way' }
  | { readonly kind: 'completed'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string; readonly exitCode: number };

const conditionIn = ({ conditions = [] }: KeyRegenerationStatus, type: 'Accepted' | 'Complete') =>
  conditions.find((condition) => condition.type === type);

export const outcomeOf = (status: KeyRegenerationStatus): RegenerationOutcome => {
  const message = conditionIn(status, 'Complete')?.message ?? '';
  if (status.phase === 'Completed') return { kind: 'completed', message };
  if (status.phase !== 'Refused') return { kind: 'under-way' };
  const reason = conditionIn(status, 'Accepted')?.reason;
  const exitCode =
    reason === 'LimitReached' ? EXIT.limitReached : reason === 'ManagedElsewhere' ? EXIT.managedElsewhere : 1;
  return { kind: 'refused', message, exitCode };
};

/** Returns text such as `1 of 3 gateways have the new key; waiting for gateway-1, gateway-2`. */
export const formatProgress = (status: KeyRegenerationStatus): string => {
  const { acknowledged, waitingFor = [], phase } = status;
  const [have, known] = acknowledged?.split('/') ?? [];
  const waits = waitingFor.length > 0 ? `; waiting for ${waitingFor.join(', ')}` : '';
  if (have !== undefined && known !== undefined) return `${have} of ${known} gateways have the new key${waits}`;
  return conditionIn(status, 'Complete')?.message ?? `${phase ?? 'Pending'}: the operator has not processed it yet`;
};

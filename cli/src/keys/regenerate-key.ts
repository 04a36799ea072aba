import { randomBytes } from 'node:crypto';
import { errorMessage, listText } from '@standin/contract';
import { progressIn, type KeyRegenerationStatus } from '@standin/crds';
import { PlainError } from '../plain-error.ts';
import type { AccountChoice } from '../server/choose-account.ts';
import { createOperation, EXIT_TIMEOUT, followOperation } from '../server/follow-operation.ts';
import { isConfirmed, stderr, stdout } from '../terminal.ts';
import type { KeyClient } from './key-client.ts';

export interface RegenerateOptions extends AccountChoice {
  readonly yes: boolean;
  /** How long to wait until no gateway accepts the old key. */
  readonly timeoutMs: number;
  readonly output: 'text' | 'json';
}

/** Exit codes of `standin key regenerate` besides 0 and 1; docs/guides/accounts.md lists them. */
const EXIT = { limitReached: 3, managedElsewhere: 4, timeout: EXIT_TIMEOUT } as const;

/**
 * Replaces an account's key, waits until no gateway accepts the old one, and prints the new one on stdout. Rejects with a
 * `PlainError` whose exit code identifies the failure.
 */
export const regenerateKey = async (client: KeyClient, options: RegenerateOptions): Promise<void> => {
  const ref = await client.choose(options);
  const title = `${ref.namespace}/${ref.name}`;
  const account = await client.account(ref);
  const left =
    account === undefined
      ? ''
      : ` (${account.regenerations.left} of ${account.regenerations.max} regenerations left within 60 minutes)`;
  const question = `All callers of account ${title} get 401 until they send the new key. Regenerate the key${left}?`;
  if (
    !options.yes &&
    !(await isConfirmed(question, 'cannot ask for confirmation without a terminal: add --yes to regenerate the key'))
  )
    throw new PlainError('the key was not changed');

  const name = `regenerate-${randomBytes(4).toString('hex')}`;
  const deadline = performance.now() + options.timeoutMs;
  const regeneration = `KeyRegeneration ${ref.namespace}/${name}`;
  await createOperation(deadline, regeneration, () => client.create(ref, name));
  stderr.line(`${regeneration} of account ${title}`);
  const status = await followOperation(deadline, {
    title: regeneration,
    read: () => client.status(ref, name),
    hasEnded: (now) => regenerationOutcome(now).kind !== 'under-way',
    format: formatRegenerationProgress,
  });
  const outcome = regenerationOutcome(status);
  if (outcome.kind === 'refused') throw new PlainError(outcome.message, { exitCode: outcome.exitCode });
  if (outcome.kind === 'under-way') throw new PlainError(timedOut(name, options, status), { exitCode: EXIT.timeout });
  stderr.line(outcome.message);
  const apiKey = await client.apiKey(ref).catch((error: unknown) => {
    const reason = errorMessage(error);
    throw new PlainError(`the key was regenerated, but cannot be shown: ${reason}`, { cause: error });
  });
  const { acknowledged, completedAt } = status;
  const made = { namespace: ref.namespace, account: ref.name, regeneration: name, acknowledged, completedAt, apiKey };
  if (options.output === 'json') stdout.json(made);
  else stdout.line(apiKey);
};

const timedOut = (name: string, { timeoutMs }: RegenerateOptions, status: KeyRegenerationStatus): string =>
  `the key was not regenerated within ${timeoutMs / 1_000} s (${formatRegenerationProgress(status)}). The old key may still be accepted. KeyRegeneration ${name} continues`;

/** The state of a regeneration, for a command that waits for it. */
type RegenerationOutcome =
  | { readonly kind: 'under-way' }
  | { readonly kind: 'completed'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string; readonly exitCode: number };

export const regenerationOutcome = (status: KeyRegenerationStatus): RegenerationOutcome => {
  const message = progressIn(status.conditions)?.message ?? '';
  if (status.phase === 'Completed') return { kind: 'completed', message };
  if (status.phase !== 'Refused') return { kind: 'under-way' };
  const reason = status.conditions?.find(({ type }) => type === 'Accepted')?.reason;
  const exitCode =
    reason === 'LimitReached' ? EXIT.limitReached : reason === 'ManagedElsewhere' ? EXIT.managedElsewhere : 1;
  return { kind: 'refused', message, exitCode };
};

/** Returns text such as `1 of 3 gateways have the new key; waiting for gateway-1 and gateway-2`. */
export const formatRegenerationProgress = (status: KeyRegenerationStatus): string => {
  const { acknowledged, waitingFor = [], phase } = status;
  const [have, known] = acknowledged?.split('/') ?? [];
  const waits = waitingFor.length > 0 ? `; waiting for ${listText(waitingFor)}` : '';
  if (have !== undefined && known !== undefined) return `${have} of ${known} gateways have the new key${waits}`;
  return progressIn(status.conditions)?.message ?? `${phase ?? 'Pending'}: the operator has not processed it yet`;
};

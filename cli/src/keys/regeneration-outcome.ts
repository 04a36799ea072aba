import type { KeyRegenerationStatus } from '@standin/crds';

/** Exit codes of `standin key regenerate` besides 0 and 1; docs/accounts.md lists them. */
export const EXIT = { limitReached: 3, managedElsewhere: 4, timeout: 5 } as const;

/** The state of a regeneration, for a command that waits for it. */
export type RegenerationOutcome =
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

/** `1 of 3 gateways have the new key; waiting for gateway-1, gateway-2` */
export const formatProgress = (status: KeyRegenerationStatus): string => {
  const { acknowledged, waitingFor = [], phase } = status;
  const [have, known] = acknowledged?.split('/') ?? [];
  const waits = waitingFor.length > 0 ? `; waiting for ${waitingFor.join(', ')}` : '';
  if (have !== undefined && known !== undefined) return `${have} of ${known} gateways have the new key${waits}`;
  return conditionIn(status, 'Complete')?.message ?? `${phase ?? 'Pending'}: the operator has not looked at it yet`;
};

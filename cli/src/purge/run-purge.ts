import { randomBytes } from 'node:crypto';
import { phraseListText } from '@standin/contract';
import { progressIn, type PurgeStatus } from '@standin/crds';
import { PlainError } from '../plain-error.ts';
import { ServerError } from '../server/api-client.ts';
import { createOperation, EXIT_TIMEOUT, followOperation } from '../server/follow-operation.ts';
import type { ProjectChoice } from '../server/projects.ts';
import { isConfirmed, stderr, stdout } from '../terminal.ts';
import type { PurgeClient, PurgeRequest } from './purge-client.ts';

export interface PurgeOptions extends ProjectChoice {
  readonly yes: boolean;
  /** How long to wait until the requests are deleted. */
  readonly timeoutMs: number;
  readonly output: 'text' | 'json';
}

/**
 * Deletes the matching requests after a confirmation, and waits until the log has none of them left. On failure, rejects with a
 * `PlainError`, whose exit code is `EXIT_TIMEOUT` if the purge did not end in time.
 */
export const runPurge = async (client: PurgeClient, request: PurgeRequest, options: PurgeOptions): Promise<void> => {
  const { yes, timeoutMs, output } = options;
  const project = await client.choose(options);
  stderr.line(await matching(client, project, { request, choice: options }));
  const question = 'Permanently delete the matching requests? Backups and exports are not affected.';
  if (
    !yes &&
    !(await isConfirmed(question, 'cannot ask for confirmation without a terminal: add --yes to delete the requests'))
  )
    throw new PlainError('nothing was deleted');

  const name = `purge-${randomBytes(4).toString('hex')}`;
  const deadline = performance.now() + timeoutMs;
  await createOperation(deadline, `Purge ${name}`, () => client.create(project, name, request));
  stderr.line(`Purge ${name}`);
  const status = await followOperation(deadline, {
    title: `Purge ${name}`,
    read: () => client.status(project, name),
    hasEnded: ({ phase }) => phase === 'Completed' || phase === 'Refused',
    format: formatPurgeProgress,
  });
  const { phase, matched, before, completedAt } = status;
  if (phase === 'Refused') throw new PlainError(formatPurgeProgress(status));
  if (phase !== 'Completed') {
    const message = `the purge did not complete within ${timeoutMs / 1_000} s (${formatPurgeProgress(status)}). Purge ${name} continues`;
    throw new PlainError(message, { exitCode: EXIT_TIMEOUT });
  }
  if (output === 'json') stdout.json({ purge: name, matched, before, completedAt });
  else stdout.line(formatPurgeProgress(status));
};

interface Counted {
  readonly request: PurgeRequest;
  readonly choice: ProjectChoice;
}

/** Returns text about how many requests match now. Users who may delete requests are not necessarily allowed to read them. */
const matching = async (client: PurgeClient, project: string, { request, choice }: Counted): Promise<string> => {
  try {
    const count = await client.count(project, choice, request);
    return count === 1 ? '1 request matches now.' : `${count} requests match now.`;
  } catch (error) {
    const isCountUnknown =
      error instanceof ServerError && ['forbidden', 'search_too_slow', 'log_unavailable'].includes(error.code);
    if (!isCountUnknown) throw error;
    return `The number of matching requests is unknown: ${error.message}`;
  }
};

/** Describes what a purge does, or what it waits for. */
export const formatPurgeProgress = ({ phase = 'Pending', waitingFor = [], conditions }: PurgeStatus): string =>
  phase === 'Waiting' && waitingFor.length > 0
    ? `Waiting for ${phraseListText(waitingFor)}`
    : (progressIn(conditions)?.message ?? `${phase}: the operator has not processed it yet`);

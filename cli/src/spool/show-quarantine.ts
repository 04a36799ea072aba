import { stat } from 'node:fs/promises';
import process from 'node:process';
import { readQuarantine, type Quarantined } from '@standin/gateway';
import { toLogEntry } from '@standin/exchange';
import { PlainError, refusal } from '../plain-error.ts';
import { stdout } from '../terminal.ts';

/**
 * `standin quarantine`. Sets the exit code to 1 if the quarantine is not empty. Rejects with a `PlainError` if the folder cannot be
 * read.
 */
export const showQuarantine = async (dir: string, output: 'text' | 'json'): Promise<void> => {
  await stat(dir).catch((error: unknown) => {
    throw new PlainError(`${dir} ${refusal(error)}`, { cause: error });
  });
  const all = await readQuarantine(dir);
  for (const one of all) {
    if (output === 'json') stdout.json(entryOf(one));
    else for (const line of linesOf(one)) stdout.line(line);
  }
  if (output === 'text' && all.length === 0) stdout.line('Nothing is in quarantine.');
  if (all.length > 0) process.exitCode = 1;
};

const entryOf = ({ row, ...about }: Quarantined) => ({ ...about, ...(row !== undefined && { row: toLogEntry(row) }) });

const linesOf = ({ at, kind, reason, bytes, file, row }: Quarantined): readonly string[] => {
  const what =
    row === undefined
      ? `${kind} of ${bytes} bytes`
      : `${row.namespace}/${row.endpoint} ${row.method} ${row.path} ${row.id}`;
  return [`${at}  ${what}`, `  ${reason}`, `  ${file}`];
};

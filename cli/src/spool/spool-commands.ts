import { stat } from 'node:fs/promises';
import process from 'node:process';
import { toLogEntry } from '@standin/exchange';
import type { Quarantined } from '@standin/gateway';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { addClickHouseOptions, clickHouseSchema } from '../clickhouse-options.ts';
import { withExamples } from '../examples.ts';
import { fileErrorText, PlainError } from '../plain-error.ts';
import { stdout } from '../terminal.ts';
import { wholeNumber } from '../whole-number.ts';

const DIR = '<DIR>';
const DIR_TEXT = 'a gateway’s spool: the spool folder in its data folder (.standin/gateway/spool for standin dev)';

const drainSchema = clickHouseSchema.extend({
  quietSeconds: z.number(),
  expectEmpty: z.boolean(),
  migrate: z.boolean(),
  operatorUrls: z.string().optional(),
  operatorTls: z.string(),
});

const quarantineSchema = z.object({ output: z.enum(['text', 'json']) });

const secondsArgument = wholeNumber(
  0,
  Number.MAX_SAFE_INTEGER / 1_000,
  'must be a whole number of seconds, 0 or more.',
);

/** Adds the commands for the folder where a gateway keeps rows until ClickHouse has them. */
export const addSpoolCommands = (admin: Command): void => {
  const drain = admin
    .command('drain')
    .description('deliver the unsent rows on the volume of a gateway that is no longer running, then exit')
    .argument(DIR, DIR_TEXT);
  withExamples(drain, [
    'Deliver what is left on the volume of a gateway that was removed',
    'admin drain /var/lib/standin-gateway/spool --clickhouse-url http://clickhouse:8123',
  ]);
  addClickHouseOptions(drain)
    .option(
      '--quiet-seconds <n>',
      'remove the last file of a gateway process that has ended only if it has not changed for this long',
      secondsArgument,
      600,
    )
    .option('--no-migrate', 'do not migrate the log tables; for ClickHouse users that can only insert rows')
    .option('--expect-empty', 'exit 1 if anything is left or the operator was not notified', false)
    .addOption(
      new Option(
        '--operator-urls <urls>',
        'comma-separated config stream URLs; notifies the operator, which makes the gateway’s unused quota available again',
      ).env('STANDIN_OPERATOR_URLS'),
    )
    .addOption(
      new Option('--operator-tls <dir>', 'folder with a gateway’s ca.crt, tls.crt and tls.key, for --operator-urls')
        .env('STANDIN_OPERATOR_TLS_DIR')
        .default('/etc/standin/stream-tls'),
    )
    .action(async (dir: string, raw: unknown) => (await import('./drain.ts')).drain(dir, drainSchema.parse(raw)));
  const quarantine = admin
    .command('quarantine')
    .description('show rows and files that cannot be delivered; exit 1 if there are any')
    .argument(DIR, DIR_TEXT)
    .addOption(
      new Option('-o, --output <format>', 'output format; json prints one full entry per line')
        .choices(['text', 'json'])
        .default('text'),
    );
  withExamples(quarantine, [
    'Show what standin dev could not deliver',
    'admin quarantine .standin/gateway/spool',
  ]).action((dir: string, raw: unknown) => showQuarantine(dir, quarantineSchema.parse(raw).output));
};

/**
 * Runs `standin admin quarantine`. Sets the exit code to 1 if the quarantine is not empty. Rejects with a `PlainError` if the folder
 * cannot be read.
 */
const showQuarantine = async (dir: string, output: 'text' | 'json'): Promise<void> => {
  await stat(dir).catch((error: unknown) => {
    throw new PlainError(`${dir} ${fileErrorText(error)}`, { cause: error });
  });
  // Loaded on demand, because a static import would slow down every command.
  const { readQuarantine } = await import('@standin/gateway');
  const all = await readQuarantine(dir).catch((error: unknown) => {
    throw new PlainError(`the quarantine of ${dir} ${fileErrorText(error)}`, { cause: error });
  });
  for (const one of all) {
    if (output === 'json') stdout.json(quarantinedJson(one));
    else for (const line of quarantinedLines(one)) stdout.line(line);
  }
  if (output === 'text' && all.length === 0) stdout.line('The quarantine is empty.');
  if (all.length > 0) process.exitCode = 1;
};

const quarantinedJson = ({ row, ...about }: Quarantined) => ({
  ...about,
  ...(row !== undefined && { row: toLogEntry(row) }),
});

const quarantinedLines = ({ at, kind, reason, bytes, file, row, problem }: Quarantined): readonly string[] => {
  const what =
    row === undefined
      ? `${kind}${bytes === undefined ? '' : ` of ${bytes} bytes`}`
      : `${row.namespace}/${row.endpoint} ${row.method} ${row.path} ${row.id}`;
  return [`${at}  ${what}`, `  ${reason}`, ...(problem === undefined ? [] : [`  ${problem}`]), `  ${file}`];
};

import process from 'node:process';
import { METHODS } from '@standin/contract';
import {
  LIST_LIMIT_MAX,
  tailLog,
  tailSummaries,
  type LogEntry,
  type LogFilter,
  type LogStore,
  type LogSummary,
} from '@standin/logstore';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { awaitStop } from '../shutdown.ts';
import { formatSummaryLine } from './format-entry.ts';
import { openLogSource } from './log-source.ts';
import { parseSince } from './parse-since.ts';
import { parseStatus } from './parse-status.ts';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = LIST_LIMIT_MAX;

const optionsSchema = z.object({
  namespace: z.string().optional(),
  project: z.string().optional(),
  endpoint: z.string().optional(),
  method: z.enum(METHODS).optional(),
  status: z.union([z.number(), z.object({ min: z.number(), max: z.number() })]).optional(),
  since: z.date().optional(),
  limit: z.number().default(LIMIT_DEFAULT),
  output: z.enum(['text', 'json']),
  data: z.string(),
  clickhouseUrl: z.string().optional(),
  clickhouseUser: z.string(),
  clickhousePassword: z.string(),
  database: z.string(),
});
type Options = z.infer<typeof optionsSchema> & { readonly colour: boolean };

const choice =
  <T extends string>(values: readonly T[], normalise: (text: string) => string = (text) => text) =>
  (text: string): T => {
    const found = values.find((value) => value === normalise(text));
    if (found === undefined) throw new InvalidArgumentError(`must be one of ${values.join(', ')}.`);
    return found;
  };

const limitArgument = (text: string): number => {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new InvalidArgumentError(`must be a number from 1 to ${LIMIT_MAX}.`);
  }
  return limit;
};

export const addLogCommands = (program: Command, colour: boolean): void => {
  withFilter(program.command('logs').description('list captured requests, the newest last'))
    .option('--limit <n>', 'at most so many, the newest ones', limitArgument, LIMIT_DEFAULT)
    .option('-f, --follow', 'go on with new ones, like standin tail')
    .action(async (options: unknown) => {
      const goOn = z.object({ follow: z.boolean().default(false) }).parse(options).follow;
      await run({ ...optionsSchema.parse(options), colour }, async (reading, { limit }) => {
        const newest = await reading.store.summaries({ ...reading.filter, order: 'newest-first', limit });
        await list(reading, newest.toReversed());
        const [last] = newest;
        if (goOn) await follow(reading, last === undefined ? new Date() : justAfter(last));
      });
    });
  withFilter(program.command('tail').description('show requests as they are captured')).action(
    async (options: unknown) => {
      await run({ ...optionsSchema.parse(options), colour }, (reading) =>
        follow(reading, reading.filter.since ?? new Date()),
      );
    },
  );
};

/** Times of entries have microseconds, a Date has milliseconds: the next one begins after the entry that was listed. */
const justAfter = ({ receivedAt }: LogSummary): Date => new Date(Math.floor(new Date(receivedAt).getTime()) + 1);

const withFilter = (command: Command): Command =>
  command
    .option('-n, --namespace <name>', 'only of this namespace')
    .option('-p, --project <name>', 'only of this project')
    .option('-e, --endpoint <name>', 'only of this endpoint')
    .option(
      '-m, --method <method>',
      'only this method',
      choice(METHODS, (text) => text.toUpperCase()),
    )
    .option('-s, --status <status>', 'only this status: 404, 5xx, 200-299', parseStatus)
    .option('--since <time>', 'not older than this: 10m, 2h, 1d, or an RFC 3339 time', parseSince)
    .option('-o, --output <format>', 'text, or json: one whole entry a line', choice(['text', 'json'] as const), 'text')
    .option('--data <dir>', 'data folder of standin dev', '.standin')
    .option('--clickhouse-url <url>', 'read from a ClickHouse server')
    .option('--clickhouse-user <name>', 'its user', 'default')
    .addOption(
      new Option(
        '--clickhouse-password <password>',
        'its password; a command line is not secret, the variable is better',
      )
        .env('STANDIN_CLICKHOUSE_PASSWORD')
        .default('', 'none'),
    )
    .option('--database <name>', 'its database', 'standin');

interface Reading {
  readonly store: LogStore;
  readonly filter: Omit<LogFilter, 'limit'>;
  readonly output: Options['output'];
  readonly colour: boolean;
  readonly signal: AbortSignal;
}

const run = async (options: Options, read: (reading: Reading, options: Options) => Promise<void>): Promise<void> => {
  const { namespace, project, endpoint, method, status, since, output, colour } = options;
  const filter = { namespace, project, endpoint, method, status, since };
  const stop = awaitStop();
  // `standin logs | head`: the reader has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const source = await openLogSource(options);
  try {
    await read({ store: source.store, filter, output, colour, signal: stop.signal }, options);
  } finally {
    await source.close();
    stop.done();
  }
};

const list = async ({ store, output, colour }: Reading, summaries: readonly LogSummary[]): Promise<void> => {
  if (output === 'text') for (const summary of summaries) printLine(summary, colour);
  else for await (const entry of store.entries(summaries)) printJson(entry);
};

const follow = async ({ store, filter, output, colour, signal }: Reading, since: Date): Promise<void> => {
  const from = { ...filter, since };
  if (output === 'text') for await (const summary of tailSummaries(store, from, signal)) printLine(summary, colour);
  else for await (const entry of tailLog(store, from, signal)) printJson(entry);
};

const printLine = (summary: LogSummary, colour: boolean): void => {
  process.stdout.write(`${formatSummaryLine(summary, { colour })}\n`);
};

const printJson = (entry: LogEntry): void => void process.stdout.write(`${JSON.stringify(entry)}\n`);

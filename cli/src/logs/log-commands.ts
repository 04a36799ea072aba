import process from 'node:process';
import { METHODS } from '@standin/contract';
import { LIST_LIMIT_MAX, tailSummaries, type LogFilter, type LogStore, type LogSummary } from '@standin/logstore';
import { InvalidArgumentError, type Command } from 'commander';
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
  database: z.string(),
});
type Options = z.infer<typeof optionsSchema>;

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

export const addLogCommands = (program: Command): void => {
  withFilter(program.command('logs').description('list captured requests, the newest last'))
    .option('--limit <n>', 'at most so many, the newest ones', limitArgument, LIMIT_DEFAULT)
    .option('-f, --follow', 'go on with new ones, like standin tail')
    .action(async (options: unknown) => {
      const follow = z.object({ follow: z.boolean().default(false) }).parse(options).follow;
      await run(optionsSchema.parse(options), async ({ store, filter, print, signal }, { limit }) => {
        const newest = await store.summaries({ ...filter, order: 'newest-first', limit });
        await print(newest.toReversed());
        const last = newest[0];
        if (follow)
          await followFrom(
            { store, filter, print, signal },
            last === undefined ? new Date() : new Date(last.receivedAt),
          );
      });
    });
  withFilter(program.command('tail').description('show requests as they are captured')).action(
    async (options: unknown) => {
      await run(optionsSchema.parse(options), (reading) => followFrom(reading, reading.filter.since ?? new Date()));
    },
  );
};

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
    .option('--clickhouse-url <url>', 'read from a ClickHouse server (password: STANDIN_CLICKHOUSE_PASSWORD)')
    .option('--clickhouse-user <name>', 'its user', 'default')
    .option('--database <name>', 'its database', 'standin');

interface Reading {
  readonly store: LogStore;
  readonly filter: Omit<LogFilter, 'limit'>;
  readonly print: (summaries: readonly LogSummary[]) => Promise<void>;
  readonly signal: AbortSignal;
}

const run = async (options: Options, read: (reading: Reading, options: Options) => Promise<void>): Promise<void> => {
  const { namespace, project, endpoint, method, status, since } = options;
  const filter = { namespace, project, endpoint, method, status, since };
  const stop = awaitStop();
  // `standin logs | head`: the reader has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const source = await openLogSource(options);
  const { store } = source;
  const print = async (summaries: readonly LogSummary[]): Promise<void> => {
    if (options.output === 'json') {
      for await (const entry of store.entries(summaries)) process.stdout.write(`${JSON.stringify(entry)}\n`);
    } else {
      const colour = process.stdout.isTTY;
      for (const summary of summaries) process.stdout.write(`${formatSummaryLine(summary, { colour })}\n`);
    }
  };
  try {
    await read({ store, filter, print, signal: stop.signal }, options);
  } finally {
    await source.close();
    stop.done();
  }
};

const followFrom = async ({ store, filter, print, signal }: Reading, since: Date): Promise<void> => {
  for await (const summary of tailSummaries(store, { ...filter, since }, signal)) await print([summary]);
};

import { listText, REQUEST_METHODS } from '@standin/contract';
import { LIST_LIMIT_MAX } from '@standin/logstore';
import type { Filter } from '@standin/exchange/search';
import { InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import { addLogServerOptions, logServerOptions } from '../clickhouse-options.ts';
import { withExamples } from '../examples.ts';
import { serverOptions, withServer } from '../server/server-options.ts';
import { LOG_OUTPUTS } from './log-choice.ts';
import { wholeNumber } from '../whole-number.ts';
import { parseSearch, parseSince, parseStatus } from './parse-arguments.ts';
import type { ReadLogOptions } from './read-log.ts';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = LIST_LIMIT_MAX;

/** The parsed options from `withRequestChoice`, and those of the log. */
export const requestChoiceSchema = z.object({
  namespace: z.string().optional(),
  project: z.string().optional(),
  endpoint: z.string().optional(),
  method: z.enum(REQUEST_METHODS).optional(),
  status: z.union([z.number(), z.object({ min: z.number(), max: z.number() })]).optional(),
  filter: z.custom<Filter>().optional(),
  since: z.number().optional(),
  data: z.string(),
  ...logServerOptions,
  ...serverOptions,
});

const optionsSchema = requestChoiceSchema.extend({
  limit: z.number().default(LIMIT_DEFAULT),
  follow: z.boolean().default(false),
  output: z.enum(LOG_OUTPUTS),
});

const choice =
  <T extends string>(values: readonly T[], normalise: (text: string) => string = (text) => text) =>
  (text: string): T => {
    const found = values.find((value) => value === normalise(text));
    if (found === undefined) throw new InvalidArgumentError(`must be ${listText(values, 'or')}.`);
    return found;
  };

const limitArgument = wholeNumber(1, LIMIT_MAX);

export const addLogCommands = (program: Command, colour: boolean): void => {
  // Loaded on demand, because `standin --help` and `standin validate` do not need a ClickHouse client.
  const reader = () => import('./read-log.ts');
  const parse = (raw: unknown): ReadLogOptions => {
    const { since: sinceUs, ...options } = optionsSchema.parse(raw);
    return { ...options, sinceUs, colour };
  };
  const logs = program.command('logs');
  withExamples(
    logs,
    ['The newest requests to the project shop', 'logs -p shop'],
    ['Failed requests of the last hour to one endpoint', 'logs -e create-order --since 1h --status 5xx'],
    ['Whole exchanges that match a search, as JSON', `logs --filter 'method:POST body:"order-1001"' -o json`],
  );
  withFilter(logs.description('list captured requests, newest last'))
    .option('--limit <n>', 'maximum number of requests; shows the newest ones', limitArgument, LIMIT_DEFAULT)
    .option('-f, --follow', 'then show new requests as they are captured, like standin tail')
    .action(async (raw: unknown) => (await reader()).listLog(parse(raw)));
  const tail = program.command('tail').description('show requests as they are captured');
  withExamples(
    tail,
    ['Requests that fail, as they happen', 'tail --status 5xx'],
    ['New requests in a cluster', 'tail -n team-a -p shop --server https://standin.example.com'],
  );
  withFilter(tail).action(async (raw: unknown) => (await reader()).tailNewest(parse(raw)));
};

/** The heading, in a command's help, of the options that select requests. */
export const FILTER_OPTIONS = 'Filter options:';

const withFilter = (command: Command): Command => {
  withRequestChoice(command).option(
    '-o, --output <format>',
    'output format: text, json (one full entry per line) or curl (commands that repeat the requests)',
    choice(LOG_OUTPUTS),
    'text',
  );
  return withServer(addLogServerOptions(command, 'read from a ClickHouse server'));
};

/** Adds the options that select captured requests. */
export const withRequestChoice = (command: Command): Command =>
  command
    .optionsGroup(FILTER_OPTIONS)
    .option('-n, --namespace <name>', 'only requests in this namespace')
    .option('-p, --project <name>', 'only requests to this project')
    .option('-e, --endpoint <name>', 'only requests to this endpoint')
    .option(
      '-m, --method <method>',
      'only this method',
      choice(REQUEST_METHODS, (text) => text.toUpperCase()),
    )
    .option('-s, --status <status>', 'only this status: 404, 5xx, 200-299', parseStatus)
    .option(
      '--filter <search>',
      "only requests that match a search, such as 'status:>=500 path:/hooks/*' (docs/reference/search.md)",
      parseSearch,
    )
    .option('--since <time>', 'only requests since this time: 10m, 2h, 1d, or an RFC 3339 time', parseSince)
    .optionsGroup('Options:');

import process from 'node:process';
import { formatShortTime, LIMITS, REQUEST_METHODS } from '@standin/contract';
import type { ReplaySpec } from '@standin/crds';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { EXAMPLE_ID, withExamples } from '../examples.ts';
import { parseSearch, parseSince } from '../logs/parse-arguments.ts';
import { PlainError } from '../plain-error.ts';
import { serverOptions, withServer } from '../server/server-options.ts';
import { wholeNumber } from '../whole-number.ts';
import type { ReplayClient } from './replay-client.ts';
import { addHeader, readEdit, parseTarget, RATE_MAX, type Header } from './replay-spec.ts';

const searchArgument = (text: string) => ({ text, filter: parseSearch(text) });

const optionsSchema = z.object({
  to: z.custom<ReplaySpec['target']>(),
  method: z.enum(REQUEST_METHODS).optional(),
  path: z.string().optional(),
  header: z.custom<readonly Header[]>().optional(),
  body: z.string().optional(),
  project: z.string().optional(),
  namespace: z.string(),
  filter: z.custom<ReturnType<typeof searchArgument>>().optional(),
  since: z.number().optional(),
  until: z.number().optional(),
  limit: z.number(),
  rate: z.number(),
  ordered: z.boolean().default(false),
  dryRun: z.boolean().default(false),
  yes: z.boolean().default(false),
  output: z.enum(['text', 'json']),
  data: z.string(),
  ...serverOptions,
});
type Options = z.infer<typeof optionsSchema>;

const openReplays = async (options: Options): Promise<ReplayClient> => {
  const { openApi } = await import('../server/connect.ts');
  const { replayClient } = await import('./replay-client.ts');
  return replayClient(await openApi(options));
};

export const addReplayCommand = (program: Command, colour: boolean): void => {
  const command = program.command('replay');
  withExamples(
    command,
    ['Send a request again, with another body', `replay ${EXAMPLE_ID} --body '{"total": 0}'`],
    ['Send it to a server on this machine', `replay ${EXAMPLE_ID} --to http://localhost:4000/v1/orders`],
    [
      'Show which failed requests of the last hour would be sent again',
      `replay -p shop --since 1h --filter status:5xx --dry-run`,
    ],
  );
  command
    .summary('send captured requests again')
    .description(
      'send captured requests again: one by its id, or all that match a filter; exit codes: 1 if a request gets no response, 5 if the replay continues but cannot be followed',
    )
    .argument('[ID]', 'id of the request, from standin logs')
    .addOption(
      new Option(
        '--to <target>',
        'endpoint (through the gateway), upstream, or a URL, whose path replaces the captured path',
      )
        .argParser(parseTarget)
        .default({ kind: 'Endpoint' }, 'endpoint'),
    )
    .addOption(new Option('--method <method>', 'with ID: replaces the captured method').choices(REQUEST_METHODS))
    .option(
      '--path <path>',
      'with ID: path and query to send, beginning with the project URI; other targets than the endpoint use only the query',
    )
    .option('--header <header>', "with ID: 'name: value', repeatable; replaces all captured headers", addHeader)
    .option('--body <text>', 'with ID: replaces the captured body; @FILE reads a file')
    .option('-p, --project <name>', 'without ID: project that received the requests')
    .option('-n, --namespace <name>', "the project's namespace", 'default')
    .option('--filter <search>', "only requests that match a search, such as 'status:5xx method:POST'", searchArgument)
    .option('--since <time>', 'received at this time or later: 10m, 2h, 1d, or an RFC 3339 time', parseSince)
    .option('--until <time>', 'received before this time (default: now)', parseSince)
    .option(
      '--limit <n>',
      'maximum number of requests, oldest first',
      wholeNumber(1, LIMITS.replayRequestsMax),
      LIMITS.replayRequestsMax,
    )
    .option(
      '--rate <n>',
      'maximum number of requests per second',
      wholeNumber(1, RATE_MAX),
      LIMITS.replayRatePerSecondDefault,
    )
    .option('--ordered', 'send one at a time, in the order in which they were received')
    .option('--dry-run', 'show the plan without sending anything')
    .option('-y, --yes', 'send without confirmation')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'));
  withServer(command).action(async (id: string | undefined, raw: unknown) => {
    const options = optionsSchema.parse(raw);
    const client = await openReplays(options);
    const succeeded = await (id === undefined ? many(options) : one(id, options))(client);
    if (!succeeded) process.exitCode = 1;
  });

  const one = (id: string, options: Options) => async (client: ReplayClient) => {
    const unused = (['filter', 'since', 'until', 'project'] as const).find((name) => options[name] !== undefined);
    if (unused !== undefined) throw new PlainError(`--${unused} selects many requests: omit the id`);
    const { replayOne } = await import('./run-replay.ts');
    return replayOne(client, { ...options, id, edit: await readEdit(options), colour });
  };

  const many = (options: Options) => async (client: ReplayClient) => {
    const { project, namespace, filter, since, until = Date.now() * 1_000 } = options;
    if (project === undefined || since === undefined)
      throw new PlainError('pass the id of a request, or select many with --project and --since (and --filter)');
    const edits = (['method', 'path', 'header', 'body'] as const).find((name) => options[name] !== undefined);
    if (edits !== undefined) throw new PlainError(`--${edits} edits a single request: pass its id`);
    const { replayMany } = await import('./run-replay.ts');
    const choice = { project: { namespace, name: project }, search: filter?.text, filter: filter?.filter };
    const range = { from: formatShortTime(since), to: formatShortTime(until) };
    return replayMany(client, { ...options, ...choice, range, colour });
  };
};

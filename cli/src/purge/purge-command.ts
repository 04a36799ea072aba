import { Option, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
import { checkedSearch, parseSince, parseTimeout } from '../logs/parse-arguments.ts';
import { serverOptions, withServer } from '../server/server-options.ts';

const optionsSchema = z.object({
  namespace: z.string().optional(),
  filter: z.string().optional(),
  since: z.number().optional(),
  until: z.number().optional(),
  all: z.boolean().default(false),
  reason: z.string(),
  timeout: z.number(),
  yes: z.boolean().default(false),
  output: z.enum(['text', 'json']),
  data: z.string(),
  ...serverOptions,
});

export const addPurgeCommand = (program: Command): void => {
  const command = program
    .command('purge')
    .summary('permanently delete captured requests')
    .description(
      'permanently delete captured requests, and wait until the log has none left (docs/guides/purge.md); exit code 5 if it does not complete in time',
    )
    .argument('<PROJECT>', 'project that received the requests')
    .option('-n, --namespace <name>', "the project's namespace; required if several have such a project")
    .option(
      '--filter <search>',
      "only requests that match a search, such as 'id:01931f3e-*'; the search stays in the record",
      checkedSearch,
    )
    .option('--since <time>', 'received at this time or later: 10m, 2h, 1d, or an RFC 3339 time', parseSince)
    .option('--until <time>', 'received before this time (default: now)', parseSince)
    .option('--all', 'all requests of the project received before --until')
    .requiredOption('--reason <text>', 'why the requests are deleted, for the record')
    .addOption(
      new Option('--timeout <duration>', 'maximum time to wait, such as 30s or 1h; the purge continues after that')
        .argParser(parseTimeout)
        .default(300_000, '5m'),
    )
    .option('-y, --yes', 'delete without confirmation')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'));
  withExamples(
    command,
    [
      'Delete what was captured about a person',
      `purge shop --filter 'body:"jane@example.com"' --reason 'Erasure request 4711'`,
    ],
    ['Delete the requests of the last hour', `purge shop --since 1h --reason 'Test data' --yes`],
  );
  withServer(command).action(async (project: string, raw: unknown) => {
    const { since: sinceUs, until: untilUs, ...options } = optionsSchema.parse(raw);
    const { namespace, timeout: timeoutMs, yes, output } = options;
    const { purgeRequest } = await import('./purge-request.ts');
    const request = purgeRequest({ ...options, sinceUs, untilUs }, new Date());
    const { openApi } = await import('../server/connect.ts');
    const { purgeClient } = await import('./purge-client.ts');
    const { runPurge } = await import('./run-purge.ts');
    await runPurge(purgeClient(await openApi(options)), request, { namespace, project, timeoutMs, yes, output });
  });
};

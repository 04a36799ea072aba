import process from 'node:process';
import { formatShortTime, LIMITS } from '@standin/contract';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
import { checkedSearch, parseSince, parseTimeout } from '../logs/parse-arguments.ts';
import { asPlainError, PlainError } from '../plain-error.ts';
import { serverOptions, withServer } from '../server/server-options.ts';
import { wholeNumber } from '../whole-number.ts';
import { EXIT } from './exit-codes.ts';

const optionsSchema = z.object({
  project: z.string().optional(),
  namespace: z.string().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  from: z.number().optional(),
  deadline: z.object({ text: z.string(), ms: z.number() }),
  output: z.enum(['text', 'json']),
  data: z.string(),
  ...serverOptions,
});

const DEADLINE_DEFAULT = '10s';
const deadlineArgument = (text: string) => ({ text, ms: parseTimeout(text) });
const countArgument = wholeNumber(0, LIMITS.expectationCountMax);

export const addExpectCommand = (program: Command): void => {
  const command = program
    .command('expect')
    .summary('expect a number of requests, and wait until it is decided')
    .description(
      'create an Expectation, and wait until it is decided (docs/guides/tests.md#expectations); exit codes: 1 if it is unmet, 2 if it cannot be created, 3 if the result is unknown',
    )
    .argument('<SEARCH>', "which requests, such as 'method:POST path:/v1/refunds'; '' is all requests", checkedSearch)
    .option('-p, --project <name>', 'project that receives the requests; required if you can see several')
    .option('-n, --namespace <name>', "the project's namespace; required if several have such a project")
    .option('--min <n>', 'lowest number of requests (default: 1, or 0 with --max)', countArgument)
    .option(
      '--max <n>',
      'highest number of requests; 0 means that none may arrive (default: no maximum)',
      countArgument,
    )
    .option(
      '--from <time>',
      'count requests received at this time or later: 10m or an RFC 3339 time (default: now)',
      parseSince,
    )
    .addOption(
      new Option(
        '--deadline <duration>',
        'how long requests are counted, such as 30s; with --max, it cannot be met earlier',
      )
        .argParser(deadlineArgument)
        .default(deadlineArgument(DEADLINE_DEFAULT), DEADLINE_DEFAULT),
    )
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'))
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT.notCreated));
  withExamples(
    command,
    [
      'Exactly one refund within 30 seconds',
      `expect 'method:POST path:/v1/refunds' -p shop --min 1 --max 1 --deadline 30s`,
    ],
    [
      'After a test that ran for less than 5 minutes: no e-mail was sent',
      `expect path:/v1/emails -p shop --max 0 --from 5m --deadline 1s`,
    ],
  );
  withServer(command).action(async (search: string, raw: unknown) => {
    const { min, max, from: fromUs, deadline, ...options } = optionsSchema.parse(raw);
    const request = {
      ...(search.trim() !== '' && { filter: { search } }),
      count: {
        ...(min !== undefined && { min }),
        ...(max !== undefined && { max }),
        ...(min === undefined && max === undefined && { min: 1 }),
      },
      ...(fromUs !== undefined && { from: formatShortTime(fromUs) }),
      deadline: deadline.text,
    };
    const { openApi } = await import('../server/connect.ts');
    const { expectClient } = await import('./expect-client.ts');
    const { runExpect } = await import('./run-expect.ts');
    const api = await openApi(options).catch((error: unknown) => {
      const plain = asPlainError(error);
      // 1 would mean that the expectation is not met.
      throw plain === undefined ? error : new PlainError(plain.message, { cause: error, exitCode: EXIT.notCreated });
    });
    const isMet = await runExpect(expectClient(api), request, { ...options, deadlineMs: deadline.ms });
    if (!isMet) process.exitCode = EXIT.unmet;
  });
};

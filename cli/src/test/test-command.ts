import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { listText } from '@standin/contract';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { addLogServerOptions } from '../clickhouse-options.ts';
import { withExamples } from '../examples.ts';
import { requestChoiceSchema, withRequestChoice } from '../logs/log-commands.ts';
import { asPlainError, PlainError } from '../plain-error.ts';
import { withServer } from '../server/server-options.ts';
import { REPORT_FORMATS, type ReportOutput } from './format-report.ts';
import { Ignored } from './ignored.ts';

const AGAINST = ['captured', 'forwarded'] as const;
const FAIL_IF = ['different', 'skipped', 'never'] as const;

const optionsSchema = requestChoiceSchema.extend({
  entries: z.string().optional(),
  ignore: z.instanceof(Ignored).optional(),
  shape: z.boolean().default(false),
  against: z.enum(AGAINST),
  openapi: z.string().optional(),
  output: z.custom<readonly ReportOutput[]>().optional(),
  failIf: z.enum(FAIL_IF),
});

const EXIT_USAGE = 2;
const EXIT_NOTHING = 3;

export const addTestCommand = (program: Command, colour: boolean): void => {
  const command = program
    .command('test')
    .summary('compare captured responses with what manifests respond now')
    .description(
      'respond to captured requests from manifests, without a server, and compare with the captured responses; exit codes: 1 if a response is different, 2 if something cannot be read, 3 if nothing was compared',
    )
    .argument('[FILE...]', 'manifest files or directories; none with --openapi')
    .addOption(
      new Option(
        '--entries <file>',
        'read the requests from this file, as standin logs -o json prints them; - is standard input',
      ).conflicts(['namespace', 'project', 'endpoint', 'method', 'status', 'filter', 'since', 'data', 'server']),
    )
    .option(
      '--ignore <path>',
      "part of responses that may differ: '$.id', '$.items[*].id', '$..id' or header:NAME; repeatable",
      (text: string, before?: Ignored) => (before ?? new Ignored()).add(text),
    )
    .option('--shape', 'compare only the names and types in JSON bodies, the media type and the status')
    .addOption(
      new Option(
        '--against <responses>',
        'which captured responses; forwarded: those of upstreams, with the mock in spec.json',
      )
        .choices(AGAINST)
        .default('captured'),
    )
    .addOption(
      new Option(
        '--openapi <file>',
        'check the captured requests and responses with this contract (OpenAPI 3, YAML or JSON) instead',
      ).conflicts(['shape', 'against']),
    )
    .addOption(
      new Option('--fail-if <what>', 'when to exit with 1: if a response is different, or also if a request is skipped')
        .choices(FAIL_IF)
        .default('different'),
    )
    .option(
      '-o, --output <format[=file]>',
      `${listText(REPORT_FORMATS, 'or')}, printed or written to the file; repeatable (default: "text")`,
      addOutput,
    )
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE));
  withExamples(
    command,
    ['Whether mocks still have the form of what their upstreams respond', 'test standin --against forwarded --shape'],
    ['Whether the manifests still respond to the requests of the last day in the same way', 'test standin --since 1d'],
    ['Whether the requests and responses of the last day match a contract', 'test --openapi openapi.yaml --since 1d'],
    [
      'In CI, with requests from a file and a report for the CI system',
      'test standin --entries requests.ndjson -o text -o junit=report.xml',
    ],
  );
  const checkFiles = (files: readonly string[], openapi: string | undefined): void => {
    if (openapi === undefined && files.length === 0) command.error("error: missing required argument 'FILE'");
    if (openapi !== undefined && files.length > 0)
      command.error("error: option '--openapi <file>' cannot be used with argument 'FILE'");
  };
  withServer(addLogServerOptions(withRequestChoice(command), 'read from a ClickHouse server')).action(
    async (files: string[], raw: unknown) => {
      const { since: sinceUs, output = [{ format: 'text', file: undefined }], ...options } = optionsSchema.parse(raw);
      checkFiles(files, options.openapi);
      // Otherwise, V8 grows its space for new objects by more than 100 MiB, because manifests and entries are parsed into many objects, of
      // which few are kept. It reads this flag whenever it would grow the space.
      setFlagsFromString('--semi-space-growth-factor=1');
      const { runTest } = await import('./run-test.ts');
      const ignored = options.ignore ?? new Ignored();
      const { requests, same, different, skipped } = await runTest(files, {
        ...options,
        sinceUs,
        ignored,
        output,
        colour,
      }).catch((error: unknown) => {
        const plain = asPlainError(error);
        // 1 would mean that a response is different.
        throw plain === undefined ? error : new PlainError(plain.message, { cause: error, exitCode: EXIT_USAGE });
      });
      const isFailed = options.failIf !== 'never' && (different > 0 || (options.failIf === 'skipped' && skipped > 0));
      if (isFailed) process.exitCode = 1;
      else if (requests === 0 || same + different === 0) process.exitCode = EXIT_NOTHING;
    },
  );
};

/** Parses `FORMAT` or `FORMAT=FILE`, and adds it to the earlier ones. */
const addOutput = (text: string, before: readonly ReportOutput[] = []): readonly ReportOutput[] => {
  const [, name, file] = /^([^=]*)(?:=(.+))?$/s.exec(text) ?? [];
  const format = REPORT_FORMATS.find((one) => one === name);
  if (format === undefined)
    throw new InvalidArgumentError(
      `must be ${listText(REPORT_FORMATS, 'or')}, or a format with a file, such as junit=report.xml.`,
    );
  return [...before, { format, file }];
};

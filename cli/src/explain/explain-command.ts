import { REQUEST_METHODS } from '@standin/contract';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { EXAMPLE_ID, withExamples } from '../examples.ts';
import { PlainError } from '../plain-error.ts';
import { serverOptions, withServer } from '../server/server-options.ts';
import { stderr, stdout } from '../terminal.ts';
import { addHeaderLine, parsePath, type DescribedRequest } from './described-request.ts';

const optionsSchema = z.object({
  method: z.enum(REQUEST_METHODS).optional(),
  path: z.string().optional(),
  header: z.custom<DescribedRequest['header']>().optional(),
  body: z.string().optional(),
  project: z.string().optional(),
  namespace: z.string().optional(),
  output: z.enum(['text', 'json']),
  data: z.string(),
  ...serverOptions,
});
type Options = z.infer<typeof optionsSchema>;

export const addExplainCommand = (program: Command, colour: boolean): void => {
  const command = program
    .command('explain')
    .summary('explain which response a request gets, and why')
    .description(
      'explain a response: which endpoint and which of its responses a request gets, and why not the others (docs/guides/responses.md)',
    )
    .argument(
      '[ID|FILE...]',
      'id of a captured request, from standin logs; or, with --path, manifest files or directories',
    )
    .addOption(
      new Option('--method <method>', 'method of the request (default: GET, or POST with --body)').choices(
        REQUEST_METHODS,
      ),
    )
    .option('--path <path>', 'path and query of the request, with or without the project URI', parsePath)
    .option('-H, --header <header>', "header of the request: 'name: value'; repeatable", addHeaderLine)
    .option('-d, --body <text>', 'body of the request; @FILE reads a file')
    .option(
      '-p, --project <name>',
      'project that received the request; required with --path if the manifests contain several',
    )
    .option('-n, --namespace <name>', "the project's namespace")
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'));
  withExamples(
    command,
    ['Why a captured request got its response', `explain ${EXAMPLE_ID}`],
    [
      'What a request would get, without a running Standin',
      `explain --method POST --path /v1/orders -H 'x-plan: gold' -d '{"total": 12}' standin`,
    ],
  );
  withServer(command).action(async (args: string[], raw: unknown) => {
    const options = optionsSchema.parse(raw);
    const { lines, json } = options.path === undefined ? await captured(args, options) : await offline(args, options);
    if (options.output === 'json') stdout.json(json);
    else for (const line of lines) stdout.line(line, colour);
  });
};

const captured = async ([id, ...more]: readonly string[], options: Options) => {
  const described = (['method', 'header', 'body'] as const).find((name) => options[name] !== undefined);
  if (described !== undefined) throw new PlainError(`--${described} describes a request: add its --path`);
  if (id === undefined || more.length > 0)
    throw new PlainError(
      'pass the id of one captured request, or describe a request with --path and pass a directory of manifests',
    );
  const { explainCaptured } = await import('./explain-captured.ts');
  return explainCaptured(id, options);
};

const offline = async (files: readonly string[], { path = '', ...options }: Options) => {
  if (files.length === 0) throw new PlainError('pass a directory of manifests: standin explain --path PATH DIR');
  const { explainManifests } = await import('./explain-manifests.ts');
  const { warnings, ...explained } = await explainManifests(files, { ...options, path });
  for (const warning of warnings) stderr.line(warning);
  return explained;
};

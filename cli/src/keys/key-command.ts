import { Option, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
import { parseTimeout } from '../logs/parse-arguments.ts';
import { serverOptions, withServer } from '../server/server-options.ts';
import { stdout } from '../terminal.ts';

const showOptionsSchema = z.object({
  namespace: z.string().optional(),
  data: z.string(),
  ...serverOptions,
});
const optionsSchema = showOptionsSchema.extend({
  timeout: z.number(),
  yes: z.boolean().default(false),
  output: z.enum(['text', 'json']),
});

export const addKeyCommand = (program: Command): void => {
  const key = program.command('key').description('manage account API keys');
  addShowCommand(key);
  const command = key
    .command('regenerate')
    .summary("replace an account's API key, and print the new one")
    .description(
      "replace an account's API key, and print the new one when no gateway accepts the old one; exit codes: 3 if the limit of six per hour is reached, 4 if the key is managed elsewhere, 5 if it does not complete in time",
    )
    .argument('[ACCOUNT]', 'required if you can see more than one account')
    .option('-n, --namespace <name>', "the account's namespace")
    .addOption(
      new Option(
        '--timeout <duration>',
        'maximum time to wait, such as 30s or 5m; the regeneration continues after that',
      )
        .argParser(parseTimeout)
        .default(60_000, '1m'),
    )
    .option('-y, --yes', 'regenerate without confirmation')
    .addOption(
      new Option('-o, --output <format>', 'output format; text prints only the key')
        .choices(['text', 'json'])
        .default('text'),
    );
  withExamples(
    command,
    ['Replace the key of the only account, and write the new one to a file', 'key regenerate --yes > key.txt'],
    [
      'Replace the key of an account in a cluster',
      'key regenerate main -n team-a --server https://standin.example.com',
    ],
  );
  withServer(command).action(async (account: string | undefined, raw: unknown) => {
    const options = optionsSchema.parse(raw);
    const { namespace, timeout: timeoutMs, yes, output } = options;
    const { openApi } = await import('../server/connect.ts');
    const { keyClient } = await import('./key-client.ts');
    const { regenerateKey } = await import('./regenerate-key.ts');
    await regenerateKey(keyClient(await openApi(options)), { namespace, account, timeoutMs, yes, output });
  });
};

const addShowCommand = (key: Command): void => {
  const command = key
    .command('show')
    .description("print an account's API key; in a cluster, you need permission to read its Secret")
    .argument('[ACCOUNT]', 'required if you can see more than one account')
    .option('-n, --namespace <name>', "the account's namespace");
  withExamples(
    command,
    ['The key of the only account', 'key show'],
    ['The key of an account in another namespace', 'key show main -n team-a'],
  );
  withServer(command).action(async (account: string | undefined, raw: unknown) => {
    const { namespace, ...options } = showOptionsSchema.parse(raw);
    const { openApi } = await import('../server/connect.ts');
    const { keyClient } = await import('./key-client.ts');
    const client = keyClient(await openApi(options));
    stdout.line(await client.apiKey(await client.choose({ namespace, account })));
  });
};

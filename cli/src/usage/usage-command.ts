import { Option, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
import { serverOptions, withServer } from '../server/server-options.ts';

const optionsSchema = z.object({
  namespace: z.string().optional(),
  output: z.enum(['text', 'json']),
  data: z.string(),
  ...serverOptions,
});

export const addUsageCommand = (program: Command): void => {
  const command = program
    .command('usage')
    .description('show how much of its monthly quota an account has used, by endpoint')
    .argument('[ACCOUNT]', 'required if you can see more than one account')
    .option('-n, --namespace <name>', "the account's namespace")
    .addOption(
      new Option('-o, --output <format>', 'output format; json includes every day')
        .choices(['text', 'json'])
        .default('text'),
    );
  withExamples(
    command,
    ['The usage of the only account', 'usage'],
    ['The usage of each day, as JSON', 'usage main -n team-a -o json'],
  );
  withServer(command).action(async (account: string | undefined, raw: unknown) => {
    const options = optionsSchema.parse(raw);
    const { openApi } = await import('../server/connect.ts');
    const { showUsage } = await import('./show-usage.ts');
    await showUsage(await openApi(options), { account, namespace: options.namespace }, options.output);
  });
};

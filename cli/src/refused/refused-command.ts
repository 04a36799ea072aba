import { Option, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
import { serverOptions, withServer } from '../server/server-options.ts';

const optionsSchema = z.object({
  namespace: z.string().optional(),
  project: z.string().optional(),
  output: z.enum(['text', 'json']),
  data: z.string(),
  ...serverOptions,
});

export const addRefusedCommand = (program: Command): void => {
  const command = program
    .command('refused')
    .summary('show which requests were refused within the last hour, and why')
    .description('show which requests were refused within the last hour, and why (docs/guides/refused.md)')
    .option('-n, --namespace <name>', "the project's namespace")
    .option('-p, --project <name>', 'only this project; on a cluster, required if you can see several')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'));
  withExamples(
    command,
    ['Why requests to a standin dev did not arrive', 'refused'],
    ['The same for one project', 'refused -p shop'],
  );
  withServer(command).action(async (raw: unknown) => {
    const { namespace, project, output, ...options } = optionsSchema.parse(raw);
    const { openApi } = await import('../server/connect.ts');
    const { showRefused } = await import('./show-refused.ts');
    await showRefused(await openApi(options), { namespace, project }, output);
  });
};

import { Option, type Command } from 'commander';
import { z } from 'zod';
import { EXAMPLE_ID, withExamples } from '../examples.ts';
import { serverOptions, withServer } from '../server/server-options.ts';
import { stderr, stdout } from '../terminal.ts';

const optionsSchema = z.object({
  expires: z.string(),
  namespace: z.string().optional(),
  project: z.string().optional(),
  output: z.enum(['text', 'json']),
  data: z.string(),
  ...serverOptions,
});

export const addShareCommand = (program: Command): void => {
  const command = program
    .command('share')
    .description('create a public link to a captured request, with secrets redacted (Pro plan)')
    .argument('<ID>', 'id of the request, from standin logs')
    .option('--expires <duration>', 'how long the link works, such as 1h, 24h or 7d; at most 30d', '24h')
    .option('-n, --namespace <name>', "with --server: the project's namespace")
    .option('-p, --project <name>', "with --server: the request's project")
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'));
  withExamples(
    command,
    ['Create a link that works for a day', `share ${EXAMPLE_ID}`],
    ['Create a link that works for a week', `share ${EXAMPLE_ID} --expires 7d`],
  );
  withServer(command).action(async (id: string, raw: unknown) => {
    const { expires: expiresIn, output, ...options } = optionsSchema.parse(raw);
    const { createShare } = await import('./create-share.ts');
    const made = await createShare(id, { ...options, expiresIn });
    if (output === 'json') {
      stdout.json(made);
      return;
    }
    // Only the link goes to stdout, so that scripts can use it.
    stdout.line(made.url);
    const pending = made.isAccepted ? '' : ' It does not work before the operator has processed it.';
    stderr.line(
      `The link works until ${made.expiresAt}.${pending} To revoke it, go to Settings → Shares in the dashboard. Its name is ${made.name}.`,
    );
  });
};

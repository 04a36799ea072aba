import type { Command } from 'commander';
import { z } from 'zod';
import { EXAMPLE_ID, withExamples } from '../examples.ts';
import { serverOptions, withServer } from '../server/server-options.ts';
import { stdout } from '../terminal.ts';

const optionsSchema = z.object({
  namespace: z.string().optional(),
  browser: z.boolean(),
  data: z.string(),
  ...serverOptions,
});

export const addOpenCommand = (program: Command): void => {
  const command = program
    .command('open')
    .description('open a page of the dashboard in the browser, and print its URL')
    .argument('[TARGET]', 'id of a request, PROJECT, or PROJECT/ENDPOINT (default: the first page)')
    .option('-n, --namespace <name>', "the project's namespace")
    .option('--no-browser', 'only print the URL');
  withExamples(
    command,
    ['The captured traffic of a project', 'open shop'],
    ['An endpoint', 'open shop/create-order'],
    ['A captured request', `open ${EXAMPLE_ID}`],
  );
  withServer(command).action(async (target: string | undefined, raw: unknown) => {
    const { namespace, browser, ...options } = optionsSchema.parse(raw);
    const { openApi } = await import('../server/connect.ts');
    const { pageUrl } = await import('./page-url.ts');
    const url = await pageUrl(await openApi(options), target, namespace);
    stdout.line(url);
    if (!browser) return;
    const { openBrowser } = await import('./open-browser.ts');
    await openBrowser(url);
  });
};

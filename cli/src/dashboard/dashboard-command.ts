import { Option, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
import { clusterOptions, withCluster } from '../server/server-options.ts';
import { portArgument } from '../whole-number.ts';

const optionsSchema = z.object({ ...clusterOptions, port: z.number(), browser: z.boolean() });

export const addDashboardCommand = (program: Command): void => {
  const command = program
    .command('dashboard')
    .description('forward a local port to the dashboard in a cluster, and open it in the browser, until Ctrl-C')
    .addOption(new Option('--port <port>', 'local port').argParser(portArgument).default(0, 'a free port'))
    .option('--no-browser', 'only print the URL');
  withExamples(command, ['The dashboard of the current context', 'dashboard']);
  withCluster(command).action(async (raw: unknown) => {
    const { forwardDashboard } = await import('./forward-dashboard.ts');
    await forwardDashboard(optionsSchema.parse(raw));
  });
};

import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
import { clusterOptions, withCluster } from '../server/server-options.ts';

const optionsSchema = z.object({ ...clusterOptions, port: z.number(), browser: z.boolean() });

const PORT_MAX = 65_535;

const parsePort = (text: string): number => {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > PORT_MAX)
    throw new InvalidArgumentError(`must be a number from 0 to ${PORT_MAX}.`);
  return port;
};

export const addDashboardCommand = (program: Command): void => {
  const command = program
    .command('dashboard')
    .description('forward a local port to the dashboard in a cluster, and open it in the browser, until Ctrl-C')
    .addOption(new Option('--port <port>', 'local port').argParser(parsePort).default(0, 'a free port'))
    .option('--no-browser', 'only print the URL');
  withExamples(command, ['The dashboard of the current context', 'dashboard']);
  withCluster(command).action(async (raw: unknown) => {
    const { forwardDashboard } = await import('./forward-dashboard.ts');
    await forwardDashboard(optionsSchema.parse(raw));
  });
};

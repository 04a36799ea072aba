import { setFlagsFromString } from 'node:v8';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { addLogServerOptions, logServerOptions } from '../clickhouse-options.ts';
import { withExamples } from '../examples.ts';
import { PlainError } from '../plain-error.ts';
import { portArgument } from '../whole-number.ts';
import type { ResourcesFrom } from './start-standin.ts';

/** The directory of manifests that `standin dev` uses, and creates if necessary, if no other is given. */
const OWN_DIRECTORY = 'standin';

const outputArgument = (text: string): 'text' | 'json' => {
  if (text !== 'text' && text !== 'json') throw new InvalidArgumentError('must be text or json.');
  return text;
};

/** A CI job whose variable is empty must not succeed. */
const commandArgument = (text: string): string => {
  if (text.trim() === '') throw new InvalidArgumentError('must not be empty.');
  return text;
};

const optionsSchema = z.object({
  kubeconfig: z.string().optional(),
  gatewayPort: z.number(),
  dashboardPort: z.number().optional(),
  dashboard: z.boolean(),
  data: z.string(),
  output: z.enum(['text', 'json']),
  apiKeyHeader: z.enum(['exact', 'any-case']),
  denyPrivateUpstreams: z.boolean().default(false),
  upstreamCa: z.string().optional(),
  requireToken: z.boolean().default(false),
  verbose: z.boolean().default(false),
  exec: z.string().optional(),
  ...logServerOptions,
});

export const addDevCommand = (program: Command, colour: boolean): void => {
  const command = program
    .command('dev')
    .description('run the operator, gateway, ClickHouse and dashboard on this machine, with manifests from a directory')
    .argument('[DIR]', 'directory of manifests to watch (default: ./standin, which is created with example manifests)')
    .option('--kubeconfig <file>', 'use the resources in this cluster instead of a directory')
    .option('--gateway-port <port>', 'port on which endpoints are served', portArgument, 8080)
    .option('--dashboard-port <port>', 'dashboard port (default: 3000, or a free port)', portArgument)
    .option('--no-dashboard', 'run without the dashboard')
    .option(
      '--require-token',
      'require a token, which is part of the printed dashboard URL; for machines with other users',
    )
    .option('--data <dir>', 'folder for the log, keys and state', '.standin')
    .option('-o, --output <format>', 'output format: text or json (one event per line)', outputArgument, 'text')
    .option('--deny-private-upstreams', 'do not forward to loopback and private addresses, as in a cluster')
    .option(
      '--upstream-ca <file>',
      'PEM certificates of CAs to trust for all upstreams and replay targets, in addition to the system’s CAs',
    )
    .addOption(
      new Option(
        '--api-key-header <case>',
        'any-case: for clients that capitalize x-api-key, such as those in Go and Ruby',
      )
        .choices(['exact', 'any-case'])
        .default('exact'),
    )
    .addOption(
      new Option(
        '--exec <command>',
        'run this shell command when everything is ready, then stop and exit with its code; implies --no-dashboard and a free gateway port',
      )
        .argParser(commandArgument)
        .implies({ dashboard: false, gatewayPort: 0 }),
    )
    .option('--verbose', 'print the logs of the operator, gateway and engine');
  addLogServerOptions(
    command,
    'store the log in this ClickHouse server, in a database of its own, instead of the data folder',
  );
  withExamples(
    command,
    ['Try Standin out with example manifests', 'dev'],
    ['Use your own manifests, and another port', 'dev mocks --gateway-port 9000'],
    ['Run tests against your manifests', "dev mocks --exec 'npm test'"],
    ['Use the resources in a cluster', 'dev --kubeconfig ~/.kube/config'],
  ).action(async (dir: string | undefined, raw: unknown) => {
    const { kubeconfig, ...options } = optionsSchema.parse(raw);
    if (kubeconfig !== undefined && dir !== undefined) {
      throw new PlainError('pass a directory or --kubeconfig, not both');
    }
    const from: ResourcesFrom =
      kubeconfig === undefined ? { kind: 'directory', dir: dir ?? OWN_DIRECTORY } : { kind: 'cluster', kubeconfig };
    // Makes V8 use less memory at the cost of speed, because the process runs on the user's own machine.
    setFlagsFromString('--optimize-for-size');
    // Loaded on demand, because the other commands need neither the operator nor the gateway.
    const { runDev } = await import('./run-dev.ts');
    await runDev({ from, isOwn: dir === undefined, colour, ...options });
  });
};

import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { PlainError } from '../plain-error.ts';
import type { ResourcesFrom } from './start-standin.ts';

const QUICKSTART = path.resolve(import.meta.dirname, '../../../crds/examples/quickstart');

const portArgument = (text: string): number => {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError('must be a port: 0 to 65535.');
  return port;
};

const outputArgument = (text: string): 'text' | 'json' => {
  if (text !== 'text' && text !== 'json') throw new InvalidArgumentError('must be text or json.');
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
  requireToken: z.boolean().default(false),
  verbose: z.boolean().default(false),
});

export const addDevCommand = (program: Command, colour: boolean): void => {
  program
    .command('dev')
    .description('run everything on this machine: the manifests of a directory, operator, gateway and ClickHouse')
    .argument('[DIR]', 'directory of manifests; it is watched (default: the quickstart example)')
    .option('--kubeconfig <file>', 'use the resources of this cluster instead of a directory')
    .option('--gateway-port <port>', 'port on which endpoints are served', portArgument, 8080)
    .option('--dashboard-port <port>', 'port of the dashboard (default: 3000, or a free one)', portArgument)
    .option('--no-dashboard', 'run without the dashboard')
    .option(
      '--require-token',
      'require a token, which is part of the printed dashboard URL: for a machine with other users',
    )
    .option('--data <dir>', 'folder for the log, keys and state', '.standin')
    .option('-o, --output <format>', 'text, or json: one event per line', outputArgument, 'text')
    .option('--deny-private-upstreams', 'refuse to forward to loopback and private addresses, as a cluster does')
    .addOption(
      new Option(
        '--api-key-header <case>',
        'any-case: for clients that capitalise x-api-key, such as those of Go and Ruby',
      )
        .choices(['exact', 'any-case'])
        .default('exact'),
    )
    .option('--verbose', 'print the log of operator, gateway and engine')
    .action(async (dir: string | undefined, raw: unknown) => {
      const { kubeconfig, ...options } = optionsSchema.parse(raw);
      if (kubeconfig !== undefined && dir !== undefined) {
        throw new PlainError('pass a directory or --kubeconfig, not both');
      }
      const from: ResourcesFrom =
        kubeconfig === undefined ? { kind: 'directory', dir: dir ?? QUICKSTART } : { kind: 'cluster', kubeconfig };
      // A young generation of 8 MiB instead of 64 MiB, which saves memory on the user's own machine.
      setFlagsFromString('--optimize-for-size');
      // Loaded on demand: the other commands need neither operator nor gateway.
      const { runDev } = await import('./run-dev.ts');
      await runDev({ from, colour, ...options });
    });
};

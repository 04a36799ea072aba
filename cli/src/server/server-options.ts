import { Option, type Command } from 'commander';
import { z } from 'zod';

/** Which dashboard a command asks, and as whom. */
export interface ServerOptions {
  /** Its address; `undefined`: the command works with what is on this machine. */
  readonly server?: string | undefined;
  /** `undefined`: that of the current kubeconfig. */
  readonly token?: string | undefined;
}

export const serverOptions = { server: z.string().optional(), token: z.string().optional() };

export const withServer = (command: Command): Command =>
  command
    .addOption(
      new Option('--server <url>', 'ask the dashboard of a cluster, as in https://standin.example.com').conflicts(
        'clickhouseUrl',
      ),
    )
    .addOption(
      new Option('--token <token>', 'token of the cluster for it; the variable is better')
        .env('STANDIN_TOKEN')
        .default(undefined, 'that of the current kubeconfig'),
    );

import { Option, type Command } from 'commander';
import { z } from 'zod';

/** Which dashboard a command asks, and as whom. */
export interface ServerOptions {
  /** Its address; `undefined`: the command works with what is on this machine. */
  readonly server?: string | undefined;
  /** `undefined`: that of the current kubeconfig. */
  readonly token?: string | undefined;
  /** The server may have that of the kubeconfig, although it never had it. */
  readonly trustServer?: boolean | undefined;
  /** The server may be asked over plain http. */
  readonly dangerouslyAllowHttp?: boolean | undefined;
}

export const serverOptions = {
  server: z.string().optional(),
  token: z.string().optional(),
  trustServer: z.boolean().optional(),
  dangerouslyAllowHttp: z.boolean().optional(),
};

/** This machine: nothing on the way to it can be listened to from outside. */
export const isLoopback = ({ hostname }: URL): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

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
    )
    .option('--trust-server', 'send the token of the current kubeconfig to this server without asking, now and later')
    .option(
      '--dangerously-allow-http',
      'ask the server over plain http: anyone on the way reads the token and the traffic',
    );

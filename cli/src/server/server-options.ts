import { Option, type Command } from 'commander';
import { z } from 'zod';

/** The dashboard that a command uses, and its credentials. */
export interface ServerOptions {
  /** The dashboard's address. Undefined if the command works on this machine. */
  readonly server?: string | undefined;
  /** If undefined, the token of the current kubeconfig is used. */
  readonly token?: string | undefined;
  /** Allows sending the kubeconfig's token to a server that has not received it before. */
  readonly trustServer?: boolean | undefined;
  /** Allows plain HTTP to the server. */
  readonly dangerouslyAllowHttp?: boolean | undefined;
}

export const serverOptions = {
  server: z.string().optional(),
  token: z.string().optional(),
  trustServer: z.boolean().optional(),
  dangerouslyAllowHttp: z.boolean().optional(),
};

/** Returns whether the URL points to this machine. Other machines cannot observe traffic to it. */
export const isLoopback = ({ hostname }: URL): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

export const withServer = (command: Command): Command =>
  command
    .addOption(
      new Option('--server <url>', 'use a cluster’s dashboard, such as https://standin.example.com').conflicts(
        'clickhouseUrl',
      ),
    )
    .addOption(
      new Option('--token <token>', 'token for the dashboard; prefer the environment variable')
        .env('STANDIN_TOKEN')
        .default(undefined, 'the current kubeconfig’s token'),
    )
    .option(
      '--trust-server',
      'send the current kubeconfig’s token to this server without asking, now and in the future',
    )
    .option(
      '--dangerously-allow-http',
      'use plain http: anyone on the network path can read the token and the traffic',
    );

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
  /** Whether the command uses the dashboard in the cluster of a kubeconfig, through a port-forward. */
  readonly cluster?: boolean | undefined;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** The namespace of the dashboard. */
  readonly systemNamespace?: string | undefined;
  /** `NAMESPACE/NAME` of the ServiceAccount whose token replaces that of the kubeconfig. */
  readonly serviceAccount?: string | undefined;
}

/** The parsed options from `withCluster`. */
export const clusterOptions = {
  cluster: z.boolean().optional(),
  kubeconfig: z.string().optional(),
  context: z.string().optional(),
  systemNamespace: z.string().optional(),
  serviceAccount: z.string().optional(),
};

export const serverOptions = {
  server: z.string().optional(),
  token: z.string().optional(),
  trustServer: z.boolean().optional(),
  dangerouslyAllowHttp: z.boolean().optional(),
  ...clusterOptions,
};

/** Returns whether the URL points to this machine. Other machines cannot observe traffic to it. */
export const isLoopback = ({ hostname }: URL): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** The heading, in a command's help, of the options that select a `standin dev`, a dashboard or a cluster, and the token for it. */
export const CONNECTION_OPTIONS = 'Connection options:';

/** Options that mean another source of captured requests than the cluster of a kubeconfig. */
export const OTHER_SOURCES = ['server', 'clickhouseUrl', 'data'];

/** Adds the options that select a cluster, with the names that kubectl uses. */
export const withCluster = (command: Command): Command => {
  const options = [
    new Option('--kubeconfig <file>', 'use the cluster of this kubeconfig'),
    new Option('--context <name>', 'use the cluster of this context of the kubeconfig'),
    new Option('--system-namespace <name>', 'namespace of Standin in the cluster (default: "standin-system")'),
  ];
  for (const option of options) command.addOption(option.conflicts(OTHER_SOURCES).helpGroup(CONNECTION_OPTIONS));
  return command;
};

/** Adds the options that select a `standin dev`, a dashboard or a cluster. */
export const withServer = (command: Command): Command => {
  const options = [
    new Option('--data <dir>', 'use the standin dev with this data folder').default('.standin'),
    new Option('--server <url>', 'use a cluster’s dashboard, such as https://standin.example.com').conflicts(
      'clickhouseUrl',
    ),
    new Option('--token <token>', 'token for the dashboard; prefer the environment variable')
      .env('STANDIN_TOKEN')
      .default(undefined, 'the current kubeconfig’s token'),
    new Option(
      '--trust-server',
      'send the current kubeconfig’s token to this server without asking, now and in the future',
    ),
    new Option(
      '--dangerously-allow-http',
      'use plain http: anyone on the network path can read the token and the traffic',
    ),
    new Option(
      '--service-account <namespace/name>',
      'sign in to the dashboard in the cluster with a token of this ServiceAccount',
    ).conflicts([...OTHER_SOURCES, 'token']),
    new Option(
      '-A, --all-namespaces',
      'in a cluster: use all namespaces, not only that of the kubeconfig’s context',
    ).conflicts('namespace'),
  ];
  for (const option of options) command.addOption(option.helpGroup(CONNECTION_OPTIONS));
  return withCluster(command);
};

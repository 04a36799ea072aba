import { booleanSetting, httpUrlSetting, listSetting, logLevelSetting, portSetting } from '@standin/contract';
import { z } from 'zod';
import { isNetwork } from './client-address.ts';

/** Settings of every dashboard. */
export const dashboardSettings = z.object({
  host: z.string().default('127.0.0.1').describe('Address on which the dashboard listens. Local mode: loopback only.'),
  port: portSetting.default(3000).describe('Port of the dashboard. 0: a free port.'),
});

export type DashboardSettings = Readonly<z.infer<typeof dashboardSettings>> & {
  /** See `clusterDashboardSettings`. There is no proxy between `standin dev` and its browsers. */
  readonly trustedProxies?: readonly string[] | undefined;
};

/** 256 bits are 64 characters in hexadecimal, and 44 in base64. */
const SECRET_CHARS_MIN = 32;
const secret = z
  .string()
  .min(SECRET_CHARS_MIN, `must have at least ${SECRET_CHARS_MIN} characters: openssl rand -base64 32`);
const HOUR_MS = 3_600_000;

/** All settings of a cluster's dashboard. docs/configuration.md is generated from this. */
export const clusterDashboardSettings = z
  .object({
    host: z.string().default('0.0.0.0').describe('Address on which the dashboard listens.'),
    port: dashboardSettings.shape.port,
    url: httpUrlSetting
      .optional()
      .describe('URL under which browsers reach the dashboard: https://standin.example.com. Required for OIDC.'),
    service: z
      .string()
      .regex(/^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/, 'must be NAMESPACE/NAME')
      .optional()
      .describe(
        'Service of this dashboard, NAMESPACE/NAME: standin recognises the dashboard by it behind kubectl port-forward.',
      ),
    trustedProxies: listSetting(z.string().refine(isNetwork, 'must be an address or a network: 10.0.0.7 or 10.0.0.0/8'))
      .default([])
      .describe(
        'Addresses and networks (CIDR) of the proxies before the dashboard, separated by commas: behind them clients are told apart by X-Forwarded-For. Empty: by the address of the connection.',
      ),
    kubeconfig: z
      .string()
      .optional()
      .describe(
        'Path of a kubeconfig; unset: the pod’s own ServiceAccount. It names the API server, and reads names only.',
      ),
    watch: z
      .object({
        namespaces: listSetting(z.string().min(1))
          .default([])
          .describe(
            'Namespaces in which the dashboard looks for projects and shares, as the operator’s, separated by commas; empty: all.',
          ),
      })
      .prefault({}),
    session: z
      .object({
        key: secret.describe(
          'Secret that seals the sessions’ cookies, the same in all replicas: openssl rand -base64 32.',
        ),
        previousKey: secret
          .optional()
          .describe(
            'The key before: its sessions stay valid. To change keys, put the old one here for as long as a session lasts.',
          ),
        maxAgeMs: z.coerce
          .number()
          .int()
          .min(60_000)
          .default(12 * HOUR_MS)
          .describe('A session ends after this time, or with its token, milliseconds.'),
      })
      // With this default, only the key is missing, and the message names it.
      .prefault({} as never),
    dangerouslyAllowHttp: booleanSetting
      .default(false)
      .describe('Send session cookies over plain http, too: anyone on the network path can steal a session.'),
    oidc: z
      .object({
        issuer: z
          .url({ protocol: /^https$/ })
          .optional()
          .describe(
            'OpenID Connect provider that the API server trusts as well; unset: people sign in with tokens only.',
          ),
        clientId: z
          .string()
          .default('standin')
          .describe('Client at the provider, with the redirect URI URL/login/oidc/callback.'),
        clientSecret: z.string().optional().describe('Its secret; unset: a public client. PKCE is used either way.'),
        scopes: z
          .string()
          .default('openid email profile')
          .describe(
            'Scopes to ask for, with spaces between. Many providers give a refresh token for offline_access only.',
          ),
        name: z.string().min(1).max(40).default('single sign-on').describe('What the button calls the provider.'),
      })
      .prefault({}),
    clickhouse: z
      .object({
        url: httpUrlSetting.default('http://localhost:8123').describe('URL of ClickHouse’s HTTP interface.'),
        username: z
          .string()
          .default('default')
          .describe('ClickHouse user; SELECT on the log’s tables is all that it needs.'),
        password: z.string().default('').describe('Password of the ClickHouse user.'),
        database: z.string().default('standin').describe('ClickHouse database that holds the log.'),
        cluster: z.string().optional().describe('ClickHouse cluster whose replicas keep the log; unset: one server.'),
      })
      .prefault({}),
    logLevel: logLevelSetting.describe('Least severe level that is logged.'),
  })
  .superRefine(({ url, oidc }, context) => {
    if (oidc.issuer !== undefined && url === undefined)
      context.addIssue({ code: 'custom', path: ['url'], message: 'must be set where STANDIN_OIDC_ISSUER is' });
  });

export type ClusterDashboardSettings = Readonly<z.infer<typeof clusterDashboardSettings>>;

/** React reads NODE_ENV when it is loaded, to decide whether to check itself at every step. */
export const preferProductionReact = (): void => {
  if (!Object.hasOwn(process.env, 'NODE_ENV')) process.env.NODE_ENV = 'production';
};

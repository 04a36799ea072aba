import {
  booleanSetting,
  gatewayUrlSetting,
  httpUrlSetting,
  listSetting,
  logLevelSetting,
  portSetting,
  watchSetting,
} from '@standin/contract';
import { clickHouseSettings } from '@standin/logstore';
import { z } from 'zod';
import { isNetwork } from './client-address.ts';

/** Settings of local and cluster dashboards. */
export const dashboardSettings = z.object({
  host: z.string().default('127.0.0.1').describe('Address to listen on. In local mode, a loopback address.'),
  port: portSetting.default(3000).describe('Port to listen on. 0 selects a free port.'),
});

export type DashboardSettings = Readonly<z.infer<typeof dashboardSettings>> & {
  /** See `clusterDashboardSettings`. Unset for `standin dev`, which has no proxies in front of it. */
  readonly trustedProxies?: readonly string[] | undefined;
};

/**
 * The shortest secret that is accepted. A key of 256 bits is always long enough, with 64 characters in hexadecimal or 44 in base64.
 */
const SECRET_CHARS_MIN = 32;
const secret = z
  .string()
  .min(
    SECRET_CHARS_MIN,
    `must have at least ${SECRET_CHARS_MIN} characters. Generate one with openssl rand -base64 32`,
  );
const HOUR_MS = 3_600_000;

/** All settings of a cluster dashboard. docs/reference/configuration.md is generated from this schema. */
export const clusterDashboardSettings = z
  .object({
    host: z.string().default('0.0.0.0').describe('Address to listen on.'),
    port: dashboardSettings.shape.port,
    admin: z
      .object({
        host: z.string().default('0.0.0.0').describe('Address on which /metrics is served.'),
        port: portSetting.default(9090).describe('Port on which /metrics is served.'),
      })
      .prefault({}),
    url: httpUrlSetting
      .optional()
      .describe('URL at which browsers reach the dashboard, such as https://standin.example.com. Required for OIDC.'),
    service: z
      .string()
      .regex(/^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/, 'must be NAMESPACE/NAME')
      .optional()
      .describe(
        'The dashboard’s Service, as NAMESPACE/NAME. The CLI uses it to recognize the dashboard behind kubectl port-forward.',
      ),
    gatewayUrl: gatewayUrlSetting.describe(
      'Base URL at which callers reach the gateways. Must match the setting of the operator. URLs and commands on pages start with it.',
    ),
    send: z
      .object({
        gatewayUrl: httpUrlSetting
          .optional()
          .describe(
            'Base URL at which the dashboard reaches the gateways inside the cluster, to send requests for users. If unset, gatewayUrl is used.',
          ),
      })
      .prefault({}),
    trustedProxies: listSetting(
      z.string().refine(isNetwork, 'must be an address or a network, such as 10.0.0.7 or 10.0.0.0/8'),
    )
      .default([])
      .describe(
        'Comma-separated addresses and CIDR networks of the proxies in front of the dashboard. X-Forwarded-For identifies clients behind them. Empty: the connection’s address identifies clients.',
      ),
    kubeconfig: z
      .string()
      .optional()
      .describe(
        'Path of a kubeconfig for the API server. The dashboard uses its credentials only to read names and shares. Unset: the pod’s ServiceAccount.',
      ),
    watch: watchSetting,
    session: z
      .object({
        key: secret.describe(
          'Key that encrypts session cookies. Must be the same in all replicas. Generate one with openssl rand -base64 32.',
        ),
        previousKey: secret
          .optional()
          .describe(
            'Previous key, whose sessions stay valid. To rotate keys, set the old key here for as long as a session lasts.',
          ),
        maxAgeMs: z.coerce
          .number()
          .int()
          .min(60_000)
          .default(12 * HOUR_MS)
          .describe(
            'Maximum lifetime of a session, in milliseconds. It ends earlier if its token expires and cannot be renewed.',
          ),
      })
      // With this default, validation fails at `key`, and the error names this setting.
      .prefault({} as never),
    dangerouslyAllowHttp: booleanSetting
      .default(false)
      .describe('Also send session cookies over plain HTTP. Anyone on the network path can then steal a session.'),
    oidc: z
      .object({
        issuer: z
          .url({ protocol: /^https$/ })
          .optional()
          .describe(
            'URL of an OpenID Connect provider that the API server also trusts. Unset: users sign in with tokens only.',
          ),
        clientId: z
          .string()
          .default('standin')
          .describe('Client ID at the provider. The client’s redirect URI must be URL/login/oidc/callback.'),
        clientSecret: z
          .string()
          .optional()
          .describe('Client secret. Unset: a public client. PKCE is used in both cases.'),
        scopes: z
          .string()
          .default('openid email profile')
          .describe('Space-separated scopes to request. Many providers issue a refresh token only for offline_access.'),
        name: z
          .string()
          .min(1)
          .max(40)
          .default('single sign-on')
          .describe('Name of the provider on the sign-in button.'),
      })
      .prefault({}),
    clickhouse: clickHouseSettings.prefault({}),
    operator: z
      .object({
        urls: listSetting(z.url({ protocol: /^https$/ }))
          .default(['https://standin-operator.standin-system.svc.cluster.local:9443'])
          .describe(
            'Comma-separated URLs of the operator’s config stream, where the dashboard reads which requests were refused.',
          ),
        tls: z
          .object({
            dir: z
              .string()
              .min(1)
              .default('/etc/standin/stream-tls')
              .describe('Folder with ca.crt, tls.crt and tls.key for the operator. The files are read for each call.'),
          })
          .prefault({}),
      })
      .prefault({}),
    logLevel: logLevelSetting.describe('Lowest level to log.'),
  })
  .superRefine(({ url, oidc }, context) => {
    if (oidc.issuer !== undefined && url === undefined)
      context.addIssue({ code: 'custom', path: ['url'], message: 'must be set if STANDIN_OIDC_ISSUER is set' });
  });

export type ClusterDashboardSettings = Readonly<z.infer<typeof clusterDashboardSettings>>;

/**
 * Sets NODE_ENV to `production`, unless it is set already, to disable React's development checks. React reads NODE_ENV when it
 * loads.
 */
export const preferProductionReact = (): void => {
  if (!Object.hasOwn(process.env, 'NODE_ENV')) process.env.NODE_ENV = 'production';
};

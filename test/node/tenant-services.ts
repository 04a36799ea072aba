import { connect } from 'node:tls';

/** Addresses of the release's pods. */
export interface ReleaseAddresses {
  readonly clickhouse: string;
  readonly operator: string;
}

export const TENANT = 'tenant';
const RELEASE = 'standin-system.svc.cluster.local';
const POD_PORT = 8080;

const object = (apiVersion: string, kind: string, name: string, rest: object) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: TENANT },
  ...rest,
});
const service = (name: string, spec: object) => object('v1', 'Service', name, { spec });
const alias = (name: string, externalName: string) => service(name, { type: 'ExternalName', externalName });
/** Returns an EndpointSlice with a manually chosen address for the Service of that name. */
const addresses = (name: string, address: string, port: number) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${name}-by-hand`, namespace: TENANT, labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  endpoints: [{ addresses: [address] }],
  ports: [{ name: '', port, protocol: 'TCP' }],
});
const endpoint = (name: string, serviceRef: object) =>
  object('standin.dev/v1alpha1', 'Endpoint', name, {
    spec: {
      projectRef: { name: 'shop' },
      displayName: name,
      slug: `/${name}`,
      method: 'POST',
      action: 'Forward',
      forward: { serviceRef },
    },
  });

/**
 * Returns the tenant's namespace, account and project, its Services, and endpoints that forward to them. The Service `own` is
 * created later.
 */
export const tenantObjects = ({ clickhouse, operator }: ReleaseAddresses): readonly object[] => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: TENANT } },
  object('standin.dev/v1alpha1', 'Account', 'default', { spec: {} }),
  object('standin.dev/v1alpha1', 'Project', 'shop', { spec: { accountRef: { name: 'default' } } }),
  alias('alias', `standin-clickhouse.${RELEASE}`),
  alias('metrics', `standin-gateway-pods.${RELEASE}`),
  alias('api', 'kubernetes.default.svc.cluster.local'),
  service('by-hand', { ports: [{ port: 8123 }] }),
  addresses('by-hand', clickhouse, 8123),
  // Only tenants who may write EndpointSlices can create those of `mixed` and `stream`, which add an address to those of the
  // selected pods.
  service('mixed', { selector: { app: 'none' }, ports: [{ port: 8123 }] }),
  addresses('mixed', clickhouse, 8123),
  service('stream', { selector: { app: 'none' }, ports: [{ port: 9443 }] }),
  addresses('stream', operator, 9443),
  endpoint('own', { name: 'own', port: 80 }),
  endpoint('alias', { name: 'alias', port: 8123 }),
  endpoint('metrics', { name: 'metrics', port: 9090, path: '/metrics' }),
  endpoint('api', { name: 'api', port: 443, scheme: 'https' }),
  endpoint('by-hand', { name: 'by-hand', port: 8123 }),
  endpoint('mixed', { name: 'mixed', port: 8123 }),
  endpoint('stream', { name: 'stream', port: 9443, scheme: 'https' }),
];

/** Returns the Service `own` with its pod, which responds with `pod`. */
export const ownService = (image: string): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'own', namespace: TENANT, labels: { app: 'own' } },
    spec: {
      containers: [
        {
          name: 'own',
          image,
          imagePullPolicy: 'Never',
          command: ['node', '-e', `require('http').createServer((_, s) => s.end('pod')).listen(${POD_PORT})`],
          readinessProbe: { tcpSocket: { port: POD_PORT }, periodSeconds: 1 },
        },
      ],
    },
  },
  service('own', { selector: { app: 'own' }, ports: [{ port: 80, targetPort: POD_PORT }] }),
];

/**
 * Sends a request without a client certificate to a TLS server. Returns the first part of the response, the error code, or
 * `closed`.
 */
export const helloWithoutCertificate = (host: string, port: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false });
    socket.once('secureConnect', () => socket.write('GET /v1/config HTTP/1.1\r\nhost: operator\r\n\r\n'));
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1')));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once('close', () => resolve('closed'));
  });

import { stringify } from 'yaml';

export interface KubeconfigInput {
  readonly server: string;
  /** The CA's certificate in PEM format. */
  readonly certificate: Buffer;
  readonly token: string;
  /** The name of the token's user in the kubeconfig. Any name works. */
  readonly user: string;
  readonly namespace?: string;
}

/** Returns a kubeconfig with one cluster, one user and one context. */
export const kubeconfigYaml = ({ server, certificate, token, user, namespace }: KubeconfigInput): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'standin-test', cluster: { server, 'certificate-authority-data': certificate.toString('base64') } },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [
      { name: user, context: { cluster: 'standin-test', user, ...(namespace === undefined ? {} : { namespace }) } },
    ],
    'current-context': user,
  });

import {
  formatVersion,
  isConflict,
  isNotFound,
  objectVersion,
  parseVersion,
  resourcePath,
  type KubeClient,
  type KubeObject,
} from '@standin/kube';
import type { CertificateStore } from './certificate-renewal.ts';
import { certificatesSchema, type Certificates } from './certificates.ts';

type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const encode = (text: string): string => Buffer.from(text).toString('base64');
const decode = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : Buffer.from(text, 'base64').toString('utf8');

/**
 * Stores the certificates in one Secret in the operator's namespace. Gateways mount only its `ca.crt`, `gateway.crt` and
 * `gateway.key` (as ca.crt, tls.crt, tls.key), and dashboards mount `ca.crt`, `dashboard.crt` and `dashboard.key`, so the CA's key stays with the operator.
 */
export const certificateSecret = (client: KubeClient, namespace: string, name: string): CertificateStore => {
  const secrets = { group: '', version: 'v1', plural: 'secrets', namespace };
  const path = resourcePath({ ...secrets, name });
  return {
    read: async () => {
      const secret = await client.get<Secret>(path).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      if (secret === undefined) return undefined;
      const certificates = certificatesSchema.safeParse(fromData(secret.data ?? {}));
      if (!certificates.success) {
        throw new Error(
          `Secret ${namespace}/${name} does not contain valid stream certificates: delete it, and the operator will create it again`,
        );
      }
      return { certificates: certificates.data, version: formatVersion(objectVersion(secret)) };
    },
    write: async (certificates, version) => {
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace, name },
        type: 'Opaque',
        data: toData(certificates),
      };
      try {
        if (version === undefined) await client.create(resourcePath(secrets), secret);
        else await client.replace(path, secret, parseVersion(version));
        return true;
      } catch (error) {
        // If the Secret was read, NotFound means that it was deleted in the meantime. Otherwise, the namespace does not exist.
        if (isConflict(error) || (version !== undefined && isNotFound(error))) return false;
        throw error;
      }
    },
  };
};

const toData = ({ caBundle, ca, nextCa, operator, gateway, dashboard }: Certificates): Record<string, string> => ({
  'ca.crt': encode(caBundle),
  'signing-ca.crt': encode(ca.cert),
  'signing-ca.key': encode(ca.key),
  ...(nextCa === undefined ? {} : { 'next-ca.crt': encode(nextCa.cert), 'next-ca.key': encode(nextCa.key) }),
  'operator.crt': encode(operator.cert),
  'operator.key': encode(operator.key),
  'gateway.crt': encode(gateway.cert),
  'gateway.key': encode(gateway.key),
  'dashboard.crt': encode(dashboard.cert),
  'dashboard.key': encode(dashboard.key),
});

const fromData = (data: Readonly<Record<string, string>>): unknown => {
  const pair = (name: string) => ({ cert: decode(data[`${name}.crt`]), key: decode(data[`${name}.key`]) });
  return {
    caBundle: decode(data['ca.crt']),
    ca: pair('signing-ca'),
    ...(data['next-ca.crt'] === undefined ? {} : { nextCa: pair('next-ca') }),
    operator: pair('operator'),
    gateway: pair('gateway'),
    dashboard: pair('dashboard'),
  };
};

import { X509Certificate } from 'node:crypto';
import { isNotFound, listAll, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import { readObject } from './check-references.ts';
import { failed, passed, type Finding } from './finding.ts';
import { environmentVariable, findComponent, type Condition, type Installation } from './installation.ts';

const CHECK = 'Certificates';
/** The chart's name of the volumes with certificates. */
const VOLUME = 'stream-tls';
/** Certificates are renewed when a third of their lifetime is left, so less than this means that the renewal fails. */
const LIFETIME_LEFT_MIN = 0.1;

/** Checks the certificates of the config stream in their Secrets. Rejects with `ApiError` if this user must not read them. */
export const checkCertificates = async (
  client: KubeClient,
  installation: Installation,
  now: Date,
): Promise<readonly Finding[]> => {
  const { namespace } = installation;
  const own = ownSecretName(installation);
  const secrets = await Promise.all(
    certificateSecretNames(installation).map(async (name) => ({
      name,
      data: (await readObject(client, namespace, { kind: 'Secret', name }))?.data,
    })),
  );
  const findings = secrets.flatMap(({ name, data }) =>
    Object.entries(data ?? {})
      .filter(([key]) => key.endsWith('.crt'))
      .flatMap(([key, text]) => {
        const problem = certificateProblem(Buffer.from(text, 'base64'), now);
        if (problem === undefined) return [];
        const remedy =
          name === own
            ? ownRemedy(namespace, name)
            : `See why cert-manager does not renew it: kubectl describe certificate -n ${namespace}.`;
        return [failed(CHECK, `${key} in Secret ${namespace}/${name} ${problem}.`, remedy)];
      }),
  );
  // The check of the Secrets reports a missing one.
  if (findings.length > 0 || secrets.some(({ data }) => data === undefined)) return findings;
  return [passed(CHECK, 'The certificates of the config stream are valid.')];
};

type CertificateObject = KubeObject & {
  readonly spec: { readonly secretName: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
};

/**
 * Checks that cert-manager renews the certificates, if the installation uses it. Rejects with `ApiError` if this user must not list
 * its Certificates.
 */
export const checkIssuance = async (client: KubeClient, installation: Installation): Promise<readonly Finding[]> => {
  const { namespace } = installation;
  const own = ownSecretName(installation);
  const secrets = certificateSecretNames(installation).filter((name) => name !== own);
  if (secrets.length === 0) return [];
  const certificates = await listCertificates(client, namespace);
  return secrets.flatMap((name) => {
    const certificate = certificates.find(({ spec }) => spec.secretName === name);
    if (certificate === undefined)
      return [
        failed(
          CHECK,
          `No Certificate of cert-manager exists for Secret ${namespace}/${name}, so it is not renewed.`,
          'Run helm upgrade, which creates it again.',
        ),
      ];
    const ready = certificate.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') return [];
    const why = ready?.message ?? 'cert-manager has not processed it';
    return [
      failed(
        CHECK,
        `Certificate ${namespace}/${certificate.metadata.name} is not ready: ${why}.`,
        `See the reason: kubectl describe certificate,certificaterequest -n ${namespace}.`,
      ),
    ];
  });
};

const listCertificates = (client: KubeClient, namespace: string): Promise<readonly CertificateObject[]> =>
  listAll<CertificateObject>(
    client,
    resourcePath({ group: 'cert-manager.io', version: 'v1', plural: 'certificates', namespace }),
  ).then(
    ({ items }) => items,
    (error: unknown) => {
      if (isNotFound(error)) return [];
      throw error;
    },
  );

/** The Secret with the certificates of the operator. With cert-manager, no pod mounts it. */
const ownSecretName = (installation: Installation): string | undefined =>
  environmentVariable(findComponent(installation, 'operator'), 'STANDIN_STREAM_CERTIFICATE_SECRET');

/** The Secrets with certificates of the config stream that pods mount, each once. */
const certificateSecretNames = ({ components }: Installation): readonly string[] => [
  ...new Set(
    components
      .flatMap(({ workload }) => workload.spec.template.spec.volumes ?? [])
      .filter(({ name }) => name === VOLUME)
      .flatMap(({ secret }) => secret?.secretName ?? []),
  ),
];

const ownRemedy = (namespace: string, name: string): string =>
  `The operator renews it. If it does not, delete the Secret, and the operator creates all certificates again: kubectl delete secret ${name} -n ${namespace}.`;

const certificateProblem = (pem: Buffer, now: Date): string | undefined => {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    return 'is not a certificate';
  }
  const { validFromDate: from, validToDate: to } = certificate;
  if (now < from) return `is not valid before ${from.toISOString()}`;
  if (now > to) return `expired at ${to.toISOString()}`;
  const left = (to.getTime() - now.getTime()) / (to.getTime() - from.getTime());
  return left < LIFETIME_LEFT_MIN ? `is about to expire, at ${to.toISOString()}` : undefined;
};

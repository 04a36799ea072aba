import { X509Certificate } from 'node:crypto';
import type { KubeClient } from '@standin/kube';
import { readObject, referencesOf } from './check-references.ts';
import { failed, passed, type Finding } from './finding.ts';
import { componentOf, variable, type Installation } from './installation.ts';

const CHECK = 'Certificates';
/** Certificates are renewed when a third of their lifetime is left, so less than this means that the renewal fails. */
const LIFETIME_LEFT_MIN = 0.1;

/** Checks the certificates of the config stream in their Secrets. Rejects with `ApiError` if this user must not read them. */
export const checkCertificates = async (
  client: KubeClient,
  installation: Installation,
  now: Date,
): Promise<readonly Finding[]> => {
  const { namespace, components } = installation;
  const own = variable(componentOf(installation, 'operator'), 'STANDIN_STREAM_CERTIFICATE_SECRET');
  const mounted = components
    .flatMap(referencesOf)
    .filter(({ kind, name }) => kind === 'Secret' && name.endsWith('-tls'));
  const names = [...new Set(mounted.map(({ name }) => name))];
  const findings = await Promise.all(
    names.map(async (name) => {
      const data = (await readObject(client, namespace, { kind: 'Secret', name }))?.data ?? {};
      return Object.entries(data)
        .filter(([key]) => key.endsWith('.crt'))
        .flatMap(([key, text]) => {
          const problem = problemOf(Buffer.from(text, 'base64'), now);
          if (problem === undefined) return [];
          const remedy =
            name === own
              ? ownRemedy(namespace, name)
              : `See why cert-manager does not renew it: kubectl describe certificate -n ${namespace}.`;
          return [failed(CHECK, `${key} in Secret ${namespace}/${name} ${problem}.`, remedy)];
        });
    }),
  );
  const all = findings.flat();
  return all.length > 0 ? all : [passed(CHECK, 'The certificates of the config stream are valid.')];
};

const ownRemedy = (namespace: string, name: string): string =>
  `The operator renews it. If it does not, delete the Secret, and the operator creates all certificates again: kubectl delete secret ${name} -n ${namespace}.`;

const problemOf = (pem: Buffer, now: Date): string | undefined => {
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

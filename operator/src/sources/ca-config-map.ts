import { LIMITS, UPSTREAM_CA_LABEL, type CertificatesValue, type ConfigMapObject } from '@standin/contract';
import { findCertificates } from '@standin/egress';

/** The parts of a ConfigMap that are used. Values that are not UTF-8 are in `binaryData`. */
export interface CaConfigMap {
  readonly namespace: string;
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
  readonly binaryData: Readonly<Record<string, unknown>>;
}

export const hasCaLabel = (labels: Readonly<Record<string, unknown>> | undefined): boolean =>
  labels?.[UPSTREAM_CA_LABEL] === 'true';

/** Returns a ConfigMap with only the certificates, because text between them and other values would take memory. */
export const caConfigMap = ({ namespace, name, data, binaryData }: CaConfigMap): ConfigMapObject => ({
  namespace,
  name,
  data: Object.fromEntries([
    ...Object.keys(binaryData).map(
      (key) => [key, { problem: 'is not text: convert the certificates to PEM' }] as const,
    ),
    ...Object.entries(data).map(([key, text]) => [key, readCertificates(text)] as const),
  ]),
});

const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/;

const readCertificates = (text: string): CertificatesValue => {
  if (text.trim() === '') return { problem: 'is empty: set it to the certificates, in PEM' };
  if (PRIVATE_KEY.test(text))
    return {
      problem:
        'contains a private key: remove it, issue another one because many can read ConfigMaps, and set only certificates',
    };
  const bytes = Buffer.byteLength(text);
  const max = LIMITS.upstreamCaBytesMax;
  if (bytes > max)
    return { problem: `has ${bytes} bytes, more than the maximum of ${max}: remove certificates and text` };
  const certificates = findCertificates(text);
  return certificates === undefined
    ? { problem: 'is not a list of certificates in PEM, which begin with -----BEGIN CERTIFICATE-----' }
    : { certificates: copy(certificates.join('\n')) };
};

/** A part of a text would keep the whole text in memory. */
const copy = (ascii: string): string => Buffer.from(ascii, 'latin1').toString('latin1');

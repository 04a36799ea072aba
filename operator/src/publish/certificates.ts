// tsyringe, a dependency of @peculiar/x509, requires this polyfill to be loaded first.
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { STREAM_CLIENT_NAME, STREAM_DASHBOARD_NAME, STREAM_SERVER_NAME } from '@standin/contract';
import * as x509 from '@peculiar/x509';
import { z } from 'zod';

/** A PEM certificate and its PKCS #8 key. */
const keyPair = z.object({ cert: z.string(), key: z.string() }).readonly();

/**
 * The certificates of the config stream: a private CA, and one certificate each for operators, for gateways and for dashboards. All of
 * them are stored in one Secret or file. The first operator creates the certificates, which are renewed long before they expire.
 */
export const certificatesSchema = z
  .object({
    /**
     * The CAs that both sides trust, in PEM format. The bundle contains the current CA and, during a change of CA, also the next or
     * the previous one.
     */
    caBundle: z.string(),
    ca: keyPair,
    /** The next CA. It is already trusted, but does not sign certificates yet. */
    nextCa: keyPair.optional(),
    operator: keyPair,
    gateway: keyPair,
    dashboard: keyPair,
  })
  .readonly();

export type Certificates = z.infer<typeof certificatesSchema>;
type KeyPair = z.infer<typeof keyPair>;

/** TLS options for node:tls. */
export interface ServerCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export const serverCertificate = ({ caBundle, operator }: Certificates): ServerCertificate => ({
  ca: caBundle,
  cert: operator.cert,
  key: operator.key,
});

const DAY_MS = 24 * 60 * 60 * 1000;
const CA_DAYS = 3_650;
const LEAF_DAYS = 90;
/** Certificates are renewed when less than a third of their lifetime is left. */
const RENEW_FRACTION = 1 / 3;
/** The next CA is in the bundle for this long before it signs certificates, so that every process has read the bundle by then. */
const CA_OVERLAP_MS = DAY_MS;
/** Certificates are valid from this long before they are issued, because the nodes' clocks may differ. */
const BACKDATE_MS = 60 * 60 * 1000;

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

x509.cryptoProvider.set(webcrypto);

/**
 * Resolves with the certificates to use now, or with `current` itself if no change is necessary. Pure except for the random keys.
 */
export const planCertificates = async (current: Certificates | undefined, now: Date): Promise<Certificates> => {
  if (current === undefined) {
    const ca = await makeCa(now);
    return { caBundle: ca.cert, ca, ...(await makeLeaves(ca, now)) };
  }
  const { ca, nextCa } = current;
  if (nextCa !== undefined && age(nextCa, now) > CA_OVERLAP_MS) {
    return { caBundle: `${nextCa.cert}\n${ca.cert}`, ca: nextCa, ...(await makeLeaves(nextCa, now)) };
  }
  if (nextCa === undefined && isDue(ca, now)) {
    const next = await makeCa(now);
    return { ...current, nextCa: next, caBundle: `${ca.cert}\n${next.cert}` };
  }
  const { operator, gateway, dashboard } = current;
  if ([operator, gateway, dashboard].every((leaf) => !isDue(leaf, now))) return current;
  return { ...current, ...(await makeLeaves(ca, now)) };
};

const age = ({ cert }: KeyPair, now: Date): number =>
  now.getTime() - new x509.X509Certificate(cert).notBefore.getTime() - BACKDATE_MS;

const isDue = ({ cert }: KeyPair, now: Date): boolean => {
  const { notBefore, notAfter } = new x509.X509Certificate(cert);
  const life = notAfter.getTime() - notBefore.getTime();
  return notAfter.getTime() - now.getTime() < life * RENEW_FRACTION;
};

const validity = (now: Date, days: number): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(now.getTime() - BACKDATE_MS),
  notAfter: new Date(now.getTime() + days * DAY_MS),
});

const serialNumber = (): string => `01${randomBytes(15).toString('hex')}`;

const makeCa = async (now: Date): Promise<KeyPair> => {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: 'CN=Standin config stream CA',
    ...validity(now, CA_DAYS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
};

const COMMON_NAMES = {
  operator: STREAM_SERVER_NAME,
  gateway: STREAM_CLIENT_NAME,
  dashboard: STREAM_DASHBOARD_NAME,
} as const;
type Side = keyof typeof COMMON_NAMES;

const makeLeaves = async (ca: KeyPair, now: Date): Promise<Record<Side, KeyPair>> => {
  const [operator, gateway, dashboard] = await Promise.all([
    makeLeaf(ca, 'operator', now),
    makeLeaf(ca, 'gateway', now),
    makeLeaf(ca, 'dashboard', now),
  ]);
  return { operator, gateway, dashboard };
};

const makeLeaf = async (ca: KeyPair, side: Side, now: Date): Promise<KeyPair> => {
  const issuer = new x509.X509Certificate(ca.cert);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const commonName = COMMON_NAMES[side];
  const usage = side === 'operator' ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: `CN=${commonName}`,
    issuer: issuer.subject,
    ...validity(now, LEAF_DAYS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importKey(ca.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([usage]),
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: commonName }]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { cert: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
};

const exportKey = async (key: webcrypto.CryptoKey): Promise<string> =>
  x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

const importKey = async (pem: string): Promise<webcrypto.CryptoKey> => {
  const [der] = x509.PemConverter.decode(pem);
  if (der === undefined) throw new Error('the CA key is not a PEM private key');
  return webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
};

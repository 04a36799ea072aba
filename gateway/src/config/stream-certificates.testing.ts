// tsyringe, a dependency of @peculiar/x509, needs this polyfill to be loaded first.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { STREAM_CLIENT_NAME, STREAM_SERVER_NAME } from '@standin/contract';

export interface StreamCertificates {
  readonly ca: string;
  readonly server: { readonly cert: string; readonly key: string };
  readonly client: { readonly cert: string; readonly key: string };
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const HOUR_MS = 60 * 60 * 1000;

x509.cryptoProvider.set(webcrypto);

/** Creates a CA and one certificate for each end of the config stream, valid for an hour. */
export const makeStreamCertificates = async (): Promise<StreamCertificates> => {
  const validity = { notBefore: new Date(Date.now() - HOUR_MS), notAfter: new Date(Date.now() + HOUR_MS) };
  const caKeys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=test CA',
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys: caKeys,
    extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
  });
  const leaf = async (name: string, serialNumber: string) => {
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber,
      subject: `CN=${name}`,
      issuer: ca.subject,
      ...validity,
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey: caKeys.privateKey,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
    });
    const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
    return { cert: certificate.toString('pem'), key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY') };
  };
  const [server, client] = await Promise.all([leaf(STREAM_SERVER_NAME, '02'), leaf(STREAM_CLIENT_NAME, '03')]);
  return { ca: ca.toString('pem'), server, client };
};

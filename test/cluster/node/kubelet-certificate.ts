// tsyringe, inside @peculiar/x509, requires the polyfill to be loaded first.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import * as x509 from '@peculiar/x509';
import { CLIENT_CERTIFICATE, CLIENT_KEY } from './config-files.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 24 * 60 * 60 * 1000;
const LIFE_MS = 30 * DAY_MS;

/**
 * Writes the certificate and the key with which the API server calls the kubelet. The certificate is its own CA, so the kubelet
 * trusts no other client.
 */
export const writeKubeletClientCertificate = async (): Promise<void> => {
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=kube-apiserver, O=system:masters',
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + LIFE_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  await writeFile(CLIENT_CERTIFICATE, certificate.toString('pem'));
  await writeFile(CLIENT_KEY, x509.PemConverter.encode(key, 'PRIVATE KEY'), { mode: 0o600 });
};

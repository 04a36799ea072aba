import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import * as x509 from '@peculiar/x509';

/** A real HTTPS server with a self-signed certificate, which only clients that get `ca` trust. */
export interface TlsUpstream {
  readonly url: string;
  /** The server's self-signed certificate in PEM format, which clients need as a CA certificate. */
  readonly ca: string;
  close(): Promise<void>;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

x509.cryptoProvider.set(webcrypto);

/** Returns a self-signed certificate for `localhost` and its key, in PEM format. By default, it is valid for a day. */
export const selfSigned = async (
  notAfter = new Date(Date.now() + 86_400_000),
): Promise<{ readonly cert: string; readonly key: string }> => {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=localhost',
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }]),
    ],
  });
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { cert: certificate.toString('pem'), key };
};

export const startTlsUpstream = async (
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<TlsUpstream> => {
  const { cert: ca, key } = await selfSigned();
  const server = createServer({ cert: ca, key }, answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://localhost:${port}`,
    ca,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

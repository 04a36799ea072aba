import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import * as x509 from '@peculiar/x509';

/**
 * Handles request number `count` (starting at 1) across all connections. `request` is its head and the bytes that arrived with
 * it, as latin1.
 */
export type Script = (socket: Socket, request: string, count: number) => void;

export interface RawUpstream extends AsyncDisposable {
  readonly port: number;
  /** Returns all received bytes as latin1. */
  received(): string;
  connections(): number;
}

const listening = async (server: Server, sockets: Set<Socket>, state: { text: string; count: number }) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received: () => state.text,
    connections: () => state.count,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** Starts a server that sends exactly the scripted bytes, valid or not. */
export const startRawUpstream = (
  script: Script | string,
  tls?: { readonly cert: string; readonly key: string },
): Promise<RawUpstream> => {
  const sockets = new Set<Socket>();
  const state = { text: '', count: 0 };
  let requests = 0;
  const onConnection = (socket: Socket) => {
    state.count += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      const text = data.toString('latin1');
      state.text += text;
      if (!text.includes('\r\n\r\n')) return;
      requests += 1;
      if (typeof script === 'string') socket.end(script, 'latin1');
      else script(socket, text, requests);
    });
  };
  return listening(tls ? createTlsServer(tls, onConnection) : createServer(onConnection), sockets, state);
};

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Creates a CA and a certificate for `name` that the CA has signed, with their keys, as PEM. */
export const makeCertificate = async (
  name: string,
  { ip, notAfter }: { readonly ip?: string; readonly notAfter?: Date } = {},
): Promise<{ ca: string; caKey: string; cert: string; key: string }> => {
  x509.cryptoProvider.set(webcrypto);
  const generate = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const [caKeys, keys] = await Promise.all([generate(), generate()]);
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: notAfter ?? new Date(Date.now() + 3_600_000) };
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    name: 'CN=Test CA',
    keys: caKeys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const cert = await x509.X509CertificateGenerator.create({
    ...validity,
    subject: `CN=${name}`,
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: name },
        ...(ip === undefined ? [] : [{ type: 'ip' as const, value: ip }]),
      ]),
    ],
  });
  const [caKey = '', key = ''] = await Promise.all(
    [caKeys, keys].map(async ({ privateKey }) =>
      x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY'),
    ),
  );
  return { ca: ca.toString('pem'), caKey, cert: cert.toString('pem'), key };
};

import { X509Certificate } from 'node:crypto';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { STREAM_SERVER_NAME } from '@standin/contract';
import { expect, test } from 'vitest';
import { planCertificates, serverCertificate, type Certificates } from './certificates.ts';

const now = new Date('2026-11-21T12:00:00Z');
const daysLater = (days: number): Date => new Date(now.getTime() + days * 24 * 60 * 60 * 1000);

/** Performs a TLS 1.3 handshake. Resolves with the client name that the server saw, or with an error. */
const handshake = async (server: Certificates, client: Certificates): Promise<string> => {
  const listener = createServer({ ...serverCertificate(server), requestCert: true, rejectUnauthorized: true });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const { caBundle: ca, gateway } = client;
  const seen = once(listener, 'secureConnection') as Promise<[TLSSocket]>;
  const socket = connect({ port, ca, ...gateway, servername: STREAM_SERVER_NAME });
  try {
    await once(socket, 'secureConnect');
    const [peer] = await seen;
    return String(peer.getPeerCertificate().subject.CN);
  } finally {
    socket.destroy();
    listener.close();
  }
};

test('gateway and operator trust each other, and no other CA', async () => {
  const real = await planCertificates(undefined, new Date());
  const other = await planCertificates(undefined, new Date());
  expect(await handshake(real, real)).toBe('standin-gateway');
  await expect(handshake(real, { ...other, caBundle: other.caBundle })).rejects.toThrow(/self-signed|unable to verify/);
});

test('the same CA renews both certificates when a third of their lifetime is left', async () => {
  const first = await planCertificates(undefined, now);
  expect(await planCertificates(first, daysLater(59))).toBe(first);
  const renewed = await planCertificates(first, daysLater(61));
  expect(renewed.ca).toEqual(first.ca);
  expect(renewed.gateway).not.toEqual(first.gateway);
  expect(new X509Certificate(renewed.operator.cert).checkIssued(new X509Certificate(first.ca.cert))).toBe(true);
});

test('a new CA is trusted for a day before it signs certificates, and the old one stays trusted', async () => {
  const first = await planCertificates(undefined, now);
  const announced = await planCertificates(first, daysLater(2_500));
  expect(announced.caBundle).toBe(`${first.ca.cert}\n${announced.nextCa?.cert ?? ''}`);
  expect(announced.operator).toEqual(first.operator);
  const promoted = await planCertificates(announced, daysLater(2_502));
  expect(promoted.ca).toEqual(announced.nextCa);
  expect(promoted.nextCa).toBeUndefined();
  expect(promoted.caBundle).toContain(first.ca.cert);
  expect(new X509Certificate(promoted.gateway.cert).checkIssued(new X509Certificate(promoted.ca.cert))).toBe(true);
});

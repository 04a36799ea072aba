import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { EgressOptions } from './egress.ts';
import { isCertificates } from './certificates.ts';
import { rawResponse, cleanUp, egressWith, get, resolving } from './egress.testing.ts';
import { makeCertificate } from './raw-upstream.testing.ts';

const NAME = 'api.example.test';

/** Starts an upstream with TLS. Returns its port and the server names that clients request. */
const tlsUpstream = async (options: TlsOptions) => {
  const names: (string | undefined)[] = [];
  const server = createTlsServer(options, (socket) => {
    names.push(typeof socket.servername === 'string' ? socket.servername : undefined);
    socket.on('error', () => undefined).end(rawResponse('ok'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => Promise.resolve(server.close()));
  return { names, port: (server.address() as AddressInfo).port };
};

const ask = async (port: number, host: string, options: Partial<EgressOptions>): Promise<string> => {
  const egress = egressWith({ ...resolving('127.0.0.1'), ...options });
  return (await buffer((await egress.request(get(port, { url: `https://${host}:${port}/a` }))).body)).toString();
};

// RFC 6066 section 3: a server name has no trailing dot.
test('a host name with a trailing dot is sent and verified without it', async () => {
  const { ca, cert, key } = await makeCertificate(NAME);
  const { names, port } = await tlsUpstream({ cert, key, SNICallback: (_, done) => done(null) });
  expect(await ask(port, `${NAME}.`, { ca })).toBe('ok');
  expect(names).toEqual([NAME]);
});

test('another Host header does not change the name in TLS, and connections are used again', async () => {
  const { ca, cert, key } = await makeCertificate(NAME);
  const names = new Set<unknown>();
  const hosts: (string | undefined)[] = [];
  let connections = 0;
  const server = createHttpsServer({ cert, key }, (request, response) => {
    names.add('servername' in request.socket ? request.socket.servername : undefined);
    hosts.push(request.headers.host);
    response.end('ok');
  }).listen(0, '127.0.0.1');
  server.on('secureConnection', () => (connections += 1));
  await once(server, 'listening');
  cleanUp(() => Promise.resolve(server.close()));
  const { port } = server.address() as AddressInfo;
  const egress = egressWith({ ...resolving('127.0.0.1'), ca });
  const wanted = ['mocks.example.com', 'other.example.com:8443', 'a', 'b', 'c', undefined];
  for (const host of wanted)
    await buffer((await egress.request({ ...get(port, { url: `https://${NAME}:${port}/a` }), host })).body);
  expect(hosts).toEqual([...wanted.slice(0, -1), `${NAME}:${port}`]);
  expect([...names]).toEqual([NAME]);
  // The next request may begin before the connection of the last one is free.
  expect(connections).toBeLessThanOrEqual(2);
});

test('a certificate for another name is refused without its names and addresses', async () => {
  const { ca, cert, key } = await makeCertificate('internal.example.test', { ip: '10.1.2.3' });
  const { port } = await tlsUpstream({ cert, key });
  await expect(ask(port, NAME, { ca })).rejects.toMatchObject({
    code: 'upstream_unreachable',
    message: `The certificate of https://${NAME}:${port} is for another host name.`,
    detail: expect.stringContaining('10.1.2.3') as string,
  });
});

test('a certificate that is not trusted is refused with a reason for users', async () => {
  const { cert, key } = await makeCertificate(NAME);
  const { port } = await tlsUpstream({ cert, key });
  await expect(ask(port, NAME, {})).rejects.toMatchObject({
    code: 'upstream_unreachable',
    message: `The certificate of https://${NAME}:${port} is not trusted: unable to verify the first certificate.`,
  });
});

test('a certificate that has expired is refused', async () => {
  const { ca, cert, key } = await makeCertificate(NAME, { notAfter: new Date(Date.now() - 1_000) });
  const { port } = await tlsUpstream({ cert, key });
  await expect(ask(port, NAME, { ca })).rejects.toThrow(/ is not trusted: certificate has expired\.$/);
});

test('a port without TLS, and another version of TLS, are reported in one line without addresses in memory', async () => {
  const plain = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
  await once(plain, 'listening');
  const { ca, cert, key } = await makeCertificate(NAME);
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  const { port } = await tlsUpstream({ cert, key, ...old });
  for (const [at, reason] of [
    [(plain.address() as AddressInfo).port, 'wrong version number'],
    [port, 'tlsv1 alert protocol version'],
  ] as const)
    await expect(ask(at, NAME, { ca })).rejects.toMatchObject({
      code: 'upstream_unreachable',
      message: `Could not connect to https://${NAME}:${at}: ${reason}.`,
    });
  plain.close();
});

test('certificates are one or more PEM certificates, and nothing that cannot be read', async () => {
  const { ca, cert } = await makeCertificate(NAME);
  for (const text of [ca, `# ours\n${ca}\n${cert}`, ca.replaceAll('\n', '\r\n')])
    expect(isCertificates(text)).toBe(true);
  for (const text of [
    '',
    'not a certificate',
    '/etc/ca.crt',
    ca.slice(0, 100) + ca.slice(140),
    `${ca}${cert.slice(0, 80)}`,
  ])
    expect(isCertificates(text), text).toBe(false);
});

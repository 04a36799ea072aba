import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { EgressOptions } from './egress.ts';
import { EgressError } from './egress-error.ts';
import { Authority, type UpstreamTls } from './authority.ts';
import { findCertificates } from './certificates.ts';
import { rawResponse, cleanUp, egressWith, get, resolving } from './egress.testing.ts';
import { makeCertificate, startRawUpstream } from './raw-upstream.testing.ts';

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
    message: `The certificate of https://${NAME}:${port} is for another host name: set forward.tls.serverName to a name in the certificate.`,
    detail: expect.stringContaining('10.1.2.3') as string,
  });
});

describe('with an authority of its own, a request', () => {
  const askWith = async (port: number, tls: UpstreamTls, host = NAME): Promise<string> => {
    const egress = egressWith(resolving('127.0.0.1'));
    return (await buffer((await egress.request(get(port, { url: `https://${host}:${port}/a`, tls }))).body)).toString();
  };

  test('trusts it, and neither those of the settings nor those of the system', async () => {
    const [own, other] = await Promise.all([makeCertificate(NAME), makeCertificate(NAME)]);
    const { port } = await tlsUpstream(own);
    expect(await askWith(port, { authority: new Authority(own.ca) })).toBe('ok');
    expect(await askWith(port, { authority: new Authority(`${other.ca}\n${own.ca}`) })).toBe('ok');
    const egress = egressWith({ ...resolving('127.0.0.1'), ca: own.ca });
    const tls = { authority: new Authority(other.ca) };
    await expect(egress.request(get(port, { url: `https://${NAME}:${port}/`, tls }))).rejects.toThrow(
      /is not signed by an authority in forward\.tls\.caRef: add the certificate of its authority to the ConfigMap/,
    );
  });

  test('expects its server name in place of the host, also if this is an address', async () => {
    const own = await makeCertificate('internal.test');
    const { names, port } = await tlsUpstream({ ...own, SNICallback: (_, done) => done(null) });
    const authority = new Authority(own.ca);
    for (const host of [NAME, '127.0.0.1'])
      expect(await askWith(port, { authority, serverName: 'internal.test' }, host)).toBe('ok');
    expect(names).toEqual(['internal.test', 'internal.test']);
    await expect(askWith(port, { authority, serverName: 'other.test' })).rejects.toThrow(
      `The certificate of https://${NAME}:${port} is not for the name other.test: set forward.tls.serverName to a name in the certificate.`,
    );
    await expect(askWith(port, { authority })).rejects.toThrow(/is for another host name/);
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'verifies each connection, and shares none with other authorities, names and Accounts (%s)',
    async (version) => {
      const own = await makeCertificate(NAME);
      const sessions: boolean[] = [];
      const server = createHttpsServer({ ...own, minVersion: version, maxVersion: version }, (_, response) => {
        response.end('ok');
      }).listen(0, '127.0.0.1');
      server.on('secureConnection', (socket) => sessions.push(socket.isSessionReused()));
      await once(server, 'listening');
      cleanUp(() => Promise.resolve(server.close()));
      const { port } = server.address() as AddressInfo;
      const egress = egressWith(resolving('127.0.0.1'));
      const send = async (account: string, tls: UpstreamTls | undefined): Promise<string> => {
        const sender = { namespace: 'team', account };
        const { body } = await egress.request(get(port, { url: `https://${NAME}:${port}/a`, ...sender, tls }));
        const text = (await buffer(body)).toString();
        await nextTurn();
        await nextTurn();
        return text;
      };
      const authority = new Authority(own.ca);
      for (const tls of [{ authority }, { authority: new Authority(own.ca) }, { authority, serverName: NAME }])
        for (const account of ['a', 'b', 'a']) expect(await send(account, tls)).toBe('ok');
      // Equal certificates share connections.
      expect(sessions).toEqual([false, false, false, false]);
      const other = new Authority((await makeCertificate(NAME)).ca);
      for (const tls of [undefined, { authority: other }, { authority, serverName: 'other.test' }])
        await expect(send('a', tls)).rejects.toMatchObject({ code: 'upstream_unreachable' });
    },
  );
});

test('earlier certificates that connections of a namespace still use are limited', async () => {
  const [own, ...others] = await Promise.all([NAME, 'b.test', 'c.test'].map((name) => makeCertificate(name)));
  const [first, second, third] = ['', ...others.map(({ ca }) => ca)].map((ca) => new Authority(`${own?.ca}\n${ca}`));
  const server = createHttpsServer({ cert: own?.cert, key: own?.key }, (_, response) => void response.write('a'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanUp(() => Promise.resolve(server.close()));
  const { port } = server.address() as AddressInfo;
  const caBytesInUseMax = (first?.bytes ?? 0) + (second?.bytes ?? 0);
  const egress = egressWith({ ...resolving('127.0.0.1'), caBytesInUseMax });
  const stream = async (namespace: string, authority: Authority | undefined) =>
    (await egress.request(get(port, { url: `https://${NAME}:${port}/`, namespace, tls: { authority } }))).body;
  // A connection that fails does not use any.
  await expect(stream('team', new Authority(others[0]?.ca ?? ''))).rejects.toThrow(/not signed by an authority/);
  const streams = [await stream('team', first), await stream('team', second), await stream('team', second)];
  await expect(stream('team', third)).rejects.toThrow(/already use too many different certificates/);
  streams.push(await stream('other', third));
  streams[0]?.destroy();
  await expect.poll(() => stream('team', third).then((body) => streams.push(body))).toBe(5);
  for (const body of streams) body.destroy();
});

describe('an upstream', () => {
  /** Resolves with the error of a request, and checks that it has none of the words of OpenSSL and Node. */
  const failure = async (port: number, { ca, scheme = 'https' }: { ca?: string; scheme?: string } = {}) => {
    const egress = egressWith({ ...resolving('127.0.0.1'), ...(ca === undefined ? {} : { ca }) });
    const error = (await egress
      .request(get(port, { url: `${scheme}://${NAME}:${port}/` }))
      .catch((thrown: unknown) => thrown)) as EgressError;
    expect(error).toBeInstanceOf(EgressError);
    expect(error.message).not.toMatch(
      /ssl|routines|0x|[A-Z]+_[A-Z_]+|\balert\b|node|--|local issuer|handshake failure/i,
    );
    expect(error.message).toMatch(/^(https:|[A-Z]).*\.$/);
    return { code: error.code, message: error.message.replace(`https://${NAME}:${port}`, 'UPSTREAM') };
  };

  test.each([
    [
      'has a certificate of an unknown authority',
      {},
      'The certificate of UPSTREAM is signed by an authority that is not trusted: set forward.tls.caRef to the certificate of the authority, or let the upstream send the certificates in between.',
    ],
    [
      'has a certificate that has expired',
      { notAfter: new Date(Date.now() - 1_000) },
      'The certificate of UPSTREAM, or of an authority that signed it, has expired: renew it.',
    ],
  ])('that %s is reported in words', async (_name, options, message) => {
    const { ca, ...pair } = await makeCertificate(NAME, options);
    const { port } = await tlsUpstream(pair);
    expect(await failure(port, 'notAfter' in options ? { ca } : {})).toEqual({ code: 'upstream_unreachable', message });
  });

  test('that has a self-signed certificate is reported in words', async () => {
    const { ca, caKey } = await makeCertificate(NAME);
    const { port } = await tlsUpstream({ cert: ca, key: caKey });
    expect(await failure(port)).toEqual({
      code: 'upstream_unreachable',
      message: 'The certificate of UPSTREAM is self-signed: set forward.tls.caRef to this certificate.',
    });
  });

  test.each([
    [
      'requires a client certificate (TLS 1.2)',
      { requestCert: true, maxVersion: 'TLSv1.2' },
      'UPSTREAM refused the TLS handshake: it requires a client certificate, which Standin does not have, or none of its ciphers is supported.',
    ],
    [
      'requires a client certificate (TLS 1.3)',
      { requestCert: true, minVersion: 'TLSv1.3' },
      'The upstream requires a client certificate, which Standin does not have: make it optional, or forward to a proxy that sends one.',
    ],
    [
      'accepts only HTTP/2',
      { ALPNProtocols: ['h2'] },
      'UPSTREAM does not accept HTTP/1.1, probably because it requires HTTP/2, which Standin does not support: enable HTTP/1.1.',
    ],
    [
      'has only TLS 1.1',
      { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
      'UPSTREAM does not support TLS 1.2 or 1.3: enable one of them.',
    ],
    [
      'does not know the name',
      { SNICallback: (_: string, done: (error: Error) => void) => done(new Error('unknown name')) },
      'UPSTREAM closed the connection during the TLS handshake: check that this port uses TLS.',
    ],
  ] satisfies [string, TlsOptions, string][])('that %s is reported in words', async (_name, options, message) => {
    const { ca, cert, key } = await makeCertificate(NAME);
    const { port } = await tlsUpstream({ cert, key, ...options });
    expect(await failure(port, { ca })).toEqual({ code: 'upstream_unreachable', message });
  });

  // Names and numbers: RFC 8446 section 6.
  test.each([
    ['handshake_failure', 40, /requires a client certificate, .* or none of its ciphers is supported\.$/],
    ['bad_certificate', 42, /requires a client certificate/],
    ['certificate_unknown', 46, /requires a client certificate/],
    ['unknown_ca', 48, /requires a client certificate/],
    ['protocol_version', 70, /does not support TLS 1\.2 or 1\.3/],
    ['insufficient_security', 71, /check the TLS versions, the ciphers and the certificate of the upstream\.$/],
    ['internal_error', 80, /has no certificate for the name in its URL: set forward\.tls\.serverName/],
    ['unrecognized_name', 112, /has no certificate for the name in its URL: set forward\.tls\.serverName/],
    ['certificate_required', 116, /requires a client certificate/],
    ['no_application_protocol', 120, /requires HTTP\/2/],
  ])('that reports %s is reported in words', async (_name, alert, message) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, alert])));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanUp(() => Promise.resolve(server.close()));
    const failed = await failure((server.address() as AddressInfo).port);
    expect(failed).toEqual({ code: 'upstream_unreachable', message: expect.stringMatching(message) as string });
  });

  test('that does not use TLS is reported in words', async () => {
    const plain = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
    await once(plain, 'listening');
    cleanUp(() => Promise.resolve(plain.close()));
    expect(await failure((plain.address() as AddressInfo).port)).toEqual({
      code: 'upstream_unreachable',
      message: 'UPSTREAM does not use TLS on this port: set http in place of https, or another port.',
    });
  });

  test('that reports a TLS error to a request without TLS is reported in words', async () => {
    const upstream = await startRawUpstream((socket) => socket.end(Buffer.from('15030100020246', 'hex')));
    cleanUp(() => upstream[Symbol.asyncDispose]());
    expect(await failure(upstream.port, { scheme: 'http' })).toEqual({
      code: 'upstream_invalid',
      message: 'The upstream uses TLS on this port: set https in place of http, or another port.',
    });
  });

  test.each([
    ['settings', '000012040000000000000300000064000400100000000600004000'],
    ['a GOAWAY', '0000080700000000000000000000000001'],
  ])('that responds in HTTP/2 with %s is reported in words', async (_name, frame) => {
    const { ca, ...pair } = await makeCertificate(NAME);
    const upstream = await startRawUpstream((socket) => socket.end(Buffer.from(frame, 'hex')), pair);
    cleanUp(() => upstream[Symbol.asyncDispose]());
    expect(await failure(upstream.port, { ca })).toEqual({
      code: 'upstream_invalid',
      message: 'The upstream responded in HTTP/2, which Standin does not support: enable HTTP/1.1.',
    });
  });
});

test('certificates are one or more PEM certificates, and nothing that cannot be read', async () => {
  const { ca, cert } = await makeCertificate(NAME);
  for (const text of [ca, `# ours\n${ca}\n${cert}`, ca.replaceAll('\n', '\r\n')])
    expect(findCertificates(text)?.join('')).toBe(text.replace(/# ours\n|\n(?=-----BEGIN)/g, '').trim());
  for (const text of [
    '',
    'not a certificate',
    '/etc/ca.crt',
    ca.slice(0, 100) + ca.slice(140),
    `${ca}${cert.slice(0, 80)}`,
  ])
    expect(findCertificates(text), text).toBeUndefined();
});

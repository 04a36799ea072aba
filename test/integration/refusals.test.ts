import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { SourceError, type GatheredRefusals } from '@standin/contract';
import { pino } from 'pino';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { operatorClient } from '../../dashboard/src/cluster/operator-client.ts';
import { planCertificates, serverCertificate, type Certificates } from '../../operator/src/publish/certificates.ts';
import { ConfigLog } from '../../operator/src/publish/config-log.ts';
import { StreamServer, type Publication } from '../../operator/src/publish/stream-server.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/** Tests how the dashboard reads refused requests from several operators, over mutual TLS. */

const GATHERED: GatheredRefusals = {
  counts: [{ code: 'api_key_missing', sender: 'GitHub', count: 3, lastAt: 1 }],
  omitted: 0,
  unknownProject: 4,
  missing: [],
};
const logger = pino({ level: 'silent' });

let certificates: Certificates;
let tlsDir: string;
let follower: StreamServer;
let leader: StreamServer;
let gathered: string[];

const serverUrl = ({ port }: StreamServer): string => `https://127.0.0.1:${port}`;
const PROJECT = { namespace: 'a', name: 'shop', uid: 'uid & more' };
const newClient = (...servers: readonly StreamServer[]) =>
  operatorClient({ urls: servers.map(serverUrl), tlsDir, logger });
const read = (...servers: readonly StreamServer[]) => newClient(...servers).refusals(PROJECT);

const writePair = async ({ cert, key }: { readonly cert: string; readonly key: string }): Promise<void> => {
  await writeFile(path.join(tlsDir, 'ca.crt'), certificates.caBundle);
  await writeFile(path.join(tlsDir, 'tls.crt'), cert);
  await writeFile(path.join(tlsDir, 'tls.key'), key);
};

beforeAll(async () => {
  certificates = await planCertificates(undefined, new Date());
  tlsDir = await createTempFolder('refusals');
});
beforeEach(async () => {
  const certificate = serverCertificate(certificates);
  const options = { host: '127.0.0.1', port: 0, certificate, logger };
  [follower, leader] = await Promise.all([StreamServer.listen(options), StreamServer.listen(options)]);
  gathered = [];
  leader.lead({
    log: new ConfigLog(1),
    gateways: {} as Publication['gateways'],
    quota: {} as Publication['quota'],
    refusals: {
      gather: (project) => {
        gathered.push(project);
        return Promise.resolve(GATHERED);
      },
      report: () => undefined,
    },
    settlement: {} as Publication['settlement'],
    holdsIdentity: (claimed) => isDeepStrictEqual(claimed, { kind: 'Project', ...PROJECT }),
  });
  await writePair(certificates.dashboard);
});
afterEach(() => Promise.all([follower.close(), leader.close()]));

test('the leader is asked, in any order', async () => {
  expect(await read(leader, follower)).toEqual(GATHERED);
  expect(await read(follower, leader)).toEqual(GATHERED);
  expect(gathered).toEqual(['uid & more', 'uid & more']);
});

test('the leader confirms identities by kind, namespace, name and uid', async () => {
  const right = { kind: 'Project', ...PROJECT } as const;
  const claimed = [
    right,
    { ...right, kind: 'Account' },
    { ...right, name: 'other' },
    { ...right, namespace: 'b' },
  ] as const;
  expect(await newClient(leader).holdIdentities(claimed)).toEqual([true, false, false, false]);
});

test('the refused requests of an identity that the project does not have are not read', async () => {
  await expect(newClient(leader).refusals({ ...PROJECT, namespace: 'b' })).rejects.toMatchObject({
    kind: 'Unavailable',
  });
  expect(gathered).toEqual([]);
});

test('an operator that does not lead names the leader', async () => {
  follower.leaderUrl = serverUrl(leader);
  expect(await read(follower)).toEqual(GATHERED);
});

test.each([
  ['no operator leads', () => read(follower)],
  ['operators name each other', () => ((follower.leaderUrl = serverUrl(follower)), read(follower))],
  [
    'the certificate is that of a gateway',
    async () => {
      await writePair(certificates.gateway);
      return read(leader);
    },
  ],
  ['there is no address', () => read()],
])('the read fails with Unavailable if %s', async (_, failing) => {
  const error: unknown = await failing().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SourceError);
  expect(error).toMatchObject({ kind: 'Unavailable' });
  expect((error as Error).message).not.toMatch(/127\.0\.0\.1|\//);
});

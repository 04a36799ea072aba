import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UPSTREAM_CA_LABEL } from '@standin/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { newFolders, startDev, type DevFolders, type DevRun } from './dev-stand.ts';
import { startTlsUpstream, type TlsUpstream } from './tls-upstream.ts';

/** An upstream for each way to trust an authority. Their certificates are self-signed, each with another key. */
let byFile: TlsUpstream;
let byConfigMap: TlsUpstream;
let folders: DevFolders;
let dev: DevRun;

const endpoint = (slug: string, forward: object) => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Endpoint',
  metadata: { name: slug.slice(1) },
  spec: {
    projectRef: { name: 'shop' },
    displayName: slug,
    slug,
    method: 'GET',
    action: 'Forward',
    forward,
  },
});

const write = (name: string, object: object) =>
  writeFile(path.join(folders.manifests, `${name}.json`), JSON.stringify(object));
const writeCa = (certificates: string) =>
  write('ca', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'ca', labels: { [UPSTREAM_CA_LABEL]: 'true' } },
    data: { 'ca.crt': certificates },
  });

const call = async (slug: string): Promise<string> => {
  const response = await fetch(dev.url + slug, { headers: { 'x-api-key': dev.apiKey } });
  return `${response.status} ${await response.text()}`;
};

beforeAll(async () => {
  [byFile, byConfigMap] = await Promise.all([
    startTlsUpstream((_, response) => response.end('by file')),
    startTlsUpstream((_, response) => response.end('by ConfigMap')),
  ]);
  folders = await newFolders();
  const upstreamCa = path.join(folders.manifests, '../ca.pem');
  await writeFile(upstreamCa, byFile.ca);
  await write('public', endpoint('/public', { url: byFile.url }));
  await write('private', endpoint('/private', { url: byConfigMap.url, tls: { caRef: { name: 'ca' } } }));
  await write('untrusted', endpoint('/untrusted', { url: byConfigMap.url }));
  await writeCa(byConfigMap.ca);
  dev = await startDev({ folders, args: ['--upstream-ca', upstreamCa] });
});
afterAll(async () => {
  await dev.process.kill();
  await Promise.all([byFile.close(), byConfigMap.close()]);
});

it('standin dev trusts the certificates in a file for all endpoints, and those in a ConfigMap for one', async () => {
  expect(await call('/public')).toBe('200 by file');
  expect(await call('/private')).toBe('200 by ConfigMap');
  expect(await call('/untrusted')).toMatch(/^502 .*is self-signed: set forward\.tls\.caRef to this certificate\./s);
});

it('standin dev uses the certificates that the ConfigMap has now', async () => {
  const refused = /^502 .*is self-signed, and not one of those in forward\.tls\.caRef/s;
  await writeCa(byFile.ca);
  await eventually('the other certificate', () => call('/private'), { accept: (text) => refused.test(text) });
  await writeCa(`${byConfigMap.ca}\n${byFile.ca}`);
  await eventually('both certificates', () => call('/private'), { accept: (text) => text === '200 by ConfigMap' });
  await rm(path.join(folders.manifests, 'ca.json'));
  await eventually('no certificates', () => call('/private'), {
    accept: (text) => text.includes('no usable certificates in forward.tls.caRef'),
  });
});

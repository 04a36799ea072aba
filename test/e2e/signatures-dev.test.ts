import { createHmac } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sign } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { call, endpoint, mock, newFolders, readLog, standin, startDev, type DevRun } from './dev-stand.ts';

/** Tests requests that webhook providers sign, with `standin dev`. The tests build on each other, in order. */

const SECRETS = {
  github: "It's a Secret to Everybody",
  stripe: 'whsec_c629bf77db5fd477d18b44265a2b13cd',
  standard: `whsec_${Buffer.from('a secret of 24 bytes 000').toString('base64')}`,
  gitlab: 'a-token-that-gitlab-sends-0123456789',
};
const ROTATED = 'the next secret of the webhook';
const DELIVERY = '72d3162e-cc78-11e3-81ab-4c9367dc0958';
const BODY = 'Hello, World!';

const account = (signatures: string): string =>
  JSON.stringify({
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Account',
    metadata: { name: 'default' },
    spec: { plan: 'Free', signatures },
  });
const secret = (stringData: Readonly<Record<string, string>>): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'webhooks', labels: { 'standin.dev/signing-secret': 'true' } },
    stringData,
  });
const hook = (name: keyof typeof SECRETS, signature: object): string =>
  endpoint(name, {
    ...mock(JSON.stringify({ from: name })),
    credential: { type: 'Signature', signature: { ...signature, secretRefs: [{ name: 'webhooks', key: name }] } },
  });

let dev: DevRun;
const write = (file: string, text: string): Promise<void> => writeFile(path.join(dev.manifests, file), text);

beforeAll(async () => {
  const folders = await newFolders();
  const manifests: Readonly<Record<string, string>> = {
    'account.yaml': account('Allowed'),
    'secret.yaml': secret(SECRETS),
    'github.yaml': hook('github', { scheme: 'GitHub' }),
    'stripe.yaml': hook('stripe', { scheme: 'Stripe' }),
    'standard.yaml': hook('standard', { scheme: 'StandardWebhooks' }),
    'gitlab.yaml': hook('gitlab', { scheme: 'Token', token: { header: 'X-Gitlab-Token' } }),
  };
  for (const [file, text] of Object.entries(manifests)) await writeFile(path.join(folders.manifests, file), text);
  dev = await startDev({ folders });
});
afterAll(() => dev.process.kill('SIGTERM'));

/** Sends a request without a key. Returns the body of the mock, or the code of the rejection. */
const send = async (name: string, headers: Readonly<Record<string, string>>, body = BODY): Promise<string> => {
  const response = await request(`${dev.url}/${name}`, { method: 'POST', headers, body });
  const text = await response.body.text();
  const rejected = response.headers['standin-rejected'];
  return typeof rejected === 'string' ? rejected : text;
};
const github = (key: string): Readonly<Record<string, string>> => ({
  'user-agent': 'GitHub-Hookshot/044aadd',
  'x-github-event': 'push',
  'x-github-delivery': DELIVERY,
  'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(BODY).digest('hex')}`,
});

test("GitHub's example and fresh signatures of the providers' libraries are accepted without a key", async () => {
  const example = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  expect(await send('github', { ...github(''), 'x-hub-signature-256': example })).toBe('{"from":"github"}');
  const signed = await sign(SECRETS.github, BODY);
  expect(await send('github', { ...github(''), 'x-hub-signature-256': signed })).toBe('{"from":"github"}');

  const stripe = new Stripe('sk_test_unused', { apiVersion: '2020-08-27' });
  const signature = stripe.webhooks.generateTestHeaderString({ payload: BODY, secret: SECRETS.stripe });
  expect(await send('stripe', { 'stripe-signature': signature })).toBe('{"from":"stripe"}');

  const now = new Date();
  const standard = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Webhook(SECRETS.standard).sign('msg_1', now, BODY),
  };
  expect(await send('standard', standard)).toBe('{"from":"standard"}');
  expect(await send('gitlab', { 'x-gitlab-token': SECRETS.gitlab })).toBe('{"from":"gitlab"}');
});

test('other requests without a key are refused as before', async () => {
  expect(await send('github', {})).toBe('signature_invalid');
  expect(await send('github', github(SECRETS.github), `${BODY}!`)).toBe('signature_invalid');
  expect(await send('v1/orders', github(SECRETS.github))).toBe('api_key_missing');
  expect(await send('none', github(SECRETS.github))).toBe('api_key_missing');
  expect(await send('github', { ...github(SECRETS.github), 'x-api-key': 'wrong' })).toBe('api_key_invalid');
  expect(await call(dev, '/github')).toMatchObject({ status: 200 });
});

test('the log names the credential and the delivery, finds repeated deliveries, and a replay uses the key', async () => {
  const filter = `credential:signature delivery:${DELIVERY}`;
  const signed = await eventually('both deliveries', () => readLog(dev.data, '--filter', filter), {
    accept: ({ length }) => length === 2,
  });
  expect(signed.map(({ keyFingerprint, endpoint: name }) => [keyFingerprint, name])).toEqual([
    ['', 'github'],
    ['', 'github'],
  ]);
  const [first] = await readLog(dev.data, '--filter', 'credential:signature endpoint:gitlab');
  const token = first?.request.headers.find(([name]) => name === 'x-gitlab-token');
  expect(token?.[1]).toMatch(/^sha256:[0-9a-f]{8}$/);

  for (const id of [signed[0]?.id, first?.id]) {
    const { code, stderr } = await standin(['replay', '--data', dev.data, id ?? '']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/200 in/) as string });
  }
  const replayed = await eventually(
    'the replays',
    () => readLog(dev.data, '--filter', 'credential:key header.standin-replay-of:*'),
    { accept: ({ length }) => length === 2 },
  );
  expect(replayed.map(({ deliveryId }) => deliveryId)).toEqual(['', '']);
  expect(replayed.map(({ keyFingerprint }) => keyFingerprint)).not.toContain('');
});

test('a replaced secret is no longer accepted', async () => {
  await write('secret.yaml', secret({ ...SECRETS, github: ROTATED }));
  await eventually('the new secret', () => send('github', github(ROTATED)), {
    accept: (answer) => answer === '{"from":"github"}',
  });
  expect(await send('github', github(SECRETS.github))).toBe('signature_invalid');
});

test('an account that does not allow signatures makes its endpoints refuse them', async () => {
  await write('account.yaml', account('Denied'));
  await eventually('the refusal', () => send('github', github(ROTATED)), {
    accept: (answer) => answer === 'api_key_missing',
  });
  await write('account.yaml', account('Allowed'));
  await eventually('the permission', () => send('github', github(ROTATED)), {
    accept: (answer) => answer === '{"from":"github"}',
  });
});

test('no secret is in the data folder or in the output', async () => {
  const log = JSON.stringify(await readLog(dev.data));
  await dev.process.kill('SIGTERM');
  const values = [...Object.values(SECRETS), ROTATED].flatMap((value) => [
    value,
    Buffer.from(value).toString('base64'),
  ]);
  const files = (await readdir(dev.data, { recursive: true, withFileTypes: true })).filter((file) => file.isFile());
  expect(files.length).toBeGreaterThan(10);
  for (const { parentPath, name } of files) {
    const bytes = await readFile(path.join(parentPath, name));
    expect(values.filter((value) => bytes.includes(value)).map((value) => `${name}: ${value}`)).toEqual([]);
  }
  const output = dev.process.logTail(5_000).join('\n');
  expect(output).toContain('"ready"');
  for (const text of [log, output]) expect(values.filter((value) => text.includes(value))).toEqual([]);
});

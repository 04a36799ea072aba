import { LogStoreError } from '@standin/logstore';
import type { ConfigObject } from '@standin/contract';
import { expect, test } from 'vitest';
import {
  account,
  endpoint,
  fetchMetrics,
  HOST,
  KEY,
  OTHER_KEY,
  project,
  quiet,
  request,
  startTestGateway,
  URI,
  WITH_KEY,
} from './gateway.testing.ts';
import { runGateway, type Gateway } from './gateway.ts';
import { RawClient, rejectionCode, type RawResponse } from './raw-client.testing.ts';

/** Two tenants, of which the first one fills the disk while ClickHouse is away. */

const THEIRS = 'theirs0123456789';
const PATIENCE = { timeout: 15_000 };
const SPOOL_BYTES = 8_000_000;
const theirs = <T extends ConfigObject>(object: T): T => ({ ...object, namespace: 'team-b' });
const unavailable = (): never => {
  throw new LogStoreError('unavailable', { kind: 'retryable', code: '1' });
};

const post = (path: string, body = ''): string =>
  request('POST', `/${URI}${path}`, [HOST, WITH_KEY, `Content-Length: ${body.length}`], body);
const THEIR_POST = request('POST', `/${THEIRS}/fast`, [HOST, `x-api-key: ${OTHER_KEY}`, 'Content-Length: 0']);

const sendTo = async ({ url }: Pick<Gateway, 'url'>, text: string): Promise<RawResponse | undefined> => {
  const client = await RawClient.connect(url);
  client.send(text);
  const [response] = await client.responses();
  client.destroy();
  return response;
};
/** Returns the status and what rejected the request. */
const outcome = async (gateway: Pick<Gateway, 'url'>, text: string): Promise<unknown[]> => {
  const response = await sendTo(gateway, text);
  return [response?.status, rejectionCode(response)];
};
const diskShare = async (gateway: Gateway, what: string): Promise<number> => {
  const text = await fetchMetrics(gateway);
  return Number(new RegExp(`^standin_shares_${what}\\{pool="disk"\\} (.*)$`, 'm').exec(text)?.[1]);
};

test('a tenant whose requests wait for ClickHouse takes four fifths of the disk, also after a restart', async () => {
  await using stand = await startTestGateway({
    settings: { spool: { bytes: SPOOL_BYTES, segmentBytes: 500_000, reserveBytes: 0, quietMs: 1_000 } },
    objects: [
      account('own', KEY),
      theirs(account('other', OTHER_KEY)),
      project('shop', URI),
      theirs(project('theirs', THEIRS, 'other')),
      endpoint('/fast'),
      theirs(endpoint('/fast', {}, { uid: 'endpoint-theirs', projectUid: 'project-theirs' })),
    ],
  });
  const { sink } = stand;
  let { gateway } = stand;
  sink.onInsert = unavailable;
  const body = 'x'.repeat(100_000);
  let stored = 0;
  let last = await sendTo(gateway, post('/fast', body));
  for (; last?.status === 200; stored++) last = await sendTo(gateway, post('/fast', body));
  expect([last?.status, rejectionCode(last)]).toEqual([503, 'overloaded']);
  expect(last?.body.toString()).toMatch(/namespace use its share of the gateway's disk/);
  expect(Math.abs(stored * body.length - 0.8 * SPOOL_BYTES)).toBeLessThan(2 * body.length);
  expect(await outcome(gateway, THEIR_POST)).toEqual([200, undefined]);
  expect([await diskShare(gateway, 'capacity'), await diskShare(gateway, 'refused_total')]).toEqual([SPOOL_BYTES, 1]);
  const largest = await diskShare(gateway, 'largest');

  await gateway.stop();
  gateway = await runGateway({ settings: stand.settings, logger: quiet, logSink: sink });
  try {
    await expect.poll(() => diskShare(gateway, 'largest'), PATIENCE).toBeGreaterThan(0.99 * largest);
    await expect.poll(() => outcome(gateway, post('/fast')), PATIENCE).toEqual([503, 'overloaded']);
    expect(await outcome(gateway, THEIR_POST)).toEqual([200, undefined]);

    sink.onInsert = undefined;
    await expect.poll(() => outcome(gateway, post('/fast')), PATIENCE).toEqual([200, undefined]);
    await sink.until(({ rows }) => rows.length >= stored + 3);
    await expect.poll(() => diskShare(gateway, 'used'), PATIENCE).toBe(0);
  } finally {
    await gateway.stop();
  }
}, 60_000);

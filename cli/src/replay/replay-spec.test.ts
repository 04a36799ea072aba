import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { formatReplayProgress, formatResult } from './format-replay.ts';
import { addHeader, checkSpec, newReplayName, parseTarget, readEdit } from './replay-spec.ts';

test.each([
  ['endpoint', { kind: 'Endpoint' }],
  ['Upstream', { kind: 'Upstream' }],
  ['https://api.example.com/a?b=1', { kind: 'URL', url: 'https://api.example.com/a?b=1' }],
])('--to %s is parsed', (text, target) => {
  expect(parseTarget(text)).toEqual(target);
});

test.each(['', 'up', 'ftp://a', 'api.example.com'])('--to %j is refused with the valid values', (text) => {
  expect(() => parseTarget(text)).toThrow('must be endpoint, upstream, or a URL');
});

test('headers keep their order, and their values may contain colons', () => {
  const first = addHeader('x-a: 1');
  expect(addHeader('x-time: 12:30', first)).toEqual([
    { name: 'x-a', value: '1' },
    { name: 'x-time', value: '12:30' },
  ]);
  expect(() => addHeader('nothing')).toThrow("must be a header such as 'content-type: application/json'");
});

test('a body is text or a file, and is base64-encoded if it is not text', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-replay-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'body');
  expect(await readEdit({})).toBeUndefined();
  expect(await readEdit({ body: 'é' })).toEqual({ body: 'é', bodyEncoding: 'utf8' });
  await writeFile(file, 'é');
  expect(await readEdit({ body: `@${file}` })).toEqual({ body: 'é', bodyEncoding: 'utf8' });
  await writeFile(file, Buffer.from([0xff, 0x00]));
  expect(await readEdit({ body: `@${file}` })).toEqual({ body: '/wA=', bodyEncoding: 'base64' });
  await expect(readEdit({ body: '@/nowhere' })).rejects.toThrow('/nowhere does not exist');
});

test('an invalid spec fails with the API server’s message', () => {
  const spec = { projectRef: { name: 'shop' }, ratePerSecond: 10, order: 'Any', state: 'Running' } as const;
  const requestId = '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe';
  expect(checkSpec({ ...spec, requestId, target: { kind: 'Endpoint' } })).toBeDefined();
  expect(() => checkSpec({ ...spec, requestId: 'x', target: { kind: 'Endpoint' } })).toThrow(
    'spec.requestId: must be the id of a captured request',
  );
});

test('every replay has a unique name', () => {
  expect(newReplayName()).toMatch(/^replay-[0-9a-f]{8}$/);
  expect(newReplayName()).not.toBe(newReplayName());
});

test('progress shows sent and failed requests, and what the replay is waiting for', () => {
  expect(formatReplayProgress({})).toBe('Pending: 0 sent');
  const complete = {
    type: 'Complete',
    status: 'False',
    message: 'The log store is unavailable.',
    lastTransitionTime: '',
  } as const;
  expect(
    formatReplayProgress({
      phase: 'Running',
      sent: 4,
      planned: 9,
      failed: 1,
      conditions: [{ ...complete, reason: 'Waiting' }],
    }),
  ).toBe('Running: 4 of 9 sent, 1 without a response (The log store is unavailable.)');
  expect(
    formatResult({
      byStatus: [
        { status: 0, count: 1 },
        { status: 200, count: 12 },
      ],
    }),
  ).toEqual(['', '        1 × no response', '       12 × 200']);
});

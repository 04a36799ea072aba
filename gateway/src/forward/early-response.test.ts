import { earlyPath, startEarlyUpstream } from '@standin/egress/testing/early-upstream';
import { FALLBACK_REASONS } from '@standin/contract';
import { expect, onTestFinished, test } from 'vitest';
import { BASIC_OBJECTS, endpoint, HOST, request, startTestGateway, URI, WITH_KEY } from '../gateway.testing.ts';
import { exchange } from '../raw-client.testing.ts';

const BODY = 'x'.repeat(8_000_000);
/** Half of them failed before. */
const TRIES = 6;

// RFC 9112 section 9.5
test('a response that an upstream sends before it has received the request is passed on and recorded, without a fallback', async () => {
  const upstream = await startEarlyUpstream();
  onTestFinished(() => upstream[Symbol.asyncDispose]());
  const url = `${upstream.url}${earlyPath({ framing: 'a length', ending: 'a reset', bodyBytes: 5 })}`;
  const mock = { status: 203, headers: [], body: 'fallback' };
  const early = endpoint('/early', {
    kind: 'Forward',
    url,
    timeoutMs: 10_000,
    fallback: { on: FALLBACK_REASONS, mock },
  });
  await using stand = await startTestGateway({
    settings: { egress: { allowPrivate: true } },
    objects: [...BASIC_OBJECTS, early],
  });
  const text = request('POST', `/${URI}/early`, [HOST, WITH_KEY, `content-length: ${BODY.length}`], BODY);
  for (let round = 0; round < TRIES; round += 1) {
    const { status, body } = await exchange(stand.gateway.url, text);
    expect([status, body.toString()]).toEqual([413, 'bbbbb']);
  }
  await stand.sink.until(({ rows }) => rows.length === TRIES);
  for (const row of stand.sink.rows) {
    expect(row).toMatchObject({ outcome: 'forwarded', status: 413, upstreamError: '' });
    expect(row.requestBody).toHaveLength(BODY.length);
  }
});

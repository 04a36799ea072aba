import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  EARLY_ENDINGS,
  EARLY_FRAMINGS,
  earlyPath,
  startEarlyUpstream,
  type EarlyResponse,
} from './early-upstream.testing.ts';
import { EgressError } from './egress-error.ts';
import { egressWith, get, rawResponse, upstreamWith } from './egress.testing.ts';

/** More than the system takes over for a peer that does not read. */
const REQUEST_BYTES = 8_000_000;
/** Half of them failed before. */
const TRIES = 6;

let upstream: Awaited<ReturnType<typeof startEarlyUpstream>>;
beforeAll(async () => {
  upstream = await startEarlyUpstream();
});
afterAll(() => upstream[Symbol.asyncDispose]());

/** Returns what arrives of the response, and the error after it. */
const ask = async (response: EarlyResponse) => {
  const { status, body } = await egressWith().request({
    ...get(0, { url: upstream.url + earlyPath(response) }),
    method: 'POST',
    body: new Uint8Array(REQUEST_BYTES),
  });
  let bytes = 0;
  body.on('data', (chunk: Buffer) => (bytes += chunk.length));
  const error: unknown = await buffer(body).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { status, bytes, error: error instanceof EgressError ? error.code : error };
};

describe.each([3, 40_000])('a response of %d bytes before the request is sent arrives', (bodyBytes) => {
  const cases = EARLY_FRAMINGS.flatMap((framing) => EARLY_ENDINGS.map((ending) => ({ framing, ending })));
  test.each(cases)('with $framing and $ending', async ({ framing, ending }) => {
    // Such a response may be incomplete (RFC 9112 section 8).
    const mayBeIncomplete = framing === 'no length' && ending.startsWith('a reset');
    const error = mayBeIncomplete ? 'upstream_invalid' : undefined;
    for (let round = 0; round < TRIES; round += 1)
      expect(await ask({ framing, ending, bodyBytes })).toEqual({ status: 413, bytes: bodyBytes, error });
  });
});

test('a connection on which the rest of a request is unsent after the response serves no other request', async () => {
  const upstream = await upstreamWith((socket, request) => {
    if (request.startsWith('PUT')) socket.pause();
    socket.write(rawResponse('ok'));
  });
  const egress = egressWith();
  for (const body of [new Uint8Array(REQUEST_BYTES), undefined]) {
    const method = body ? 'PUT' : 'GET';
    const response = await egress.request(get(upstream.port, { method, body, timeoutMs: 2_000 }));
    expect((await buffer(response.body)).toString()).toBe('ok');
    await nextTurn();
    await nextTurn();
  }
  expect(upstream.connections()).toBe(2);
});

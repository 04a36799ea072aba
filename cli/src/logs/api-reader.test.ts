import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ServerError, type ApiClient, type ApiRequest } from '../server/api-client.ts';
import { openApiReader, serverEvents, type ServerEvent } from './api-reader.ts';

const summary = (number: number) => ({
  id: `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`,
  receivedAt: `2026-11-21T07:00:00.${String(number).padStart(6, '0')}Z`,
  namespace: 'default',
  project: 'shop',
  endpoint: 'orders',
  method: 'GET',
  path: '/',
  query: '',
  status: 200,
  durationMs: 1,
  outcome: 'mocked',
  responseName: '',
  credential: 'key',
  deliveryId: '',
  projectUid: 'u',
  bodyBytes: 0,
});
const event = (number: number): string[] => ['event: request', `data: ${JSON.stringify(summary(number))}`, ''];
const position = (id: string): string[] => [`id: ${id}`, ''];
const brokenOff = (): Error => new ServerError('cannot reach it: terminated', { status: 0, code: '' });

/**
 * Follows requests from a simulated server. Each stream contains what the server sends, and the error that ends it, if any. The
 * reader is stopped after the last stream.
 */
const follow = async (streams: readonly (readonly (readonly string[] | Error)[])[]) => {
  const stop = new AbortController();
  const asked: (string | undefined)[] = [];
  const lines = ({ headers }: ApiRequest) => {
    const stream = streams[asked.length] ?? [];
    asked.push(headers?.['last-event-id']);
    if (stream[0] instanceof Error) return Promise.reject(stream[0]);
    const isLast = asked.length >= streams.length;
    const send = async function* () {
      await Promise.resolve();
      for (const part of stream) {
        if (part instanceof Error) throw part;
        yield* part;
      }
      if (isLast) stop.abort();
    };
    return Promise.resolve({ headers: new Headers(), lines: send() });
  };
  const ask = () => Promise.reject(new Error('not expected'));
  const client: ApiClient = { server: 'it', publicUrl: () => new URL('http://it'), local: undefined, ask, lines };
  const reader = await openApiReader(client, { namespace: 'default', project: 'shop' });
  const seen: string[] = [];
  for await (const { id } of reader.followLines(Date.now() * 1_000, stop.signal)) seen.push(id.slice(-1));
  return { asked, seen };
};

describe('following requests', () => {
  it('resumes after an interruption and shows each request once', async () => {
    const first = [position('a'), event(1), position('b'), event(2), brokenOff()];
    expect(await follow([first, [brokenOff()], [position('b'), event(1), event(2), event(3)]])).toEqual({
      asked: [undefined, 'b', 'b'],
      seen: ['1', '2', '3'],
    });
  });

  it('fails if the first request fails', async () => {
    await expect(follow([[brokenOff()], []])).rejects.toThrow('cannot reach it');
  });

  it('fails if a later request is refused', async () => {
    const refused = new ServerError('it: the token has expired', { status: 401, code: 'unauthorized' });
    await expect(follow([[position('a'), event(1)], [refused], []])).rejects.toThrow('the token has expired');
  });
});

it('parses server-sent events and positions without data, and ignores an incomplete event', async () => {
  const lines = [
    'retry: 1000',
    'id: 1',
    '',
    ':',
    '',
    'event: request',
    'data: {"a":',
    'data: 1}',
    '',
    'data:x',
    '',
    'event: half',
    'data: 1',
  ];
  const events: ServerEvent[] = [];
  for await (const event of serverEvents(Readable.from(lines))) events.push(event);
  expect(events).toEqual([
    { type: '', data: '', id: '1' },
    { type: 'request', data: '{"a":\n1}', id: undefined },
    { type: '', data: 'x', id: undefined },
  ]);
});

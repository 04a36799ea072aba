import type { HeaderPair } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { replayHeaders, replayRequest, type CapturedRequest, type ReplayHeadersInput } from './replay-request.ts';

const HEADERS: readonly HeaderPair[] = [
  ['Host', 'gateway'],
  ['X-A', '1'],
  ['x-api-key', 'sha256:0123abcd'],
  ['Authorization', 'Bearer t'],
  ['Cookie', 'a=b'],
  ['x-a', '2'],
  ['Connection', 'x-hop'],
  ['x-hop', 'gone'],
  ['Content-Length', '3'],
  ['Standin-Replay-Of', 'earlier'],
  ['x-forwarded-for', '192.0.2.1'],
];
const captured: CapturedRequest = {
  id: 'the-id',
  method: 'POST',
  target: '/project-uri/v1/orders?a=%20b&a=c',
  headers: HEADERS,
  body: Buffer.from('abc'),
};
const to = (target: ReplayHeadersInput['target'], isEdited = false) =>
  replayHeaders({ requestId: 'the-id', target, headers: HEADERS, isEdited, apiKey: 'the-key' });

describe('the headers of a replay request', () => {
  it("to an endpoint keep the caller's credentials and get the account's key", () => {
    expect(to('Endpoint').sent).toEqual([
      ['X-A', '1'],
      ['Authorization', 'Bearer t'],
      ['Cookie', 'a=b'],
      ['x-a', '2'],
      ['x-forwarded-for', '192.0.2.1'],
      ['standin-replay-of', 'the-id'],
      ['x-api-key', 'the-key'],
    ]);
  });

  it('to the upstream do not get a key', () => {
    expect(to('Upstream').sent).toContainEqual(['Authorization', 'Bearer t']);
    expect(to('Upstream').sent.map(([name]) => name.toLowerCase())).not.toContain('x-api-key');
  });

  it('to another URL lose captured credentials and keep those that a user wrote', () => {
    expect(to('URL').sent.map(([name]) => name)).toEqual(['X-A', 'x-a', 'x-forwarded-for', 'standin-replay-of']);
    expect(to('URL', true).sent).toContainEqual(['Cookie', 'a=b']);
  });

  it('include the reason for each omitted header', () => {
    expect(to('URL').stripped).toEqual([
      { name: 'Host', reason: 'rewritten' },
      { name: 'x-api-key', reason: 'api-key' },
      { name: 'Authorization', reason: 'credentials' },
      { name: 'Cookie', reason: 'credentials' },
      { name: 'Connection', reason: 'connection' },
      { name: 'x-hop', reason: 'connection' },
      { name: 'Content-Length', reason: 'rewritten' },
      { name: 'Standin-Replay-Of', reason: 'marker' },
    ]);
  });
});

describe('a replay request', () => {
  it('to an endpoint has the complete target, byte for byte', () => {
    const request = replayRequest(captured, {}, { target: 'Endpoint', url: 'http://gateway:8080/', apiKey: 'k' });
    expect(request).toMatchObject({
      url: 'http://gateway:8080/project-uri/v1/orders?a=%20b&a=c',
      method: 'POST',
      body: captured.body,
    });
  });

  it('to an endpoint has the path and query of a captured target in absolute form', () => {
    const target = 'http://mocks.example.com/project-uri/v1/orders?a=/b';
    const destination = { target: 'Endpoint', url: 'http://gateway:8080', apiKey: 'k' } as const;
    const { url } = replayRequest({ ...captured, target }, {}, destination);
    expect(url).toBe('http://gateway:8080/project-uri/v1/orders?a=/b');
  });

  it("to an upstream or a URL has the URL's path and the request's query", () => {
    const request = replayRequest(captured, {}, { target: 'URL', url: 'http://up.example/base?x=1', apiKey: '' });
    expect(request.url).toBe('http://up.example/base?x=1&a=%20b&a=c');
  });

  it('has the edited parts instead of the captured ones', () => {
    const edit = { method: 'PUT', target: '/other?b=1', headers: [['x', 'y']], body: Buffer.from('z') } as const;
    const request = replayRequest(captured, edit, { target: 'Endpoint', url: 'http://gateway', apiKey: 'k' });
    expect(request).toMatchObject({ url: 'http://gateway/other?b=1', method: 'PUT', body: edit.body });
    expect(request.sent[0]).toEqual(['x', 'y']);
  });

  it.each(['@evil.example/', '//evil.example/', ':1@evil.example/', 'evil'])(
    'never leaves the gateway if its target is %s',
    (target) => {
      const send = () =>
        replayRequest(captured, { target }, { target: 'Endpoint', url: 'http://gateway', apiKey: 'k' });
      if (target.startsWith('//')) expect(new URL(send().url).origin).toBe('http://gateway');
      else expect(send).toThrow('stay on the gateway');
    },
  );
});

import { LIMITS, METHODS, type HeaderPair } from '@standin/contract';
import { bodyAsBuffer } from '@standin/exchange';
import { ask } from '../torture/raw-client.ts';
import { forward, json, Stand } from '../torture/stand.ts';
import { responseText, startUpstream } from '../torture/upstream.ts';
import { count, type Finding } from './guarantees.ts';

const MIB = 1024 * 1024;
const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_unused, byte) => byte));
const MOCK = '{"id":1.0,  "big": 12345678901234567890, "é": null}';
const HEADERS: readonly HeaderPair[] = [
  ['X-Dup', '1'],
  ['x-dup', 'caf\u00e9'],
  ['X-DUP', '1'],
  ['Content-Length', String(ALL_BYTES.length)],
];
const LARGE_BYTES = LIMITS.responseCaptureBytesMax + MIB;

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Sends one request, and returns whether upstream, caller and log have the same bytes. */
const isExact = async (
  stand: Stand,
  method: (typeof METHODS)[number],
  action: 'mock' | 'up',
  seen: () => Uint8Array,
) => {
  const marker = stand.marker();
  const target = `${stand.target(`/${action}`, marker)}&q=%00%FF&=,'<>|`;
  const answer = await ask(
    stand.port,
    Buffer.concat([Buffer.from(stand.head(method, target, HEADERS), 'latin1'), ALL_BYTES]),
  );
  const { request, response } = await stand.row(target.slice(target.indexOf('?') + 1));
  const expected = action === 'mock' ? Buffer.from(MOCK) : ALL_BYTES;
  return (
    request.target === target &&
    isSame(request.headers, [['Host', 'gateway'], ['x-api-key', stand.own.storedKey], ...HEADERS]) &&
    hex(bodyAsBuffer(request)) === hex(ALL_BYTES) &&
    (action === 'mock' || hex(seen()) === hex(ALL_BYTES)) &&
    hex(answer?.body ?? Buffer.alloc(0)) === hex(expected) &&
    hex(bodyAsBuffer(response)) === hex(expected)
  );
};

/** Sends one request that is too large, and one whose response is larger than what the log stores. */
const proveLimits = async (stand: Stand): Promise<Finding> => {
  const tooLarge = String(LIMITS.requestBodyBytesMax + 1);
  const refused = await ask(stand.port, stand.head('POST', stand.target('/mock'), [['Content-Length', tooLarge]]));
  const marker = stand.marker();
  const answer = await ask(stand.port, stand.head('GET', stand.target('/large', marker)));
  const { response } = await stand.row(marker);
  const stored = bodyAsBuffer(response).length;
  const received = answer?.body.length ?? 0;
  return {
    output:
      `request of more than ${LIMITS.requestBodyBytesMax / MIB} MiB: ${refused?.status}; response of ${received / MIB} MiB: ` +
      `${stored / MIB} MiB stored${response.truncated ? ', truncated' : ''}`,
    holds:
      refused?.status === 413 &&
      received === LARGE_BYTES &&
      response.truncated &&
      response.bodyBytes === LARGE_BYTES &&
      stored === LIMITS.responseCaptureBytesMax,
  };
};

/** Compares what a raw client sent and received, what the upstream received, and what the log has, byte for byte. */
export const proveBytes = async (): Promise<readonly Finding[]> => {
  await using upstream = await startUpstream((socket, { target }) => {
    socket.write(
      responseText(target.startsWith('/large') ? 'x'.repeat(LARGE_BYTES) : ALL_BYTES.toString('latin1')),
      'latin1',
    );
  });
  await using stand = await Stand.start({ env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true' } });
  await stand.publish(
    ...METHODS.map((method) => ({ slug: '/mock', method, action: json(MOCK) })),
    ...METHODS.map((method) => ({ slug: '/up', method, action: forward(`${upstream.url}/up`) })),
    { slug: '/large', action: forward(`${upstream.url}/large`) },
  );
  const seen = (): Uint8Array => upstream.requests.at(-1)?.body ?? Buffer.alloc(0);
  const results: boolean[] = [];
  for (const method of METHODS) {
    for (const action of ['mock', 'up'] as const) results.push(await isExact(stand, method, action, seen));
  }
  const exact = results.filter(Boolean).length;
  return [
    { output: `${count(exact)} of ${count(results.length)} exchanges identical`, holds: exact === results.length },
    await proveLimits(stand),
  ];
};

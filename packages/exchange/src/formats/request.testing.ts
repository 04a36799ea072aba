import { METHODS } from '@standin/contract';
import type { HeaderPair } from '@standin/contract';
import fc from 'fast-check';
import type { RequestEntry } from './request-message.ts';

export type AnyRequest = RequestEntry & { readonly id: string };

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const byte = (from: number, to: number): fc.Arbitrary<number> => fc.integer({ min: from, max: to });
const byteStrings = (one: fc.Arbitrary<number>, maxLength: number): fc.Arbitrary<string> =>
  fc.array(one, { maxLength }).map((list) => latin1(Uint8Array.from(list)));

/** Text that a shell or curl interprets if it is not quoted correctly. */
const HOSTILE = [
  "'; touch pwned; '",
  '"; touch pwned; "',
  '$(touch pwned)',
  '`touch pwned`',
  "'$(touch pwned)'",
  '"$(touch pwned)"',
  "'\\''$(touch pwned)'\\''",
  '${HOME}',
  '$STANDIN_API_KEY',
  '!!',
  '!touch',
  '\\',
  "\\'",
  "'",
  '"',
  '&touch pwned&',
  '|touch pwned|',
  '@/etc/passwd',
  '%s%n%41',
  '{a,b}[1-3]',
  '~/../*?',
  '-o pwned',
  '#touch',
  'é ü €',
  '\u202e\u2066',
];
const HOSTILE_LINES = [
  ...HOSTILE,
  '\ntouch pwned\n',
  '\r\ntouch pwned\r\n',
  '\x03\x04\x1b[201~touch pwned\r',
  '\t\t',
  '\x00',
  '\n',
  '\n\n',
];

const utf8AsLatin1 = (text: string): string => Buffer.from(text).toString('latin1');
/** Node accepts all of these characters in a target. */
const target = fc
  .oneof(
    byteStrings(fc.oneof(byte(0x21, 0x7e), byte(0x80, 0xff)), 40),
    fc.constantFrom(...HOSTILE.map(utf8AsLatin1), '../x/./', '/evil/x?', '?', '?a=b&c', '#x'),
  )
  .map((text) => `/${text.replaceAll(' ', '%20')}`);

const value = fc
  .oneof(
    { arbitrary: byteStrings(fc.oneof(byte(0x20, 0x7e), byte(0x80, 0xff), fc.constant(9)), 60), weight: 3 },
    { arbitrary: fc.constantFrom(...HOSTILE.map(utf8AsLatin1), 'a\tb', ''), weight: 2 },
  )
  // Node's parser removes spaces and tabs around a value.
  .map((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''));

const TOKEN = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** Headers that curl treats specially. The generators below give them their own values. */
const RESERVED: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding', 'expect', 'x-api-key']);
const name = fc
  .oneof(
    fc.string({ unit: fc.constantFrom(...Array.from(TOKEN)), minLength: 1, maxLength: 12 }),
    fc.constantFrom(
      'user-agent',
      'Accept',
      'ACCEPT',
      'Content-Type',
      'content-type',
      'Cookie',
      'Referer',
      'Authorization',
      'Range',
      'Accept-Encoding',
      'Content-Encoding',
      'TE',
      'X-Same',
    ),
  )
  .filter((text) => !RESERVED.has(text.toLowerCase()));

const special: fc.Arbitrary<HeaderPair> = fc.constantFrom<HeaderPair[]>(
  ['x-api-key', 'sha256:0123abcd'],
  ['X-Api-Key', 'sha256:0123abcd'],
  ['Expect', '100-continue'],
  ['Connection', 'close'],
);

const body = fc.oneof(
  { arbitrary: fc.constant(Buffer.alloc(0)), weight: 30 },
  { arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)), weight: 30 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 200 }).map((text) => Buffer.from(text)), weight: 30 },
  { arbitrary: fc.json().map((text) => Buffer.from(text)), weight: 30 },
  {
    arbitrary: fc
      .array(fc.constantFrom(...HOSTILE_LINES), { minLength: 1, maxLength: 4 })
      .map((parts) => Buffer.from(parts.join(''))),
    weight: 60,
  },
  // Longer than the limit for one argument, both as text and as bytes.
  { arbitrary: fc.constantFrom(Buffer.alloc(140_000, "'a\n"), Buffer.alloc(140_000, 0)), weight: 1 },
);

const framed = ({
  bytes,
  isChunked,
  at,
  headers,
}: {
  bytes: Buffer;
  isChunked: boolean;
  at: number;
  headers: readonly HeaderPair[];
}): readonly HeaderPair[] => {
  if (bytes.length === 0 && !isChunked) return headers;
  const header: HeaderPair = isChunked ? ['Transfer-Encoding', 'chunked'] : ['content-length', String(bytes.length)];
  const place = at % (headers.length + 1);
  return [...headers.slice(0, place), header, ...headers.slice(place)];
};

/** Generates any request that the gateway accepts, as recorded in the log, with `host` as the value of its Host header. */
export const anyRequest = (host: string): fc.Arbitrary<AnyRequest> =>
  fc
    .record({
      id: fc.uuid(),
      method: fc.constantFrom(...METHODS, 'HEAD'),
      target,
      headers: fc.array(fc.tuple(name, value), { maxLength: 8 }),
      special: fc.uniqueArray(special, { maxLength: 2, selector: ([known]) => known.toLowerCase() }),
      body,
      isChunked: fc.integer({ min: 0, max: 4 }).map((dice) => dice === 0),
      at: fc.nat(),
    })
    .map(({ id, method, target: path, headers, special: specials, body: bytes, isChunked, at }) => {
      const text = bytes.toString('utf8');
      const isText = Buffer.from(text).equals(bytes);
      return {
        id,
        method,
        request: {
          target: path,
          httpVersion: '1.1',
          headers: [
            ['host', host],
            ...framed({
              bytes,
              isChunked,
              at,
              headers: [...headers, ...specials].filter(([known]) => bytes.length > 0 || known !== 'Expect'),
            }),
          ],
          trailers: [],
          body: isText ? text : bytes.toString('base64'),
          bodyEncoding: isText ? 'utf8' : 'base64',
        },
      };
    });

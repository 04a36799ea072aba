import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { LIMITS, type HeaderPair } from '@standin/contract';
import { newLogRow } from '@standin/exchange/testing';
import { encodeRow } from '@standin/logstore';
import { LineSplitter } from '../../../packages/contract/src/line-splitter.ts';
import {
  acceptsTrailers,
  frameResponse,
  passableTrailers,
  upstreamHeaders,
} from '../../../gateway/src/forward/upstream-headers.ts';
import { compile } from '../../../gateway/src/config/compile.ts';
import { addBodyTexts } from '../../../gateway/src/deliver/add-body-texts.ts';
import { match } from '../../../gateway/src/match/match.ts';
import { RoutingTable } from '../../../gateway/src/match/routing-table.ts';
import { BodySkipper } from '../../../gateway/src/receive/body-skipper.ts';
import { HeadScanner } from '../../../gateway/src/receive/head-scanner.ts';
import { readHead } from '../../../gateway/src/receive/read-head.ts';
import { rejectionProblem } from '../../../gateway/src/request/problem.ts';
import { Refusal } from '../../../gateway/src/request/refusal.ts';
import type { RequestHead } from '../../../gateway/src/request/request-head.ts';
import { areValidLines, decodeLines, requestHeaders, stripHopByHop } from '../../../packages/egress/src/headers.ts';
import { replayRequest } from '../../../packages/egress/src/replay-request.ts';
import { joinUpstreamUrl, splitUpstreamUrl } from '../../../packages/egress/src/upstream-url.ts';
import { decodeSegment } from '../../../packages/responses/src/parameter-value.ts';
import { pathParameters } from '../../../packages/responses/src/pattern-table.ts';
import type { GrowthEntry } from '../entry.ts';
import { BYTES, framed, repeated, type Generators } from '../generators.ts';

const HEAD = LIMITS.requestHeadBytesMax;
const TARGET = LIMITS.requestTargetBytesMax;
const UPSTREAM_HEAD = LIMITS.upstreamHeadBytesMax;
/** The size of the largest body in these tests. Each byte takes the same time, so a complete body takes ten times as long. */
const BODY = LIMITS.requestBodyBytesMax / 10;

/** Returns one header per line of the text. A line without a colon becomes a `connection` header. */
const headerPairs = (text: string): HeaderPair[] =>
  text.split('\n').map((line) => {
    const colon = line.indexOf(':');
    return colon === -1 ? ['connection', line] : [line.slice(0, colon), line.slice(colon + 1)];
  });

const requestHead = (text: string): RequestHead => {
  const headers = headerPairs(text);
  const path = `/${text.slice(0, TARGET)}`;
  return {
    method: 'GET',
    target: path,
    projectUri: 'p',
    path,
    query: '',
    httpVersion: '1.1',
    headers,
    headerBytes: 0,
    host: 'h',
    keyCount: 0,
    keyIndex: -1,
    keyPadded: false,
    contentLength: 0,
    isChunked: false,
    expectsContinue: false,
  };
};

const HEADS: Generators = {
  'many headers': repeated('a:\n'),
  'names in a connection header': framed('connection: ', repeated('a,')),
  'many connection headers': repeated('connection: a\n'),
  'spaces between commas': framed('te: ', repeated(',   ')),
  'spaces before a mismatch': framed('te: ,', repeated(' '), 'x'),
  'many content lengths': repeated('content-length: 1\n'),
  'many lengths in one header': framed('content-length: ', repeated('1,')),
  'many proxies': repeated('x-forwarded-for: a\n'),
};

/** The routing table of the project to which the requests go. The loop below adds its endpoints. */
const table = new RoutingTable();
const project = { kind: 'Project', uid: 'u', uri: 'p', accountUid: 'a' } as never;
table.put('Project/u', { kind: 'Project', config: project });

/**
 * Adds as many arrangements of literals and parameters as the limit allows, and of suffixes and parameters before `{rest...}`. All
 * endpoints have the method POST and the requests use GET, so `match` compares a path with every arrangement.
 */
for (let index = 0; index < LIMITS.arrangementsMax; index += 1) {
  const path = (other: (bit: number) => string): string =>
    [0, 1, 2, 3, 4].map((bit) => ((index >> bit) % 2 === 0 ? `/${other(bit)}` : `/{p${bit}}`)).join('');
  for (const slug of [`${path(() => 'a')}/{p5}`, `${path((bit) => `{p${bit}}:a`)}/{rest...}`]) {
    const config = { uid: slug, projectUid: 'u', slug, method: 'POST', action: { kind: 'Withheld' } } as const;
    table.put(`Endpoint/${slug}`, compile({ kind: 'Endpoint', namespace: 'a', name: 'a', generation: 1, ...config }));
  }
}

/** Paths that are expensive to match. */
const PATHS = {
  'slashes before a mismatch': framed('/', repeated('/'), 'x'),
  'segments that match every arrangement': framed('a', repeated('/a')),
  'escapes in segments that match every arrangement': framed('a/a/a/a/a', repeated('/%41')),
  'a long segment without a suffix': framed('', repeated('b'), '/b/b/b/b/b'),
  'many suffixes': framed('a:a/a:a/a:a/a:a/a:a', repeated('/a:a')),
};

/** Returns the rows of a segment with these bodies. */
const segmentRows = (bodies: readonly Uint8Array[], header: HeaderPair) => {
  const rows = bodies.map((requestBody) => encodeRow(newLogRow({ requestHeaders: [header], requestBody })));
  let end = 0;
  return { rows: Buffer.concat(rows), ends: rows.map(({ length }) => (end += length)), withText: [...rows.keys()] };
};
const TEXT_BYTES = 1_000;
const textBodies = (text: string): Uint8Array[] =>
  Array.from({ length: text.length / TEXT_BYTES }, (_, index) =>
    Buffer.from(text.slice(index * TEXT_BYTES, (index + 1) * TEXT_BYTES), 'latin1'),
  );
/** About a thousand bytes each, of which one is decoded to a little less than the limit, and the other one to more. */
const [SMALL_BOMB, LARGE_BOMB] = [0.9, 2].map((part) => gzipSync(Buffer.alloc(part * LIMITS.bodyTextBytesMax)));

export const GATEWAY: readonly GrowthEntry[] = [
  {
    // Not named like a parser, but decodes the bodies of a segment. Runs in a thread that does nothing else.
    of: 'gateway/src/deliver/add-body-texts.ts#addBodyTexts',
    limit: LIMITS.flushBytesMax / 2,
    nearOnly: true,
    cpuMsMax: 2_000,
    near: { 'letters that are not ASCII': repeated('\xe9'), 'pairs of bytes': repeated('\x93\xfa') },
    run: (text) => {
      const bodies = textBodies(text);
      return [
        addBodyTexts(segmentRows(bodies, ['content-type', 'text/plain; charset=gb18030'])),
        addBodyTexts(segmentRows(bodies.fill(SMALL_BOMB ?? Buffer.alloc(0)), ['content-encoding', 'gzip'])),
        addBodyTexts(segmentRows(bodies.fill(LARGE_BOMB ?? Buffer.alloc(0)), ['content-encoding', 'gzip'])),
      ];
    },
  },
  {
    of: 'gateway/src/receive/head-scanner.ts#HeadScanner',
    limit: HEAD,
    run: (text) => {
      const scanner = new HeadScanner();
      const bytes = Buffer.from(`GET / HTTP/1.1\r\n${text}`, 'latin1');
      for (let at = 0; at < bytes.length;) at = scanner.push(bytes, at);
    },
    near: {
      'consecutive request heads': repeated('GET / HTTP/1.1\r\n\r\n'),
      'many keys': repeated('x-api-key: a \t \r\n'),
      'whitespace before a key': framed('x-api-key:', repeated(' \t'), 'a'),
      'one-byte bodies': repeated('\r\nGET / HTTP/1.1\r\ncontent-length: 1\r\n\r\nx'),
    },
  },
  {
    of: 'gateway/src/receive/body-skipper.ts#BodySkipper',
    limit: BODY,
    run: (text) => {
      const skipper = new BodySkipper();
      skipper.startChunked();
      skipper.skip(Buffer.from(text, 'latin1'), 0);
    },
    nearOnly: true,
    near: {
      'one-byte chunks': repeated('1\r\nx\r\n'),
      'an endless size': repeated('0'),
      'an endless extension': framed('1;', repeated('a')),
      'endless trailers': framed('0\r\n', repeated('a: b\r\n')),
    },
  },
  {
    of: 'gateway/src/receive/read-head.ts#readHead',
    limit: HEAD,
    run: (text) => {
      const request = new IncomingMessage(new Socket());
      request.rawHeaders = headerPairs(text).flat();
      const verdict = { lines: request.rawHeaders.length / 2, keyLines: 0, keyLength: 0 };
      return readHead(request, `/${text}`, { ...verdict, requestLineBytes: 0, keyPadded: false }, TARGET);
    },
    near: {
      ...HEADS,
      'many hosts': repeated('host: a\n'),
      'a host with an invalid last character': framed('host:', repeated('a'), '/'),
    },
  },
  {
    of: 'packages/contract/src/line-splitter.ts#LineSplitter',
    limit: BODY,
    // Passes the bytes in chunks of 4 kB, as they might arrive from a socket.
    run: (text) => {
      const splitter = new LineSplitter(LIMITS.requestBodyBytesMax);
      for (let at = 0; at < text.length; at += 4_096)
        Array.from(splitter.push(Buffer.from(text.slice(at, at + 4_096))));
    },
    nearOnly: true,
    near: { ...BYTES, 'one-byte lines': repeated('a\n') },
  },
  {
    of: 'gateway/src/forward/upstream-headers.ts#upstreamHeaders',
    limit: HEAD,
    run: (text) => upstreamHeaders(requestHead(text), '127.0.0.1', { prefix: '/p' }),
    near: HEADS,
  },
  {
    of: 'gateway/src/forward/upstream-headers.ts#frameResponse',
    limit: UPSTREAM_HEAD,
    run: (text) => frameResponse(200, headerPairs(text), ''),
    near: HEADS,
  },
  {
    of: 'gateway/src/forward/upstream-headers.ts#acceptsTrailers',
    limit: HEAD,
    run: (text) => acceptsTrailers(requestHead(text)),
    near: HEADS,
  },
  {
    of: 'gateway/src/forward/upstream-headers.ts#passableTrailers',
    limit: UPSTREAM_HEAD,
    run: (text) => passableTrailers(headerPairs(text), headerPairs(text)),
    near: HEADS,
  },
  {
    of: 'gateway/src/match/match.ts#match',
    limit: TARGET,
    run: (text) => {
      match(
        requestHead(text),
        { kind: 'key' as const, holders: [{ uid: 'a' } as never], fingerprint: '', keySha256: '' },
        table,
      );
      match(requestHead(text), undefined, table);
    },
    near: PATHS,
  },
  {
    of: 'packages/responses/src/pattern-table.ts#pathParameters',
    limit: TARGET,
    run: (text) => pathParameters([{ kind: 'rest', name: 'x' }], `/${text}`),
    near: { escapes: repeated('%41/') },
  },
  {
    of: 'packages/responses/src/parameter-value.ts#decodeSegment',
    limit: TARGET,
    run: decodeSegment,
    near: { escapes: repeated('%41'), bytes: repeated('\xc3\xa9') },
  },
  {
    of: 'gateway/src/request/problem.ts#rejectionProblem',
    limit: TARGET,
    run: (text) => rejectionProblem(new Refusal('endpoint_not_found', { detail: text })),
  },
  {
    of: 'packages/egress/src/headers.ts#stripHopByHop',
    limit: UPSTREAM_HEAD,
    run: (text) => stripHopByHop(headerPairs(text)),
    near: HEADS,
  },
  {
    of: 'packages/egress/src/headers.ts#requestHeaders',
    limit: HEAD,
    run: (text) => requestHeaders(headerPairs(text)),
    near: HEADS,
  },
  {
    of: 'packages/egress/src/headers.ts#decodeLines',
    limit: UPSTREAM_HEAD,
    run: (text) => decodeLines(headerPairs(text).flat()),
    near: HEADS,
  },
  {
    of: 'packages/egress/src/headers.ts#areValidLines',
    limit: UPSTREAM_HEAD,
    run: (text) => areValidLines(headerPairs(text)),
    near: HEADS,
  },
  {
    of: 'packages/egress/src/replay-request.ts#replayRequest',
    limit: HEAD,
    run: (text) =>
      replayRequest(
        {
          id: 'i',
          method: 'GET',
          target: `/${text.slice(0, TARGET)}`,
          headers: headerPairs(text),
          body: new Uint8Array(),
        },
        {},
        { target: 'Endpoint', url: 'http://gateway', apiKey: 'k' },
      ),
    near: HEADS,
  },
  {
    of: 'packages/egress/src/upstream-url.ts#joinUpstreamUrl',
    limit: TARGET,
    run: (text) => joinUpstreamUrl('http://upstream/a?b=c', text),
  },
  {
    of: 'packages/egress/src/upstream-url.ts#splitUpstreamUrl',
    limit: TARGET,
    run: (text) => splitUpstreamUrl(`http://upstream/${text}`),
  },
];

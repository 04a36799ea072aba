import type { IncomingMessage } from 'node:http';
import { readTarget, type HeaderPair, type RequestTarget } from '@standin/contract';
import { Refusal } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import { splitTarget } from '../request/split-target.ts';
import type { HeadVerdict } from './head-scanner.ts';

// An RFC 3986 host and port, including the brackets of an IPv6 address, and nothing that could begin another part of a URL.
const HOST = /^[A-Za-z0-9\-._~!$&'()*+;=:[\]%]+$/;

/** The memory that one header needs in addition to its text. With 900 short headers, each takes about 100 bytes. */
const HEADER_OVERHEAD_BYTES = 100;

const malformed = (detail: string): Refusal => new Refusal('bad_request', { detail, closes: true });

interface HeaderFacts {
  headers: HeaderPair[];
  headerBytes: number;
  host: string;
  hostCount: number;
  keyCount: number;
  keyIndex: number;
  contentLength: number;
  transferCoding: string | undefined;
  expectation: string | undefined;
}

const collect = (raw: readonly string[]): HeaderFacts => {
  const facts: HeaderFacts = {
    headers: [],
    headerBytes: 0,
    host: '',
    hostCount: 0,
    keyCount: 0,
    keyIndex: -1,
    contentLength: 0,
    transferCoding: undefined,
    expectation: undefined,
  };
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? '';
    const value = raw[at + 1] ?? '';
    facts.headers.push([name, value]);
    facts.headerBytes += HEADER_OVERHEAD_BYTES + name.length + value.length;
    note(facts, name, value);
  }
  return facts;
};

/** Updates the facts for the header that was added last. Compares lengths first, because most headers have none of these names. */
const note = (facts: HeaderFacts, name: string, value: string): void => {
  switch (name.length) {
    case 4:
      if (name.toLowerCase() !== 'host') return;
      facts.host = value;
      facts.hostCount++;
      return;
    case 6:
      if (name.toLowerCase() === 'expect') facts.expectation = value.toLowerCase();
      return;
    case 9:
      if (name !== 'x-api-key' && name.toLowerCase() !== 'x-api-key') return;
      facts.keyCount++;
      facts.keyIndex = facts.headers.length - 1;
      return;
    case 14:
      if (name.toLowerCase() === 'content-length') facts.contentLength = Number(value);
      return;
    case 17:
      if (name.toLowerCase() !== 'transfer-encoding') return;
      facts.transferCoding = facts.transferCoding === undefined ? value : `${facts.transferCoding},${value}`;
  }
};

/** Returns whether the parser and the scanner of the raw bytes saw the same head. */
const agrees = (verdict: HeadVerdict, facts: HeaderFacts): boolean =>
  verdict.lines === facts.headers.length &&
  verdict.keyLines === facts.keyCount &&
  (facts.keyCount === 0 || verdict.keyLength === facts.headers[facts.keyIndex]?.[1].length);

const checkFacts = (facts: HeaderFacts, httpVersion: string): Refusal | undefined => {
  if (facts.hostCount !== 1 || !HOST.test(facts.host)) return new Refusal('host_invalid', { closes: true });
  if (facts.transferCoding !== undefined) {
    if (httpVersion === '1.0')
      return malformed(
        'HTTP/1.0 does not support Transfer-Encoding (RFC 9112 section 6.1). Send the request as HTTP/1.1.',
      );
    if (facts.transferCoding.toLowerCase() !== 'chunked') {
      return malformed('The only supported Transfer-Encoding for a request is chunked. Remove other codings.');
    }
  }
  if (facts.expectation !== undefined && facts.expectation !== '100-continue') {
    return new Refusal('expectation_failed', { closes: true });
  }
  return undefined;
};

const checkTarget = (target: string, targetBytesMax: number): Refusal | RequestTarget => {
  if (target.length > targetBytesMax) return new Refusal('target_too_long', { closes: true });
  const read = readTarget(target);
  const { authority, originForm } = read;
  // A URL parser reads `evil.example` in `//evil.example/x` as a host. Correct clients never send `#`.
  const isPath = originForm.startsWith('/') && !originForm.startsWith('//') && !originForm.includes('#');
  if (!isPath || (authority !== undefined && !HOST.test(authority)))
    return new Refusal('target_invalid', { closes: true });
  return read;
};

/**
 * Splits a parsed head. Refuses requests that node:http accepts but RFC 9112 forbids, and requests that Standin does not serve.
 * `verdict` is what `HeadScanner` found in the raw bytes of this head.
 */
export const readHead = (
  request: IncomingMessage,
  target: string,
  verdict: HeadVerdict | undefined,
  targetBytesMax: number,
): RequestHead | Refusal => {
  const { method = '', httpVersion, rawHeaders } = request;
  const facts = collect(rawHeaders);
  if (verdict === undefined || !agrees(verdict, facts))
    return malformed(
      'The headers can be read in more than one way. Send each header on one line that ends in CRLF (RFC 9112).',
    );
  const read = checkTarget(target, targetBytesMax);
  if (read instanceof Refusal) return read;
  const refusal = checkFacts(facts, httpVersion);
  if (refusal !== undefined) return refusal;

  const { projectUri, path, query } = splitTarget(read.originForm);
  return {
    method,
    target,
    projectUri,
    path,
    query,
    httpVersion,
    headers: facts.headers,
    headerBytes: facts.headerBytes,
    // RFC 9112 section 3.2.2 requires to ignore the Host header if the target has a host.
    host: read.authority ?? facts.host,
    keyCount: facts.keyCount,
    keyIndex: facts.keyIndex,
    keyPadded: verdict.keyPadded,
    contentLength: facts.contentLength,
    isChunked: facts.transferCoding !== undefined,
    expectsContinue: facts.expectation !== undefined && httpVersion !== '1.0',
  };
};

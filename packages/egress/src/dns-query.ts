import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { getServers } from 'node:dns';
import { connect, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The content of one response from a name server, for one name and one kind of address. */
export interface DnsAnswer {
  /** Whether the name is an alias (CNAME or DNAME). */
  readonly isAlias: boolean;
  /** Empty if the name does not exist or has no address of that kind. */
  readonly addresses: readonly string[];
}

export interface NameServer {
  readonly address: string;
  readonly port: number;
}

/** RFC 1035 section 3.2.2, RFC 3596, RFC 6672. */
const TYPES = { A: 1, CNAME: 5, AAAA: 28, DNAME: 39 } as const;
export type AddressType = 'A' | 'AAAA';

const CLASS_INTERNET = 1;
const HEADER_BYTES = 12;
const LABEL_BYTES_MAX = 63;
const NAME_BYTES_MAX = 255;
const RESPONSE_CODES = { success: 0, noSuchName: 3 } as const;
/** A server in the cluster responds within milliseconds, but a datagram may be lost. */
const RETRIED = { max: 3, timeoutMs: 1_000 };
const DNS_PORT = 53;

/** Returns the servers in /etc/resolv.conf. */
const systemServers = (): readonly NameServer[] =>
  getServers().map((text) => {
    const [, bracketed, bare, port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
    return { address: bracketed ?? bare ?? text, port: port === undefined ? DNS_PORT : Number(port) };
  });

const encodeQuestion = (name: string, type: AddressType): Buffer => {
  const labels = name.replace(/\.$/, '').split('.');
  const parts = labels.map((label) => Buffer.from(`\0${label}`, 'latin1'));
  for (const part of parts) part[0] = part.length - 1;
  const encoded = Buffer.concat([...parts, Buffer.from([0, 0, TYPES[type], 0, CLASS_INTERNET])]);
  const isTooLong = parts.some(({ length }) => length < 2 || length > LABEL_BYTES_MAX + 1);
  if (isTooLong || encoded.length > NAME_BYTES_MAX + 4) throw failure(name, 'ENOTFOUND');
  return encoded;
};

const failure = (name: string, code: 'ENOTFOUND' | 'EAI_AGAIN', cause?: unknown): Error =>
  Object.assign(new Error(`${name} cannot be looked up (${code})`, { cause }), { code });

const encodeQuery = (question: Buffer): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(randomInt(0x10000), 0);
  // The flags ask for recursion, and there is one question.
  header.writeUInt16BE(0x0100, 2);
  header.writeUInt16BE(1, 4);
  return Buffer.concat([header, question]);
};

/** Returns whether a message is the response to a query, rather than something else that arrived at its port. */
const isResponse = (message: Buffer, query: Buffer): boolean =>
  message.length >= query.length &&
  message.readUInt16BE(0) === query.readUInt16BE(0) &&
  (message.readUInt8(2) & 0x80) !== 0 &&
  message.readUInt16BE(4) === 1 &&
  message.subarray(HEADER_BYTES, query.length).equals(query.subarray(HEADER_BYTES));

const isTruncated = (message: Buffer): boolean => (message.readUInt8(2) & 0x02) !== 0;

/**
 * Returns the offset after a name, which ends with an empty label or with a pointer to an earlier name (RFC 1035 section 4.1.4).
 */
const skipName = (message: Buffer, start: number): number => {
  let at = start;
  for (;;) {
    const length = message.readUInt8(at);
    if (length >= 0xc0) return at + 2;
    at += length + 1;
    if (length === 0) return at;
  }
};

/** Parses a response. Throws if the server reports a failure, or if the message is malformed. */
const readResponse = (message: Buffer, query: Buffer, type: AddressType): DnsAnswer => {
  const code = message.readUInt8(3) & 0x0f;
  if (code !== RESPONSE_CODES.success && code !== RESPONSE_CODES.noSuchName)
    throw new Error(`the name server responded with code ${code}`);
  const addresses: string[] = [];
  let isAlias = false;
  let at = query.length;
  for (let record = message.readUInt16BE(6); record > 0; record -= 1) {
    at = skipName(message, at);
    const found = message.readUInt16BE(at);
    const end = at + 10 + message.readUInt16BE(at + 8);
    if (end > message.length) throw new Error('the response from the name server is incomplete');
    if (found === TYPES.CNAME || found === TYPES.DNAME) isAlias = true;
    else if (found === TYPES[type])
      addresses.push(ipaddr.fromByteArray([...message.subarray(at + 10, end)]).toString());
    at = end;
  }
  return { isAlias, addresses };
};

const askByDatagram = (server: NameServer, query: Buffer, signal: AbortSignal): Promise<Buffer> =>
  new Promise<Buffer>((resolve, reject) => {
    const socket = createSocket({ type: isIPv6(server.address) ? 'udp6' : 'udp4', signal });
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    const settle = (act: () => void): void => {
      socket.close();
      act();
    };
    socket.once('error', (error) => settle(() => reject(error)));
    socket.on('message', (message) => {
      if (isResponse(message, query)) settle(() => resolve(message));
    });
    socket.once('connect', () => socket.send(query));
    // With a connected socket, the kernel drops datagrams from other addresses.
    socket.connect(server.port, server.address);
  });

/** Queries over TCP, for responses that do not fit in a datagram, such as the addresses of many pods. */
const askByStream = (server: NameServer, query: Buffer, signal: AbortSignal): Promise<Buffer> =>
  new Promise<Buffer>((resolve, reject) => {
    const socket = connect({ host: server.address, port: server.port, signal });
    let received = Buffer.alloc(0);
    socket.once('error', reject).once('close', () => reject(new Error('the name server closed the connection')));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = received.subarray(2, 2 + received.readUInt16BE(0));
      if (isResponse(message, query)) resolve(message);
      else reject(new Error('the name server responded to a different query'));
      socket.destroy();
    });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.length);
    socket.write(Buffer.concat([length, query]));
  });

interface QueryOptions {
  /** By default, the servers in /etc/resolv.conf. */
  readonly servers?: readonly NameServer[] | undefined;
  readonly attempts?: { readonly max: number; readonly timeoutMs: number };
  /** Ends the query. */
  readonly signal?: AbortSignal;
}

/**
 * Queries the addresses of `name` as an absolute name, without search domains and /etc/hosts. One message contains both the alias
 * and the addresses, so nothing can change in between, and no cache can hold the two at different ages. Rejects with the code
 * `EAI_AGAIN` if no server gives a usable response, and with `ENOTFOUND` if `name` is not a valid name.
 */
export const queryAddresses = async (
  name: string,
  type: AddressType,
  { servers = systemServers(), attempts = RETRIED, signal: ended }: QueryOptions = {},
): Promise<DnsAnswer> => {
  const question = encodeQuestion(name, type);
  let cause: unknown;
  for (let attempt = 0; attempt < attempts.max && ended?.aborted !== true; attempt += 1) {
    const server = servers[attempt % Math.max(servers.length, 1)];
    if (server === undefined) break;
    const query = encodeQuery(question);
    const timeout = AbortSignal.timeout(attempts.timeoutMs);
    const signal = ended === undefined ? timeout : AbortSignal.any([timeout, ended]);
    try {
      const message = await askByDatagram(server, query, signal);
      const whole = isTruncated(message) ? await askByStream(server, query, signal) : message;
      return readResponse(whole, query, type);
    } catch (error) {
      cause = error;
    }
  }
  throw failure(name, 'EAI_AGAIN', cause);
};

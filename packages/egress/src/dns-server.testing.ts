import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { NameServer } from './dns-query.ts';

/** The server's data for a name. A name without an entry does not exist. */
export interface DnsEntry {
  /** The canonical name. Its addresses are in the same entry. */
  readonly alias?: string;
  readonly addresses?: readonly string[];
  /** A response code other than success. */
  readonly code?: number;
  /** The number of datagrams that get no response. */
  lost?: number;
  /** Truncates datagrams, so that the client repeats the query over TCP. */
  readonly isLong?: boolean;
}

export interface DnsServer extends NameServer, AsyncDisposable {
  /** May be changed at any time. */
  readonly table: Record<string, DnsEntry>;
  /** The received questions in order of arrival, for example `A orders.shop.svc.cluster.local udp`. */
  readonly questions: readonly string[];
}

const HEADER_BYTES = 12;
const ADDRESS = '127.0.0.1';
const NO_SUCH_NAME = 3;
const TRUNCATED = 0x02;

const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);

const readQuestion = (query: Buffer): { readonly name: string; readonly type: number; readonly end: number } => {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
};

/** Returns a resource record for the name in the question. */
const record = (type: number, data: Uint8Array): Buffer => {
  const head = Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, 1, 0, 0, 0, 5, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
};

const respond = (query: Buffer, entry: DnsEntry | undefined, isCut: boolean): Buffer => {
  const { type, end } = readQuestion(query);
  const { alias, addresses = [], code = entry === undefined ? NO_SUCH_NAME : 0 } = entry ?? {};
  const wanted = addresses.filter((address) => (type === 28) === address.includes(':'));
  const records = isCut
    ? []
    : [
        ...(alias === undefined ? [] : [record(5, encodeName(alias))]),
        ...wanted.map((address) => record(type, Uint8Array.from(ipaddr.parse(address).toByteArray()))),
      ];
  const message = Buffer.concat([query.subarray(0, end), ...records]);
  message.writeUInt8(0x81 | (isCut ? TRUNCATED : 0), 2);
  message.writeUInt8(0x80 | code, 3);
  message.writeUInt16BE(records.length, 6);
  return message;
};

/** Starts a name server on loopback, over UDP and TCP. */
export const startDnsServer = async (table: Record<string, DnsEntry> = {}): Promise<DnsServer> => {
  const questions: string[] = [];
  const note = (query: Buffer, transport: string): DnsEntry | undefined => {
    const { name, type } = readQuestion(query);
    questions.push(`${type === 28 ? 'AAAA' : 'A'} ${name} ${transport}`);
    return table[name];
  };
  const streams = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (chunk: Buffer) => {
      const query = chunk.subarray(2);
      const message = respond(query, note(query, 'tcp'), false);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      // Write in two parts, because a stream may deliver the data that way.
      socket.write(length);
      socket.end(message);
    });
  });
  streams.listen(0, ADDRESS);
  await once(streams, 'listening');
  const { port } = streams.address() as AddressInfo;
  const datagrams = createSocket('udp4');
  datagrams.on('message', (query, from) => {
    const entry = note(query, 'udp');
    if (entry?.lost !== undefined && entry.lost > 0) {
      entry.lost -= 1;
      return;
    }
    datagrams.send(respond(query, entry, entry?.isLong === true), from.port, from.address);
  });
  datagrams.bind(port, ADDRESS);
  await once(datagrams, 'listening');
  return {
    address: ADDRESS,
    port,
    table,
    questions,
    [Symbol.asyncDispose]: async () => {
      datagrams.close();
      streams.close();
      await once(streams, 'close');
    },
  };
};

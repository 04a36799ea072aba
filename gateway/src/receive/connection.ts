import type { Socket } from 'node:net';
import type { RejectionCode } from '@standin/contract';
import { HeadScanner } from '../authenticate/head-scanner.ts';
import type { Exchange } from './exchange.ts';

/** A body on its way that may never be whole. */
export interface Arriving {
  /** The parser gave up on it, or it took too long: its request can still be told so. */
  broken(code: RejectionCode): void;
  /** The connection is closed. */
  gone(): void;
}

/** What the gateway knows about one caller's connection. */
export class Connection {
  readonly socket: Socket;
  readonly scanner = new HeadScanner();
  /** Constant for the connection's life; gone from the socket once it is closed. */
  readonly peerAddress: string;
  /** Who waits for the body that is arriving. */
  arriving: Arriving | undefined;
  /** The exchange that began last. HTTP sends answers in the order of the requests: when this one is out, all are. */
  latest: Exchange | undefined;
  /** Requests behind one that is neither accepted nor refused yet. */
  waiting = 0;
  /** The parser, or a timeout, gave up on what this connection sends. */
  isBroken = false;

  constructor(socket: Socket) {
    this.socket = socket;
    this.peerAddress = plainAddress(socket.remoteAddress ?? '');
    // Ahead of the parser, so that the verdict on a head is there when the parser announces the request.
    socket.prependListener('data', (chunk: Buffer) => this.scanner.push(chunk));
    socket.once('close', () => this.arriving?.gone());
  }
}

/** An IPv4 caller of a dual-stack listener looks like `::ffff:192.0.2.1`. */
const plainAddress = (address: string): string => (address.startsWith('::ffff:') ? address.slice(7) : address);

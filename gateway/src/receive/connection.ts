import type { Socket } from 'node:net';
import type { Arriving, CallerConnection, Exchange } from '../request/exchange.ts';
import { HeadScanner } from './head-scanner.ts';

/** What the gateway knows about one caller's connection. */
export class Connection implements CallerConnection {
  readonly socket: Socket;
  readonly scanner = new HeadScanner();
  /** Constant for the connection's life; gone from the socket once it is closed. */
  readonly peerAddress: string;
  /** Who waits for the body that is arriving. */
  arriving: Arriving | undefined;
  /** The exchange that began last. HTTP sends answers in the order of the requests: when this one is out, all are. */
  latest: Exchange | undefined;
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

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  request as ask,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What happens to an insert. */
export type InsertFault =
  | { readonly kind: 'none' }
  /** The connection of any request is reset before its body is read. */
  | { readonly kind: 'down' }
  /** The insert is received but never gets a response. */
  | { readonly kind: 'hang' }
  /**
   * The insert is done, and the connection is cut before the response. With `forgets`, ClickHouse does not deduplicate later
   * inserts against this insert.
   */
  | { readonly kind: 'reset after commit'; readonly forgets?: boolean }
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** The insert is rejected with this ClickHouse error code. */
  | { readonly kind: 'refuse'; readonly code: number; readonly message: string }
  /** The status is 200, and the exception is only in a header. */
  | { readonly kind: 'exception with 200' }
  /** An insert whose body contains these bytes is rejected. */
  | { readonly kind: 'poison'; readonly bytes: string };

/** A proxy between the gateways and ClickHouse. */
export interface FaultyClickHouse extends AsyncDisposable {
  readonly url: string;
  /** Returns the fault for a request. Called once per request. Of the faults, only `down` affects requests that are not inserts. */
  fault: () => InsertFault;
  /** The numbers of inserts that arrived and of inserts that ClickHouse completed. */
  readonly inserts: { seen: number; done: number };
}

const NONE: InsertFault = { kind: 'none' };
const PERMANENT = { code: 117, message: 'Code: 117. DB::Exception: bad row. (INCORRECT_DATA)' };

export const startFaultyClickHouse = async (engineUrl: string): Promise<FaultyClickHouse> => {
  const sockets = new Set<Socket>();
  const inserts = { seen: 0, done: 0 };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isInsert = /[?&]query=INSERT/i.test(request.url ?? '');
    const fault = isInsert ? front.fault() : front.fault().kind === 'down' ? ({ kind: 'down' } as const) : NONE;
    if (isInsert) inserts.seen++;
    if (fault.kind === 'down') {
      request.socket.resetAndDestroy();
      return;
    }
    const body = await buffer(request);
    const refusal = faultResponse(fault, body);
    if (refusal !== undefined) {
      response.writeHead(refusal.status, { 'x-clickhouse-exception-code': String(refusal.code) }).end(refusal.message);
      return;
    }
    if (fault.kind === 'hang') return;
    if (fault.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
    const url = new URL(request.url ?? '/', engineUrl);
    if ('forgets' in fault) url.searchParams.set('insert_deduplication_token', randomUUID());
    const answer = await pass(url, request, body);
    if (isInsert && answer.status === 200) inserts.done++;
    if (fault.kind === 'reset after commit') request.socket.resetAndDestroy();
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const front: FaultyClickHouse = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault: () => NONE,
    inserts,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return front;
};

const faultResponse = (fault: InsertFault, body: Buffer) => {
  if (fault.kind === 'refuse') return { status: 500, code: fault.code, message: fault.message };
  if (fault.kind === 'exception with 200') return { status: 200, code: 241, message: '' };
  if (fault.kind === 'poison' && body.includes(fault.bytes)) return { status: 400, ...PERMANENT };
  return undefined;
};

const without = (headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));

const pass = async (url: URL, request: IncomingMessage, body: Buffer) => {
  const headers = without(request.headers, ['content-length', 'transfer-encoding', 'host']);
  const passed = ask(url, { method: request.method ?? 'GET', headers });
  passed.end(body);
  const [answer] = (await once(passed, 'response')) as [IncomingMessage];
  const answerHeaders = without(answer.headers, ['transfer-encoding']);
  return { status: answer.statusCode ?? 502, headers: answerHeaders, body: await buffer(answer) };
};

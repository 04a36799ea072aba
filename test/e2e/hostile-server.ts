import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HostileServer extends AsyncDisposable {
  readonly port: number;
  /** `http://localhost:41234` */
  readonly url: string;
  /** The received requests, oldest first. */
  readonly requests: readonly { readonly url: string; readonly headers: IncomingHttpHeaders }[];
  /** Returns the `authorization` headers of the received requests, such as `Bearer …`. */
  readonly tokens: () => readonly string[];
}

/** Starts an attacker's HTTP server, which responds as the test defines and records what it receives. */
export const startHostileServer = async (answer: RequestListener): Promise<HostileServer> => {
  const requests: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers });
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    requests,
    url: `http://localhost:${port}`,
    tokens: () => requests.flatMap(({ headers }) => headers.authorization ?? []),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

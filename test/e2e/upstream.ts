import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  /** Alternating names and values, in the order and case in which they were received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface Upstream {
  /** `http://localhost:41234`. `standin dev` allows requests to this machine. */
  readonly url: string;
  readonly received: readonly ReceivedRequest[];
  /** Responds to each request. A test can replace it at any time. */
  answer: (request: ReceivedRequest, response: ServerResponse) => void;
  stop(): void;
}

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

/** Starts a server that records the requests in order and responds as the test defines. */
export const startUpstream = async (answer: Upstream['answer']): Promise<Upstream> => {
  const received: ReceivedRequest[] = [];
  const server = createServer((incoming, response) => {
    readBody(incoming).then(
      (body) => {
        const { method = '', url = '', rawHeaders } = incoming;
        const request = { method, url, rawHeaders, body };
        received.push(request);
        upstream.answer(request, response);
      },
      () => response.destroy(),
    );
  }).listen(0, 'localhost');
  await once(server, 'listening');
  const upstream: Upstream = {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    received,
    answer,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return upstream;
};

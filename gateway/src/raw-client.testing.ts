import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One response, as sent on the wire. */
export interface RawResponse {
  readonly status: number;
  readonly reason: string;
  /** In wire order, with their original case. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** @param name in lowercase */
export const responseHeader = ({ headers }: RawResponse, name: string): string | undefined =>
  headers.find(([known]) => known.toLowerCase() === name)?.[1];

export const rejectionCode = (response: RawResponse | undefined): string | undefined =>
  response && responseHeader(response, 'standin-rejected');

/** Parses responses that have a content-length or no body. */
const parseResponses = (bytes: Buffer): RawResponse[] => {
  const responses: RawResponse[] = [];
  let rest = bytes;
  for (let end = rest.indexOf('\r\n\r\n'); end !== -1; end = rest.indexOf('\r\n\r\n')) {
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const [, status = '', reason = ''] = /^HTTP\/1\.1 (\d{3}) ?(.*)$/.exec(statusLine) ?? [];
    const headers = lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
    });
    const length = Number(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? 0);
    responses.push({ status: Number(status), reason, headers, body: rest.subarray(end + 4, end + 4 + length) });
    rest = rest.subarray(end + 4 + length);
  }
  return responses;
};

/** A connection that sends exactly the given bytes. */
export class RawClient {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  /** Whether the last request is a HEAD request, whose response has no body regardless of its Content-Length. */
  #isHead = false;
  #change = Promise.withResolvers<undefined>();

  private constructor(socket: Socket) {
    this.socket = socket;
    const change = () => {
      this.#change.resolve(undefined);
      this.#change = Promise.withResolvers();
    };
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      change();
    });
    socket.on('end', change).on('close', change);
    socket.on('error', () => undefined);
  }

  static async connect(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url);
    const client = new RawClient(connect(Number(port), hostname));
    await once(client.socket, 'connect');
    return client;
  }

  get received(): Buffer {
    return this.#received;
  }

  get isClosed(): boolean {
    return this.socket.readableEnded || this.socket.destroyed;
  }

  /** Sends text as latin1. */
  send(text: string | Buffer): void {
    this.#isHead = text.toString().startsWith('HEAD ');
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
  }

  /** Resolves with all final responses so far when there are at least `count`. */
  async responses(count = 1): Promise<RawResponse[]> {
    for (;;) {
      const responses = parseResponses(this.#received).filter(({ status }) => status >= 200);
      const last = responses.at(-1);
      const isWhole =
        last === undefined || this.#isHead || Number(responseHeader(last, 'content-length') ?? 0) === last.body.length;
      if (responses.length >= count && isWhole) return responses;
      if (this.isClosed) throw new Error(`closed after ${JSON.stringify(this.#received.toString('latin1'))}`);
      await this.#change.promise;
    }
  }

  async closed(): Promise<void> {
    while (!this.isClosed) await this.#change.promise;
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/** Sends bytes on a new connection and resolves with the first final response. */
export const exchange = async (url: string, bytes: string | Buffer): Promise<RawResponse & { isClosed: boolean }> => {
  const client = await RawClient.connect(url);
  try {
    client.send(bytes);
    const [response] = await client.responses();
    if (response === undefined) throw new Error('no response');
    return { ...response, isClosed: responseHeader(response, 'connection') === 'close' };
  } finally {
    client.destroy();
  }
};

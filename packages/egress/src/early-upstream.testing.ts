import { createServer, type AddressInfo, type Socket } from 'node:net';
import { parentPort, Worker, workerData } from 'node:worker_threads';

const IS_UPSTREAM = 'early upstream';

const FRAMINGS = {
  'a length': (body: string) => `content-length: ${body.length}\r\n\r\n${body}`,
  'a length and a close': (body: string) => `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  chunks: (body: string) =>
    `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\nx-sum: 1\r\n\r\n`,
  'no length': (body: string) => `connection: close\r\n\r\n${body}`,
} as const;

const ENDINGS = {
  'an end': (socket: Socket, text: string) => socket.end(text),
  'an end and a reset': (socket: Socket, text: string) => socket.end(text, () => socket.destroy()),
  'a reset': (socket: Socket, text: string) => socket.write(text, () => socket.resetAndDestroy()),
  'a reset after a pause': (socket: Socket, text: string) =>
    socket.write(text.slice(0, -2), () => setTimeout(() => ENDINGS['a reset'](socket, text.slice(-2)), 20)),
} as const;

export interface EarlyResponse {
  readonly framing: keyof typeof FRAMINGS;
  readonly ending: keyof typeof ENDINGS;
  readonly bodyBytes: number;
}
export const EARLY_FRAMINGS = Object.keys(FRAMINGS) as EarlyResponse['framing'][];
export const EARLY_ENDINGS = Object.keys(ENDINGS) as EarlyResponse['ending'][];

/** Returns the path of `startEarlyUpstream` for which it sends this response. */
export const earlyPath = (response: EarlyResponse): string =>
  `/${Buffer.from(JSON.stringify(response)).toString('hex')}`;

/** Responds with status 413 as soon as a request begins, and reads no more of it. */
const serve = (socket: Socket): void => {
  socket.on('error', () => undefined);
  socket.setNoDelay();
  socket.once('data', (data: Buffer) => {
    socket.pause();
    const [, hex = ''] = /^\S+ \/([0-9a-f]*)/.exec(data.toString('latin1')) ?? [];
    const { framing, ending, bodyBytes } = JSON.parse(Buffer.from(hex, 'hex').toString()) as EarlyResponse;
    ENDINGS[ending](socket, `HTTP/1.1 413 Too Large\r\n${FRAMINGS[framing]('b'.repeat(bodyBytes))}`);
  });
};

/** Starts the upstream in a thread of its own, because one in the same thread never closes a connection during a write to it. */
export const startEarlyUpstream = async (): Promise<AsyncDisposable & { readonly url: string }> => {
  const worker = new Worker(new URL(import.meta.url), { workerData: IS_UPSTREAM });
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
};

if (workerData === IS_UPSTREAM) {
  const server = createServer({ allowHalfOpen: true }, serve).listen(0, '127.0.0.1', () => {
    parentPort?.postMessage((server.address() as AddressInfo).port);
  });
}

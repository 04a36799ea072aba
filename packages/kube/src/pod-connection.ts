// client-node's PortForward has no stream for the connection, and does not wait until bytes are sent.

import { Duplex, PassThrough, Writable } from 'node:stream';
import { PortForward } from '@kubernetes/client-node';
import { Agent, fetch as fetchWith } from 'undici';
import { ApiError, unreachable } from './api-error.ts';
import type { SharedConnectionConfig } from './kube-config.ts';
import type { KubeObject } from './kube-object.ts';
import { resourcePath } from './resource-path.ts';

/** A port of a pod's container. */
export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** Returns whether a pod accepts connections. */
export const isPodReady = ({
  metadata,
  status,
}: KubeObject & {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');

/** The part of a WebSocket of `ws` that a connection uses. client-node does not ship its types. */
interface Socket {
  send(data: Uint8Array, sent: (error?: Error | null) => void): void;
  close(): void;
  pause(): void;
  resume(): void;
  on(event: 'close', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
}

/** The channel of the bytes in both directions (v4.channel.k8s.io). */
const DATA = 0;

/** A connection to a pod over one WebSocket. The protocol has no half-close, so the end of either side closes both. */
class PodConnection extends Duplex {
  /** client-node writes to these what arrives from the pod, and the text of an error. It first writes an empty chunk to each. */
  readonly arrived = new Writable({
    write: (bytes: Buffer, _encoding, done) => {
      if (bytes.length > 0 && !this.push(bytes)) this.#socket?.pause();
      done();
    },
  });
  readonly failed = new Writable({
    write: (bytes: Buffer, _encoding, done) => {
      if (bytes.length > 0) this.destroy(new Error(`the port-forward failed: ${bytes.toString('utf8').trim()}`));
      done();
    },
  });
  #socket: Socket | undefined;

  constructor() {
    super({ allowHalfOpen: false });
    // The pod can end the connection before or after its user listens, and an error without a listener ends the process. The user
    // finds the error in `errored`.
    this.on('error', () => undefined);
  }

  open(socket: Socket): void {
    this.#socket = socket;
    socket.on('close', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    // The pod's refusal may have arrived together with the acceptance of the WebSocket.
    if (this.destroyed) socket.close();
  }

  override _read(): void {
    this.#socket?.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket?.send(Buffer.concat([Buffer.from([DATA]), chunk]), done);
  }

  override _final(done: () => void): void {
    this.#socket?.close();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket?.close();
    done(error);
  }
}

/** How `ws` reports a response that does not accept the WebSocket. It drops the body. */
const REFUSED = /^Unexpected server response: (\d+)$/;

/**
 * Connects to a port of a pod, as `kubectl port-forward` does: the API server and the kubelet pass the bytes on. Requires `get` and
 * `create` on `pods/portforward`. Rejects with `ApiError`.
 */
export const connectToPod = async (
  config: SharedConnectionConfig,
  { namespace, pod, port }: PodPort,
): Promise<Duplex> => {
  const name = { group: '', version: 'v1', plural: 'pods', namespace, name: pod, subresource: 'portforward' };
  const path = resourcePath(name);
  const request = `GET ${path}`;
  const connection = new PodConnection();
  try {
    const { arrived, failed } = connection;
    // The connection sends its bytes itself, because client-node does not wait until they are sent.
    const unused = new PassThrough();
    const socket: unknown = await new PortForward(config).portForward(namespace, pod, [port], arrived, failed, unused);
    connection.open(socket as Socket);
    return connection;
  } catch (error) {
    const cause = error as Error;
    const status = Number(REFUSED.exec(cause.message)?.[1] ?? 0);
    if (status === 0) throw unreachable(config.getCurrentCluster()?.server ?? '', request, cause);
    const message =
      status === 403
        ? `this user must not forward ports in namespace ${namespace}: grant get and create on pods/portforward`
        : `the API server refused the port-forward to pod ${namespace}/${pod} (${status})`;
    throw new ApiError(message, { status, reason: status === 403 ? 'Forbidden' : 'Unknown', request }, { cause });
  }
};

/** Returns a `fetch` whose requests arrive at a port of a pod, whatever their host is. Each request has its own connection. */
export const podFetch = (config: SharedConnectionConfig, target: PodPort): typeof fetch => {
  const dispatcher = new Agent({
    // An idle WebSocket would keep the process running.
    pipelining: 0,
    connect: (_options, callback) => {
      // undici accepts any duplex stream, but its types ask for a socket.
      connectToPod(config, target).then(
        (connection) => callback(null, connection as never),
        (error: unknown) => callback(error as Error, null),
      );
    },
  });
  // The types of undici's own `fetch` differ from those of Node, whose `fetch` refuses another version's dispatcher.
  return ((url: URL, init: object) => fetchWith(url, { ...init, dispatcher })) as unknown as typeof fetch;
};

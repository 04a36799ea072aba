import type { DashboardContext } from '../dashboard-context.ts';

/** The interval of heartbeats. They keep the connection open, because proxies close idle connections. */
const HEARTBEAT_MS = 15_000;
/** How long browsers wait before they reconnect after an interruption. */
const RETRY_MS = 1_000;

export interface EventSink {
  /** Sends an event, with `data` as JSON. Browsers send `id` back as `Last-Event-ID`. */
  send(event: string, data: unknown, id?: string): void;
  end(): void;
}

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

const eventText = (event: string, data: unknown, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

interface StreamRequest {
  readonly request: Request;
  readonly context: Pick<DashboardContext, 'stopping' | 'openStream'>;
}

/**
 * Sends server-sent events until the client disconnects or the dashboard stops. `start` gets a signal that aborts when the stream
 * ends for any reason. If too many streams are open, sends a single `refused` event with the reason, because `EventSource` does not
 * expose error responses to the page.
 */
export const eventStream = async (
  { request, context: { stopping, openStream } }: StreamRequest,
  start: (sink: EventSink, signal: AbortSignal) => void,
): Promise<Response> => {
  const place = await openStream();
  if ('refusal' in place) return new Response(eventText('refused', { message: place.refusal }), { headers: HEADERS });
  const ended = new AbortController();
  ended.signal.addEventListener('abort', place.release);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      // `servePages` limits what the client has not received yet.
      const write = (text: string): void => {
        if (!ended.signal.aborted) controller.enqueue(encoder.encode(text));
      };
      const heartbeat = setInterval(() => write(':\n\n'), HEARTBEAT_MS);
      const end = (): void => ended.abort();
      ended.signal.addEventListener('abort', () => {
        clearInterval(heartbeat);
        try {
          controller.close();
        } catch {
          // The client disconnected first.
        }
      });
      for (const signal of [request.signal, stopping]) {
        if (signal.aborted) end();
        signal.addEventListener('abort', end, { signal: ended.signal });
      }
      write(`retry: ${RETRY_MS}\n\n`);
      const send: EventSink['send'] = (event, data, id) => write(eventText(event, data, id));
      start({ send, end }, ended.signal);
    },
    cancel: () => ended.abort(),
  });
  return new Response(body, { headers: HEADERS });
};

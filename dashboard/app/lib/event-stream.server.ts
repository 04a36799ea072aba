/** Proxies close what is silent. */
const HEARTBEAT_MS = 15_000;
/** So soon a browser comes back after an interruption. */
const RETRY_MS = 1_000;
/** A reader that does not read is cut off; it comes back and starts anew. */
const QUEUED_MAX = 1_000;

export interface EventSink {
  /** `data` is JSON; `id` comes back as `Last-Event-ID`. */
  send(event: string, data: unknown, id?: string): void;
  end(): void;
}

/** Server-sent events until the reader leaves or `signal` aborts. `start` gets a signal that aborts at the end, whatever ends it. */
export const eventStream = (
  signals: readonly AbortSignal[],
  start: (sink: EventSink, signal: AbortSignal) => void,
): Response => {
  const ended = new AbortController();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const write = (text: string): void => {
          if (ended.signal.aborted) return;
          controller.enqueue(encoder.encode(text));
          if ((controller.desiredSize ?? 0) < -QUEUED_MAX) end();
        };
        const heartbeat = setInterval(() => write(':\n\n'), HEARTBEAT_MS);
        const end = (): void => ended.abort();
        ended.signal.addEventListener('abort', () => {
          clearInterval(heartbeat);
          try {
            controller.close();
          } catch {
            // The reader left first.
          }
        });
        for (const signal of signals) {
          if (signal.aborted) end();
          signal.addEventListener('abort', end, { signal: ended.signal });
        }
        write(`retry: ${RETRY_MS}\n\n`);
        const send: EventSink['send'] = (event, data, id) =>
          write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
        start({ send, end }, ended.signal);
      },
      cancel: () => ended.abort(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  });
};

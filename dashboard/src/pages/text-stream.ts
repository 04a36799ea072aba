/** Returns a response that is written piece by piece, as fast as the client reads it. */
export const textStream = (pieces: AsyncIterable<string>, headers: Readonly<Record<string, string>>): Response => {
  const iterator = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await iterator.next();
      if (next.done === true) controller.close();
      else controller.enqueue(encoder.encode(next.value));
    },
    cancel: async () => {
      await iterator.return?.();
    },
  });
  return new Response(body, { headers });
};

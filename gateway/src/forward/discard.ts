import type { Readable } from 'node:stream';

const DISCARDED_BYTES_MAX = 64 * 1024;
const DISCARD_MS_MAX = 1_000;

/** Reads a short body to its end, so that its connection can be used again. Cuts off a body that is longer or takes longer. */
export const discard = (body: Readable): void => {
  let bytes = 0;
  const timer = setTimeout(() => body.destroy(), DISCARD_MS_MAX);
  body
    .on('error', () => undefined)
    .on('close', () => clearTimeout(timer))
    .on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > DISCARDED_BYTES_MAX) body.destroy();
    });
};

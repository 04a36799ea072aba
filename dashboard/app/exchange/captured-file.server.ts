import { textStream } from '../../src/pages/text-stream.ts';

const headersOf = (name: string, contentType: string): Readonly<Record<string, string>> => ({
  'content-type': contentType,
  // The dashboard chooses the name. Ids and parts contain no characters that need quoting.
  'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
  // A second policy in addition to that of every response: both apply. (nosniff comes with every response.)
  'content-security-policy': "sandbox; default-src 'none'",
});

/** Captured data is a file to save, never a page. It gets no scripts, no origin and nothing to load. */
export const capturedFile = (bytes: Uint8Array, name: string, contentType = 'application/octet-stream'): Response =>
  // No other thread shares this memory.
  new Response(bytes as Uint8Array<ArrayBuffer>, {
    headers: { ...headersOf(name, contentType), 'content-length': String(bytes.length) },
  });

/** The same, for text that is generated while it is read. */
export const capturedText = (pieces: AsyncIterable<string>, name: string, contentType: string): Response =>
  textStream(pieces, headersOf(name, contentType));

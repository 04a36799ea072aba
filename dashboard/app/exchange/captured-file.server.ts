import { textStream } from '../lib/text-stream.server.ts';

const headersOf = (name: string, contentType: string): Readonly<Record<string, string>> => ({
  'content-type': contentType,
  // The name is ours; ids and parts have no characters that would need quoting.
  'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
  // A second policy beside that of every answer: both hold. (nosniff comes with every answer.)
  'content-security-policy': "sandbox; default-src 'none'",
});

/** Whatever a stranger sent: a file to be saved, never a page. It gets no scripts, no origin and nothing to load. */
export const capturedFile = (bytes: Uint8Array, name: string, contentType = 'application/octet-stream'): Response =>
  // Nothing here shares its memory with another thread.
  new Response(bytes as Uint8Array<ArrayBuffer>, {
    headers: { ...headersOf(name, contentType), 'content-length': String(bytes.length) },
  });

/** The same, for what is made while it is read. */
export const capturedText = (pieces: AsyncIterable<string>, name: string, contentType: string): Response =>
  textStream(pieces, headersOf(name, contentType));

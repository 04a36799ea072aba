import { textStream } from '../../src/pages/text-stream.ts';

const fileHeaders = (name: string, contentType: string): Readonly<Record<string, string>> => ({
  'content-type': contentType,
  // The name is never from captured data. Characters that would need quoting are replaced.
  'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
  // Browsers apply this policy in addition to the one in `securityHeaders`. Those headers also contain `nosniff`.
  'content-security-policy': "sandbox; default-src 'none'",
});

/**
 * Returns captured data as a download. If a browser opens the response as a page, the page has an opaque origin, cannot run scripts
 * and cannot load other resources.
 */
export const capturedFile = (bytes: Uint8Array, name: string, contentType = 'application/octet-stream'): Response =>
  // The cast is safe, because no other thread shares this memory.
  new Response(bytes as Uint8Array<ArrayBuffer>, {
    headers: { ...fileHeaders(name, contentType), 'content-length': String(bytes.length) },
  });

/** Like `capturedFile`, but for text that is generated while it is being sent. */
export const capturedText = (pieces: AsyncIterable<string>, name: string, contentType: string): Response =>
  textStream(pieces, fileHeaders(name, contentType));

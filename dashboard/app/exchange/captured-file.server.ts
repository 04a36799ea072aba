/** Whatever a stranger sent: a file to be saved, never a page. It gets no scripts, no origin and nothing to load. */
export const capturedFile = (
  bytes: Uint8Array,
  name: string,
  contentType = 'application/octet-stream',
): Response =>
  // Nothing here shares its memory with another thread.
  new Response(bytes as Uint8Array<ArrayBuffer>, {
    headers: {
      'content-type': contentType,
      'content-length': String(bytes.length),
      // The name is ours; ids and parts have no characters that would need quoting.
      'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
      // A second policy beside that of every answer: both hold. (nosniff comes with every answer.)
      'content-security-policy': "sandbox; default-src 'none'",
    },
  });

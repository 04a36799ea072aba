import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import type { HeaderPair } from '@standin/contract';
import { ownMember } from '@standin/contract';

type Decompress = (bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer;

/** Decoders by content coding (RFC 9110 section 8.4.1, RFC 7932, RFC 8878). */
const DECODERS: Readonly<Record<string, Decompress>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};
/** More codings are not used in practice, and each one could be a decompression bomb. */
const CODINGS_MAX = 2;

/** Returns the content codings of a message in the order in which they were applied. */
export const contentCodings = (headers: readonly HeaderPair[]): string[] =>
  headers
    .filter(([name]) => name.toLowerCase() === 'content-encoding')
    .flatMap(([, value]) => value.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');

/**
 * Removes the content codings from a body. Returns undefined if there are too many codings, a coding is unknown, the bytes do not
 * match it, or the decompressed bytes would exceed `bytesMax`. Returns a body without codings unchanged, even if it is longer.
 */
export const decodeContent = (
  headers: readonly HeaderPair[],
  body: Uint8Array,
  bytesMax: number,
): Uint8Array | undefined => {
  const codings = contentCodings(headers);
  if (codings.length > CODINGS_MAX) return undefined;
  try {
    return codings.reduceRight<Uint8Array>((bytes, coding) => {
      const decompress = ownMember(DECODERS, coding);
      if (decompress === undefined) throw new TypeError(`unknown content coding ${coding}`);
      return decompress(bytes, { maxOutputLength: bytesMax });
    }, body);
  } catch {
    return undefined;
  }
};

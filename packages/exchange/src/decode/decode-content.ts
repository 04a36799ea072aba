import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
  type ZlibOptions,
} from 'node:zlib';
import type { HeaderPair } from '@standin/contract';
import { ownMember } from '@standin/contract';
import { ADDED_UNITS, CODING_UNITS } from './decoding-units.ts';

type Decompress = (bytes: Uint8Array, options: Pick<ZlibOptions, 'maxOutputLength'>) => Buffer;

/** RFC 9659: a larger window is not allowed in this content coding. It would also take up to 128 MiB of memory. */
const ZSTD_WINDOW_LOG_MAX = 23;

/** RFC 1950: the method, and a header that is a multiple of 31. */
const hasZlibHeader = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;

/** RFC 1952. Nothing is read of data without this header, which clients send that name the coding but do not compress. */
const lacksGzipHeader = (coding: string, [first, second]: Uint8Array): boolean =>
  (coding === 'gzip' || coding === 'x-gzip') && (first !== 0x1f || second !== 0x8b);

/** Decoders by content coding (RFC 9110 section 8.4.1, RFC 7932, RFC 8878). */
const DECODERS: Readonly<Record<string, Decompress>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  // RFC 9110 notes that some programs send the data without the zlib header.
  deflate: (bytes, options) => (hasZlibHeader(bytes) ? inflateSync(bytes, options) : inflateRawSync(bytes, options)),
  br: brotliDecompressSync,
  zstd: (bytes, options) =>
    zstdDecompressSync(bytes, { ...options, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } }),
};
/** More codings are not used in practice, and each one could be a decompression bomb. */
const CODINGS_MAX = 2;

type DecodedContent =
  | { readonly kind: 'decoded'; readonly bytes: Uint8Array }
  /** There are too many codings, or an unknown one. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'tooLarge' }
  /** The bytes do not match a coding. */
  | { readonly kind: 'invalid'; readonly coding: string };

/** Returns the content codings of a message in the order in which they were applied. */
export const contentCodings = (headers: readonly HeaderPair[]): string[] =>
  headers
    .filter(([name]) => name.toLowerCase() === 'content-encoding')
    .flatMap(([, value]) => value.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');

/**
 * Removes the content codings from a body. A body without bytes has none, whatever its headers say, for example in a response to HEAD.
 *
 * @param bytesMax the maximum length of what each coding decodes to. A body without codings can be longer
 * @param charge is told what each coding takes, at most, in units of 10 ns, after it has been removed or has failed. It is told what the
 * bytes that a coding has added take before the next coding is removed, and can throw instead
 */
export const decodeContent = (
  codings: readonly string[],
  body: Uint8Array,
  bytesMax: number,
  charge: (units: number) => void = () => undefined,
): DecodedContent => {
  if (body.length === 0) return { kind: 'decoded', bytes: body };
  if (codings.length > CODINGS_MAX) return { kind: 'unknown' };
  let bytes = body;
  for (const coding of codings.toReversed()) {
    const decompress = ownMember(DECODERS, coding);
    if (decompress === undefined) return { kind: 'unknown' };
    if (lacksGzipHeader(coding, bytes)) return { kind: 'invalid', coding };
    const { length } = bytes;
    charge(Math.max(0, length - body.length) * ADDED_UNITS);
    try {
      bytes = decompress(bytes, { maxOutputLength: bytesMax });
    } catch (error) {
      charge((length + bytesMax) * CODING_UNITS);
      const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      return isTooLarge ? { kind: 'tooLarge' } : { kind: 'invalid', coding };
    }
    charge((length + bytes.length) * CODING_UNITS);
  }
  return { kind: 'decoded', bytes };
};

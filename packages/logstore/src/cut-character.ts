/** The longest UTF-8 character. */
const CHARACTER_BYTES_MAX = 4;

/** The number of bytes of the character that begins with this byte; 1 for a byte that begins none. */
const lengthOf = (first: number): number => (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1);

/** The beginning of a text that is `bytesWhole` long, without an incomplete character at its end. */
export const cutCharacter = (bytes: Uint8Array, bytesWhole: number): Uint8Array => {
  if (bytes.length >= bytesWhole) return bytes;
  for (let back = 1; back <= Math.min(CHARACTER_BYTES_MAX, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return lengthOf(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
};

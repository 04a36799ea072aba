/** A character of UTF-8 is at most this long. */
const CHARACTER_BYTES_MAX = 4;

/** How many bytes the character has that begins with this byte; 1 for what begins none. */
const lengthOf = (first: number): number => (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1);

/** The beginning of a text that is `bytesWhole` long, without the part of a character that it was cut in. */
export const cutCharacter = (bytes: Uint8Array, bytesWhole: number): Uint8Array => {
  if (bytes.length >= bytesWhole) return bytes;
  for (let back = 1; back <= Math.min(CHARACTER_BYTES_MAX, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return lengthOf(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
};

export const HEX_ROW_BYTES = 16;

export interface HexRow {
  readonly offset: string;
  readonly hex: string;
  /** Printable ASCII characters, and a dot for every other byte. */
  readonly text: string;
}

const toHex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
const isPrintable = (byte: number): boolean => byte >= 0x20 && byte < 0x7f;

/** Formats one row, which has up to 16 bytes, like `hexdump -C`. `row` counts from 0. */
export const hexRow = (bytes: Uint8Array, row: number): HexRow => {
  const start = row * HEX_ROW_BYTES;
  const part = [...bytes.subarray(start, start + HEX_ROW_BYTES)];
  const half = HEX_ROW_BYTES / 2;
  const digits = part.map((byte) => toHex(byte, 2));
  return {
    offset: toHex(start, 8),
    hex: `${digits.slice(0, half).join(' ')}  ${digits.slice(half).join(' ')}`.trimEnd(),
    text: part.map((byte) => (isPrintable(byte) ? String.fromCharCode(byte) : '.')).join(''),
  };
};

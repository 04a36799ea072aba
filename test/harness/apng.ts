import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export interface Frame {
  /** A PNG. All frames of an animation have the same size and color type. */
  readonly png: Buffer;
  readonly ms: number;
}

const uint32 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => bytes.writeUInt32BE(value, index * 4));
  return bytes;
};

const chunk = (type: string, data: Buffer): Buffer => {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  return Buffer.concat([uint32(data.length), content, uint32(crc32(content))]);
};

/** Returns the header and the compressed pixels of a PNG. */
const pngParts = (png: Buffer): { readonly header: Buffer; readonly pixels: Buffer } => {
  const chunks = new Map<string, Buffer[]>();
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    chunks.set(type, [...(chunks.get(type) ?? []), png.subarray(at + 8, at + 8 + length)]);
    at += length + 12;
  }
  const [header] = chunks.get('IHDR') ?? [];
  if (header === undefined) throw new Error('not a PNG');
  // Browsers compress screenshots quickly rather than well.
  const pixels = deflateSync(inflateSync(Buffer.concat(chunks.get('IDAT') ?? [])), { level: 9 });
  return { header, pixels };
};

/** Joins PNGs to an animated PNG that repeats for ever (https://www.w3.org/TR/png-3/#apng-frame-based-animation). */
export const animatedPng = (frames: readonly Frame[]): Buffer => {
  let sequence = 0;
  const control = (header: Buffer, ms: number): Buffer => {
    const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
    // The last six bytes are the duration as a fraction, and how to dispose of and blend the frame.
    const end = Buffer.from([ms >> 8, ms & 0xff, 1000 >> 8, 1000 & 0xff, 0, 0]);
    return chunk('fcTL', Buffer.concat([uint32(sequence++, width, height, 0, 0), end]));
  };
  const parts = frames.map(({ png, ms }) => ({ ...pngParts(png), ms }));
  const [first] = parts;
  if (first === undefined) throw new Error('an animation needs a frame');
  if (parts.some(({ header }) => !header.equals(first.header))) throw new Error('the frames differ in size or colour');
  return Buffer.concat([
    ...[SIGNATURE, chunk('IHDR', first.header), chunk('acTL', uint32(frames.length, 0))],
    ...parts.flatMap(({ header, pixels, ms }, index) => [
      control(header, ms),
      index === 0 ? chunk('IDAT', pixels) : chunk('fdAT', Buffer.concat([uint32(sequence++), pixels])),
    ]),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};

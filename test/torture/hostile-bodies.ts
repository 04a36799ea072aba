import { gzipSync } from 'node:zlib';

/** The size of the largest body that the log stores. */
const BODY_BYTES = 10 * 1024 * 1024;

export interface HostileBody {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly bytes: Buffer;
}

const of = (type: string, bytes: Buffer, ...more: readonly (readonly [string, string])[]): HostileBody => ({
  headers: [['content-type', type], ...more],
  bytes,
});
const repeated = (text: string): Buffer => Buffer.alloc(BODY_BYTES, text);
const JSON_TYPE = 'application/json';

/**
 * Bodies of about the largest stored size, except the compressed one. Each is expensive for one of the functions that read bodies.
 */
export const HOSTILE_BODIES: Readonly<Record<string, HostileBody>> = {
  'zero bytes': of(JSON_TYPE, Buffer.alloc(BODY_BYTES)),
  'escaped zeros': of(JSON_TYPE, Buffer.from(`"${'\\u0000'.repeat(BODY_BYTES / 6 - 2)}"`)),
  'invalid UTF-8': of('text/plain', Buffer.alloc(BODY_BYTES, 0xff)),
  'characters of three bytes': of('text/plain', repeated('漢')),
  'many small values': of(JSON_TYPE, Buffer.from(`[${'1,'.repeat(BODY_BYTES / 2 - 2)}1]`)),
  'deep nesting': of(JSON_TYPE, repeated('[')),
  'nested objects': of(JSON_TYPE, repeated('{"a":')),
  'members with the names of secrets': of(JSON_TYPE, repeated('{"token":"abcdefgh"},')),
  'quotes and backslashes': of('text/plain', repeated('"\\')),
  'pairs of a form': of('application/x-www-form-urlencoded', repeated('a=b&')),
  delimiters: of('multipart/form-data; boundary=b', repeated('--b\r\nx\r\n')),
  'parts of a form': of(
    'multipart/form-data; boundary=b',
    repeated('--b\r\ncontent-disposition: form-data; name=a\r\n\r\n1\r\n'),
  ),
  'lines with a name': of('text/plain', repeated('password: a\n')),
  markup: of('text/html', repeated('<a b="c">&amp;')),
  'redaction markers': of('text/plain', repeated('[redacted]')),
  'one long line': of('text/plain', repeated('a')),
  'a compressed body that unfolds': of(JSON_TYPE, gzipSync(Buffer.alloc(10 * BODY_BYTES, ' ')), [
    'content-encoding',
    'gzip',
  ]),
};

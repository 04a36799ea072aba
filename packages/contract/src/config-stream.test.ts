import { expect, test } from 'vitest';
import { streamMessageSchema } from './config-stream.ts';
import { LIMITS } from './limits.ts';

const secret = (bytes: number) => ({
  type: 'secret',
  id: 'a',
  value: Buffer.alloc(bytes, 0xff).toString('base64'),
});

test.each([
  ['a secret', secret(1)],
  ['the longest secret', secret(LIMITS.secretBytesMax)],
  ['a secret to delete', { type: 'forget', id: 'a' }],
])('%s is a valid message', (_name, message) => {
  expect(streamMessageSchema.parse(message)).toEqual(message);
});

test.each([
  ['an empty secret', secret(0)],
  ['a secret that is too long', secret(LIMITS.secretBytesMax + 3)],
  ['a secret that is not Base64', { type: 'secret', id: 'a', value: 'a secret' }],
  ['a secret with other fields', { ...secret(1), name: 'b' }],
])('%s is not a valid message', (_name, message) => {
  expect(streamMessageSchema.safeParse(message).success).toBe(false);
});

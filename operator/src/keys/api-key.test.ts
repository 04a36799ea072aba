import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { apiKeyProblem, apiKeySha256, generateApiKey } from './api-key.ts';

test('a generated key consists of the prefix, 43 random characters and a checksum of both', () => {
  const key = generateApiKey();
  expect(key).toMatch(/^standin_[0-9A-Za-z]{49}$/);
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const checksum = key
    .slice(-6)
    .split('')
    .reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
  expect(checksum).toBe(crc32(key.slice(0, -6)));
  expect(apiKeyProblem(key)).toBeUndefined();
  expect(generateApiKey()).not.toBe(key);
});

test.each([
  ['short', 'use at least 32'],
  ['k'.repeat(513), 'use at most 512'],
  [`${'k'.repeat(32)}\n`, 'whitespace'],
  [`${'k'.repeat(32)} x`, 'visible ASCII'],
  [`${'k'.repeat(32)}é`, 'visible ASCII'],
])('an unusable user-provided key is rejected with a reason: %j', (key, problem) => {
  expect(apiKeyProblem(key)).toContain(problem);
});

test('the digest is the key’s SHA-256 in hex', () => {
  expect(apiKeySha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { tryCommand } from './try-it.tsx';

const URL = "http://127.0.0.1:8080/uri/a';touch$IFS'pwned";
const KEY = `k';touch$IFS"pwned";'\`touch pwned\``;

it('the command quotes the URL and the key', () => {
  const command = tryCommand({ method: 'POST', url: URL }, KEY);
  const { stdout } = spawnSync('sh', ['-c', command.replace(/^curl/, "printf '%s\\0'")], { encoding: 'utf8' });
  expect(stdout.split('\0').slice(0, -1)).toEqual([
    ...[
      '-i',
      '-X',
      'POST',
      '-H',
      `x-api-key: ${KEY}`,
      '-H',
      'content-type: application/json',
      '-d',
      '{"try": true}',
      URL,
    ],
  ]);
});

it('path parameters have example values, because curl reads braces as alternatives', () => {
  const url = 'http://127.0.0.1:8080/uri/{tenant}/files/{path...}';
  expect(tryCommand({ method: 'GET', url }, 'k')).toContain(" 'http://127.0.0.1:8080/uri/1/files/1'");
});

it('a key with control characters is rejected', () => {
  expect(() => tryCommand({ method: 'GET', url: URL }, 'k\u0003\ntouch pwned\n')).toThrow('control characters');
});

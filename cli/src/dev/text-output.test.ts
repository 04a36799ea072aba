import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { formatLine, type Output } from '../terminal.ts';
import type { Ready } from './dev-output.ts';
import { textOutput } from './text-output.ts';

const URL = "http://127.0.0.1:8080/uri/a';touch$IFS'pwned";
const KEY = "k';touch$IFS'pwned";
const EXAMPLE: Ready = {
  gateway: 'http://127.0.0.1:8080',
  origin: 'manifests',
  privateUpstreams: true,
  accounts: [],
  projects: [],
  endpoints: [],
  example: { method: 'GET', url: URL, apiKey: KEY },
};

test('the example request is one shell command for any slug and key', () => {
  const lines: string[] = [];
  const out = { line: (line) => void lines.push(formatLine(line)) } as Partial<Output> as Output;
  textOutput(out, { colour: false, data: '.standin' }).ready(EXAMPLE);
  const command = lines.find((line) => line.startsWith('  curl ')) ?? '';
  const { stdout } = spawnSync('sh', ['-c', command.replace('curl', "printf '%s\\0'")], { encoding: 'utf8' });
  expect(stdout.split('\0').slice(0, -1)).toEqual(['-i', '-X', 'GET', '-H', `x-api-key: ${KEY}`, URL]);
});

test('the command that explains refused requests is shown once', () => {
  const lines: string[] = [];
  const out = { line: (line) => void lines.push(formatLine(line)) } as Partial<Output> as Output;
  const output = textOutput(out, { colour: false, data: 'data' });
  for (const path of ['/a', '/b']) output.refused({ code: 'api_key_missing', status: 401, method: 'POST', path });
  expect(lines.map((line) => line.replace(/.* rejected: /, ''))).toEqual([
    'api_key_missing',
    'npx standin refused --data data explains why, and what to do.',
    'api_key_missing',
  ]);
});

test('an endpoint that has become live is shown with its URL', () => {
  const lines: string[] = [];
  const out = { line: (line) => void lines.push(formatLine(line)) } as Partial<Output> as Output;
  const output = textOutput(out, { colour: false, data: '.standin' });
  const endpoint = { object: 'Endpoint default/a', where: '', message: '' };
  output.notice({ ...endpoint, state: 'live', url: 'http://localhost:8080/uri/a' });
  output.notice({ ...endpoint, state: 'gone' });
  expect(lines).toEqual([
    '✓ Endpoint default/a is live at http://localhost:8080/uri/a',
    '✓ Endpoint default/a is gone',
  ]);
});

import { PassThrough, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { formatLine, isConfirmed, outputTo, styled, wantsColour } from './terminal.ts';

const HOSTILE = 'a\x1b[31m\r\n\x9b2J\u202eb';
const SHOWN = String.raw`a\x1b[31m\x0d\x0a\x9b2J\u202eb`;

const printed = (print: (out: ReturnType<typeof outputTo>) => void): string => {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  print(outputTo(stream));
  return Buffer.concat(chunks).toString();
};

test('a line escapes control characters in its parts, and contains no escape sequences except for its styles', () => {
  expect(formatLine(HOSTILE, true)).toBe(SHOWN);
  expect(formatLine(['! ', styled('red', HOSTILE)])).toBe(`! ${SHOWN}`);
  expect(formatLine(['! ', styled('red', HOSTILE)], true)).toBe(`! \x1b[31m${SHOWN}\x1b[39m`);
});

test('an output prints lines, JSON on one line, and unchanged bytes', () => {
  expect(printed((out) => out.line(HOSTILE))).toBe(`${SHOWN}\n`);
  expect(printed((out) => out.lines('a\x1b\n\nb\n'))).toBe('a\\x1b\n\nb\n');
  const json = printed((out) => out.json({ [HOSTILE]: [HOSTILE] }));
  expect(json).toMatch(/^[\x20-\x7e]+\n$/);
  expect(JSON.parse(json)).toEqual({ [HOSTILE]: [HOSTILE] });
  expect(printed((out) => out.bytes(Buffer.from(HOSTILE)))).toBe(HOSTILE);
});

// Lines contain names of files and objects, which a CI log must not interpret as commands.
test('no line is a command for a CI system', () => {
  expect(formatLine('::error::a.yaml:1: b')).toBe(':\\x3aerror::a.yaml:1: b');
  expect(formatLine(['  ', styled('dim', ':'), ':stop-commands::x'])).toBe('  :\\x3astop-commands::x');
  expect(formatLine(['a ##', styled('dim', '[add-mask]b'), ' ##vso[c]d'])).toBe('a #\\x23[add-mask]b #\\x23vso[c]d');
  expect(formatLine('a.yaml:1: b::c ## d #[1]')).toBe('a.yaml:1: b::c ## d #[1]');
  const json = printed((out) => out.json({ name: '##vso[a]' }));
  expect(json).not.toContain('##');
  expect(JSON.parse(json)).toEqual({ name: '##vso[a]' });
});

test('only the last error handler is called', async () => {
  const failed = Promise.withResolvers<string>();
  const out = outputTo(new Writable({ write: (_chunk, _encoding, done) => done(new Error('full')) }));
  out.onError(() => failed.reject(new Error('replaced')));
  out.onError(({ message }) => failed.resolve(message));
  out.line('a');
  expect(await failed.promise).toBe('full');
});

test.each([
  [{ isTerminal: true }, {}, true],
  [{ isTerminal: true }, { NO_COLOR: '' }, true],
  [{ isTerminal: true }, { NO_COLOR: '1' }, false],
  [{ isTerminal: false }, {}, false],
])('whether colour is used for %j with %j: %s', (stream, env, wanted) => {
  expect(wantsColour(stream, env)).toBe(wanted);
});

// Standard error may be redirected to a file, and then the terminal itself handles Ctrl-C.
test.each([
  ['Ctrl-C', '\x03', true, false],
  ['Ctrl-D', '\x04', true, false],
  ['the end of the input', null, false, false],
  ['y', 'y\n', true, true],
  ['an empty line', '\n', false, false],
] as const)('a question that %s ends is not an error', async (_, keys, isTTY, isYes) => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(new PassThrough().resume(), { isTTY });
  const confirmed = isConfirmed('Send?', 'no terminal', { input, output });
  if (keys === null) input.end();
  else input.write(keys);
  expect(await confirmed).toBe(isYes);
});

test('a question without a terminal is an error that says what to do', async () => {
  const streams = { input: new PassThrough(), output: new PassThrough() };
  await expect(isConfirmed('Send?', 'add --yes', streams)).rejects.toThrow('add --yes');
});

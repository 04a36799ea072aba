import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import { printable, printableJson } from '@standin/contract';
import { PlainError } from './plain-error.ts';

type Style = Parameters<typeof styleText>[0];

/** A part of a line with a style, which is applied if color is enabled. */
export interface Styled {
  readonly style: Style;
  readonly text: string;
}

/** One line, in parts. Any part may contain untrusted text, whose line breaks and other control characters are escaped. */
export type Line = string | readonly (string | Styled)[];

export const styled = (style: Style, text: string): Styled => ({ style, text });

const formatPiece = (piece: string | Styled, colour: boolean): string => {
  if (typeof piece === 'string') return printable(piece);
  const text = printable(piece.text);
  return colour ? styleText(piece.style, text, { validateStream: false }) : text;
};

/** Returns the line without its line break. The only escape sequences in it are those of its styles. */
export const formatLine = (line: Line, colour = false): string =>
  (typeof line === 'string' ? [line] : line)
    .map((piece) => formatPiece(piece, colour))
    .join('')
    .replace(/^(\s*:):/, '$1\\x3a')
    .replaceAll(CI_PREFIX, '#\\x23');

/**
 * The `##` of a command in a CI log. CI logs interpret some lines as commands. In GitHub Actions, these lines begin with
 * `::error::` or contain `##[error]` (https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs). In Azure
 * Pipelines, they contain `##vso[…]`, and in TeamCity `##teamcity[…]`.
 */
const CI_PREFIX = /##(?=\w*\[)/g;

/** Returns JSON that neither controls a terminal nor contains a command of a CI log. */
export const formatJson = (value: unknown, indent?: number): string =>
  printableJson(JSON.stringify(value, null, indent)).replaceAll(CI_PREFIX, '#\\u0023');

/**
 * The output of a command. Everything that the command prints goes through it, so that text from manifests, callers and servers
 * cannot control the terminal.
 */
export interface Output {
  readonly isTerminal: boolean;
  readonly line: (line: Line, colour?: boolean) => void;
  /** Prints text with trusted line breaks. A line break at its end does not add an empty line. */
  readonly lines: (text: string) => void;
  /** Prints the value as JSON on one line. */
  readonly json: (value: unknown) => void;
  /** Writes bytes unchanged, for example to a pipe. */
  readonly bytes: (bytes: Uint8Array) => void;
  /** Sets the handler that is called when output fails. Replaces the previous handler. */
  readonly onError: (handle: (error: NodeJS.ErrnoException) => void) => void;
}

export const outputTo = (stream: Writable & { readonly isTTY?: boolean }): Output => {
  let onError: ((error: NodeJS.ErrnoException) => void) | undefined;
  const line = (text: Line, colour?: boolean): void => void stream.write(`${formatLine(text, colour)}\n`);
  return {
    isTerminal: stream.isTTY === true,
    line,
    lines: (text) => {
      for (const one of text.replace(/\n$/, '').split('\n')) line(one);
    },
    json: (value) => void stream.write(`${formatJson(value)}\n`),
    bytes: (bytes) => void stream.write(bytes),
    onError: (handle) => {
      if (onError === undefined) stream.on('error', (error: NodeJS.ErrnoException) => onError?.(error));
      onError = handle;
    },
  };
};

export const stdout = outputTo(process.stdout);
export const stderr = outputTo(process.stderr);

/** Where a question is asked. */
interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable;
}

/**
 * Asks a question at the terminal. Resolves with true for yes, and with false for anything else, including Ctrl-C and Ctrl-D.
 * Rejects with a `PlainError` if there is no terminal.
 *
 * @param otherwise the error message, which says what to do without a terminal
 */
export const isConfirmed = async (
  question: string,
  otherwise: string,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<boolean> => {
  if (input.isTTY !== true) throw new PlainError(otherwise);
  const terminal = createInterface({ input, output });
  // When the input ends, the question itself never settles.
  const closed = once(terminal, 'close').then(() => '');
  try {
    const asked = terminal.question(printable(`${question} [y/N] `)).catch((error: unknown) => {
      if ((error as Error).name !== 'AbortError') throw error;
      output.write('\n');
      return '';
    });
    return /^y(es)?$/i.test((await Promise.race([asked, closed])).trim());
  } finally {
    terminal.close();
  }
};

/** Returns whether to use color. A terminal gets color unless the user disables it (https://no-color.org). */
export const wantsColour = (
  { isTerminal }: Pick<Output, 'isTerminal'>,
  env: Readonly<Record<string, string | undefined>>,
): boolean => isTerminal && (env['NO_COLOR'] ?? '') === '';

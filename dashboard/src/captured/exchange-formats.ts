import type { LogEntry } from '@standin/exchange';
import { curlCommand, fetchSnippet, type Snippet, type SnippetOptions } from '@standin/exchange/formats';

/** Short text formats. They omit long bodies. */
const SNIPPET_FORMATS = ['curl', 'fetch'] as const;
export type SnippetFormat = (typeof SNIPPET_FORMATS)[number];

export const COPY_FORMATS = [...SNIPPET_FORMATS, 'har'] as const;
export type CopyFormat = (typeof COPY_FORMATS)[number];

/** The text for the clipboard, with notes for the user who copies it. */
export type ExchangeCopy = Snippet;

export const requestSnippet = (entry: LogEntry, format: SnippetFormat, options: SnippetOptions): Snippet =>
  format === 'curl' ? curlCommand(entry, options) : fetchSnippet(entry, options);

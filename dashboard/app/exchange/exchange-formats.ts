import type { LogEntry } from '@standin/logstore';
import { curlCommand, fetchSnippet, har, harEntry, type Snippet, type SnippetOptions } from '@standin/logstore/formats';

export const COPY_FORMATS = ['curl', 'fetch', 'har'] as const;
export type CopyFormat = (typeof COPY_FORMATS)[number];

/** What goes to the clipboard, and what is said about it. */
export type ExchangeCopy = Snippet;

export const copyOf = (entry: LogEntry, format: CopyFormat, options: SnippetOptions): ExchangeCopy => {
  switch (format) {
    case 'curl':
      return curlCommand(entry, options);
    case 'fetch':
      return fetchSnippet(entry, options);
    case 'har':
      return { text: JSON.stringify(har([harEntry(entry, options)]), null, 2), notes: [] };
  }
};

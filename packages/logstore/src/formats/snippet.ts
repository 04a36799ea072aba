import type { HeaderPair } from '@standin/contract';
import type { RequestEntry } from './request-message.ts';

/** Text to copy, and what it cannot say. */
export interface Snippet {
  readonly text: string;
  /** Sentences for the person who copies it. */
  readonly notes: readonly string[];
}

export interface SnippetOptions {
  /**
   * Where the gateway answers, without a slash at the end: `https://mocks.example.com`. Without it: http, and the host that the caller
   * named.
   */
  readonly baseUrl?: string | undefined;
}

/** The log has no keys, so commands take it from here. */
export const API_KEY_VARIABLE = 'STANDIN_API_KEY';
const API_KEY_HEADER = 'x-api-key';
export const isApiKeyHeader = (name: string): boolean => name.toLowerCase() === API_KEY_HEADER;

export const headerOf = (headers: readonly HeaderPair[], name: string): string | undefined =>
  headers.find(([known]) => known.toLowerCase() === name)?.[1];

const HOST = /^[\w.-]+(?::\d+)?$|^\[[\da-f:.]+\](?::\d+)?$/i;

/** A host that is none is no part of a URL, whatever the caller sent. */
const hostOf = ({ request: { headers } }: RequestEntry): string => {
  const host = headerOf(headers, 'host') ?? '';
  return HOST.test(host) ? host : 'localhost';
};

export const baseUrlOf = (entry: RequestEntry, { baseUrl }: SnippetOptions): string =>
  baseUrl ?? `http://${hostOf(entry)}`;

export const TRAILERS_NOTE = 'The request had trailers, which cannot be sent this way.';

/** More is too long to paste: the body is downloaded, and the snippet names the file. */
export const SNIPPET_BODY_BYTES_MAX = 1024 * 1024;

/** Of a file with the body of a request, as the dashboard names it when it is downloaded. */
export const requestBodyFile = (id: string): string => `${id}-request.bin`;

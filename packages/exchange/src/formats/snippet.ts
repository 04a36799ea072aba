import { readTarget, type HeaderPair } from '@standin/contract';
import type { RequestEntry } from './request-message.ts';

/** Text to copy, with notes on what the text cannot express. */
export interface Snippet {
  readonly text: string;
  /** Sentences for the user who copies the text. */
  readonly notes: readonly string[];
}

export interface SnippetOptions {
  /**
   * The gateway's URL without a trailing slash, such as `https://mocks.example.com`. Defaults to http and the host in the
   * caller's request.
   */
  readonly baseUrl?: string | undefined;
}

/** The log contains no keys, so commands read the key from this variable. */
export const API_KEY_VARIABLE = 'STANDIN_API_KEY';
const API_KEY_HEADER = 'x-api-key';
export const isApiKeyHeader = (name: string): boolean => name.toLowerCase() === API_KEY_HEADER;

/** @param name in lowercase */
export const headerValue = (headers: readonly HeaderPair[], name: string): string | undefined =>
  headers.find(([known]) => known.toLowerCase() === name)?.[1];

const HOST = /^[\w.-]+(?::\d+)?$|^\[[\da-f:.]+\](?::\d+)?$/i;

/** Returns the caller's host if it is valid, and `localhost` otherwise, because the host becomes part of a URL. */
const callerHost = ({ request: { target, headers } }: RequestEntry): string => {
  const host = readTarget(target).authority ?? headerValue(headers, 'host') ?? '';
  return HOST.test(host) && URL.canParse(`http://${host}`) ? host : 'localhost';
};

export const requestBaseUrl = (entry: RequestEntry, { baseUrl }: SnippetOptions): string =>
  baseUrl ?? `http://${callerHost(entry)}`;

export const TRAILERS_NOTE = 'The request had trailers, which cannot be sent this way.';

/** A larger body is too long to paste. The user downloads it, and the snippet names the file. */
export const SNIPPET_BODY_BYTES_MAX = 1024 * 1024;

export const requestBodyFile = (id: string): string => `${id}-request.bin`;

import { readTarget, type HeaderPair } from '@standin/contract';
import { listText } from '@standin/contract/list-text';
import type { RequestEntry } from './request-message.ts';
import {
  API_KEY_VARIABLE,
  requestBaseUrl,
  isApiKeyHeader,
  requestBodyFile,
  SNIPPET_BODY_BYTES_MAX,
  TRAILERS_NOTE,
} from './snippet.ts';
import type { Snippet, SnippetOptions } from './snippet.ts';
import { toBase64, wireBytes } from './wire-bytes.ts';

/** Headers that fetch sets itself. */
const SET_BY_FETCH: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);
/** Headers that fetch rejects. */
const REJECTED_BY_FETCH: ReadonlySet<string> = new Set(['keep-alive', 'te', 'trailer', 'upgrade', 'expect']);
const isSendable = ([name]: HeaderPair): boolean =>
  !SET_BY_FETCH.has(name.toLowerCase()) && !REJECTED_BY_FETCH.has(name.toLowerCase());

/** Returns a string literal in ASCII. All of its content is visible, and it is also safe inside a page. */
const literal = (text: string): string =>
  JSON.stringify(text).replace(
    /[<\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const headerLine = ([name, value]: HeaderPair): string =>
  `    [${literal(name)}, ${isApiKeyHeader(name) ? 'apiKey' : literal(value)}],`;

interface FetchBody {
  readonly lines: readonly string[];
  readonly notes: readonly string[];
}

const fetchBody = ({ id, request }: RequestEntry & { readonly id: string }): FetchBody => {
  if (request.body === '') return { lines: [], notes: [] };
  const bytes = wireBytes(request);
  if (bytes.length > SNIPPET_BODY_BYTES_MAX) {
    const file = requestBodyFile(id);
    return {
      lines: [`  body: await (await import('node:fs/promises')).readFile(${literal(file)}),`],
      notes: [
        `The body is too long for a snippet. Download it and run this with Node in the folder that contains ${file}.`,
      ],
    };
  }
  if (request.bodyEncoding === 'utf8') return { lines: [`  body: ${literal(request.body)},`], notes: [] };
  const base64 = literal(toBase64(bytes));
  return { lines: [`  body: Uint8Array.from(atob(${base64}), (character) => character.charCodeAt(0)),`], notes: [] };
};

/** Returns whether fetch sends the captured target. URLs have no fragment, no `..` and no `\\` in what is sent. */
const isSentUnchanged = (baseUrl: string, target: string, captured: string): boolean => {
  const base = URL.parse(baseUrl);
  if (base === null) return false;
  return URL.parse(baseUrl + target)?.href === `${base.origin}${base.pathname.replace(/\/$/, '')}${captured}`;
};

/** Returns a call to fetch for Node, Deno, Bun or a browser, as JavaScript statements that need top-level await. */
export const fetchSnippet = (entry: RequestEntry & { readonly id: string }, options: SnippetOptions = {}): Snippet => {
  const { method, request } = entry;
  const body = fetchBody(entry);
  const hasKey = request.headers.some(([name]) => isApiKeyHeader(name));
  // A target consists of bytes. Bytes outside ASCII are percent-encoded, as in a URL, and `#`, because a fragment is not sent.
  const target = readTarget(request.target).originForm.replace(
    /[^!-~]|#/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
  const baseUrl = requestBaseUrl(entry, options);
  const rejected = new Map(
    request.headers
      .filter(([name]) => REJECTED_BY_FETCH.has(name.toLowerCase()))
      .toReversed()
      .map(([name]) => [name.toLowerCase(), name]),
  );
  const lines = [
    ...(hasKey ? [`const apiKey = globalThis.process?.env.${API_KEY_VARIABLE} ?? prompt('Account API key');`] : []),
    `const response = await fetch(${literal(baseUrl + target)}, {`,
    `  method: ${literal(method)},`,
    '  headers: [',
    ...request.headers.filter(isSendable).map(headerLine),
    '  ],',
    ...body.lines,
    // The snippet shows a redirect, like the gateway, which does not follow redirects.
    "  redirect: 'manual',",
    '});',
    'console.log(response.status, await response.text());',
    '',
  ];
  const notes = [
    ...(hasKey
      ? [`The log does not contain the API key. Node reads it from ${API_KEY_VARIABLE}, and a browser asks for it.`]
      : []),
    ...body.notes,
    ...(isSentUnchanged(baseUrl, target, request.target)
      ? []
      : ['fetch cannot send this path and query unchanged. Use cURL instead.']),
    ...(rejected.size > 0
      ? [
          `fetch cannot send the header${rejected.size > 1 ? 's' : ''} ${listText([...rejected.values()].toReversed())}.`,
        ]
      : []),
    ...(request.body === '' || (method !== 'GET' && method !== 'HEAD')
      ? []
      : [`fetch does not support a ${method} request with a body.${method === 'GET' ? ' Use cURL instead.' : ''}`]),
    ...(request.trailers.length > 0 ? [TRAILERS_NOTE] : []),
  ];
  return { text: lines.join('\n'), notes };
};

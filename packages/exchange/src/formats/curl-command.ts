import type { HeaderPair } from '@standin/contract';
import type { RequestEntry } from './request-message.ts';
import { isPasteable, shellQuote, shellWord } from './shell-quote.ts';
import {
  API_KEY_VARIABLE,
  requestBaseUrl,
  headerValue,
  isApiKeyHeader,
  requestBodyFile,
  SNIPPET_BODY_BYTES_MAX,
  TRAILERS_NOTE,
} from './snippet.ts';
import type { Snippet, SnippetOptions } from './snippet.ts';
import { toBase64, wireBytes } from './wire-bytes.ts';

/**
 * The maximum size of a body that is an argument of curl. Linux does not accept arguments of 128 KiB or more (MAX_ARG_STRLEN). The
 * shell itself writes a larger body with printf, which has no such limit.
 */
const ARGUMENT_BYTES_MAX = 100_000;
/**
 * Above this size, curl asks for permission before it sends the body (Expect: 100-continue), unless an option disables the
 * question.
 */
const ASKS_FIRST_BYTES = 1_000_000;

/** Matches a target that curl sends unchanged as part of a URL. Any other target needs --request-target. */
const PLAIN_TARGET = /^\/[\w\-.~!$&'()*+,;=:@/?%[\]{}|"]*$/;

/**
 * Returns a curl command for a POSIX shell that sends the request again, byte for byte: method, target, body, and headers with
 * their case, order, repetitions and empty values. Only the position of Host can differ, because curl puts it first, and a HEAD
 * request is sent without a body, which curl does not support. No part of the command has a side effect in the shell. The API key is not in the log and comes from STANDIN_API_KEY. If this variable is not
 * set, the shell prints an error.
 */
export const curlCommand = (entry: RequestEntry & { readonly id: string }, options: SnippetOptions = {}): Snippet => {
  const { method, request } = entry;
  const baseUrl = requestBaseUrl(entry, options);
  const isHead = method === 'HEAD';
  const body = isHead ? headBody(entry) : curlBody(entry);
  const isPlain = PLAIN_TARGET.test(request.target);
  const version = request.httpVersion === '1.0' ? '--http1.0' : '--http1.1';
  // With -X HEAD, curl would wait for the body of the response.
  const methodArg = isHead ? '--head' : `-X ${/^[A-Z]+$/.test(method) ? method : shellQuote(method)}`;
  const args = [
    `curl ${version} --globoff --path-as-is ${methodArg} ${shellQuote(baseUrl + (isPlain ? request.target : '/'))}`,
    ...(isPlain ? [] : [`--request-target ${shellWord(request.target)}`]),
    ...headerArgs(isHead ? withoutBody(request.headers) : request.headers, new URL(baseUrl).host, body),
    ...body.args,
  ];
  const notes = [
    ...(request.headers.some(([name]) => isApiKeyHeader(name))
      ? [`The log does not contain the API key. Set ${API_KEY_VARIABLE} to it.`]
      : []),
    ...body.notes,
    ...(request.trailers.length > 0 ? [TRAILERS_NOTE] : []),
  ];
  return { text: body.before + args.join(' \\\n  '), notes };
};

const headerArg = ([name, value]: HeaderPair): string => {
  if (isApiKeyHeader(name)) return `-H "${name}: \${${API_KEY_VARIABLE}:?set it to the account API key}"`;
  // A name with nothing after its colon removes the header of that name, if curl would add one. A semicolon sends the header
  // without a value.
  return `-H ${shellWord(value === '' ? `${name};` : `${name}: ${value}`)}`;
};

/** Returns the captured headers, and arguments that remove the headers that curl would add. */
const headerArgs = (
  headers: readonly HeaderPair[],
  host: string,
  { bytes: bodyBytes, args: bodyArgs }: CurlBody,
): readonly string[] => {
  // Expect is left out for an empty chunked body, because RFC 9110 section 10.1.1 forbids Expect without content. With chunked
  // encoding, the server cannot know that the body is empty, so curl would wait forever.
  const isEndless = bodyBytes === 0 && headerValue(headers, 'transfer-encoding') !== undefined;
  const isSent = ([name, value]: HeaderPair): boolean => {
    const known = name.toLowerCase();
    return (known !== 'host' || value !== host) && (known !== 'expect' || !isEndless);
  };
  const own = ['User-Agent', 'Accept'];
  if (bodyArgs.length > 0) own.push('Content-Type');
  if (bodyBytes > ASKS_FIRST_BYTES) own.push('Expect');
  return [
    ...headers.filter(isSent).map(headerArg),
    ...own.filter((name) => headerValue(headers, name.toLowerCase()) === undefined).map((name) => `-H '${name}:'`),
  ];
};

interface CurlBody {
  readonly bytes: number;
  /** The commands before `curl`. */
  readonly before: string;
  readonly args: readonly string[];
  readonly notes: readonly string[];
}

/** The headers that announce a body. */
const BODY_HEADERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'expect']);

const withoutBody = (headers: readonly HeaderPair[]): readonly HeaderPair[] =>
  headers.filter(([name]) => !BODY_HEADERS.has(name.toLowerCase()));

/** With arguments for a body, curl refuses `--head`. */
const headBody = ({ request: { body, headers } }: RequestEntry): CurlBody => {
  const isLeftOut = body !== '' || headerValue(headers, 'transfer-encoding') !== undefined;
  const note =
    'curl sends HEAD requests without a body, so the command leaves out the body and the headers that describe it.';
  return { bytes: 0, before: '', args: [], notes: isLeftOut ? [note] : [] };
};

const curlBody = (entry: RequestEntry & { readonly id: string }): CurlBody => {
  const { id, request } = entry;
  const bytes = wireBytes(request);
  const common = { bytes: bytes.length, before: '', notes: [] };
  // For an empty chunked body, curl needs an explicit body. Otherwise, curl waits for a body.
  if (bytes.length === 0)
    return {
      ...common,
      args: headerValue(request.headers, 'transfer-encoding') === undefined ? [] : ["--data-raw ''"],
    };
  if (bytes.length > SNIPPET_BODY_BYTES_MAX) {
    const file = requestBodyFile(id);
    const notes = [
      `The body is too long for a command. Download it and run the command in the folder that contains ${file}.`,
    ];
    return { ...common, args: [`--data-binary ${shellQuote(`@${file}`)}`], notes };
  }
  const isText = request.bodyEncoding === 'utf8' && isPasteable(request.body) && bytes.length <= ARGUMENT_BYTES_MAX;
  return isText
    ? { ...common, args: [`--data-raw ${shellQuote(request.body)}`] }
    : { ...common, before: `printf %s ${shellQuote(toBase64(bytes))} | base64 -d | `, args: ['--data-binary @-'] };
};

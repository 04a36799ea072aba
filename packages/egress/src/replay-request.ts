import {
  readTarget,
  type HeaderChanges,
  type HeaderPair,
  type RequestMethod,
  type ReplayTarget,
} from '@standin/contract';
import { changeHeaders, stripHopByHop } from './headers.ts';
import { joinUpstreamUrl } from './upstream-url.ts';

/** Marks a request that a replay sent. The value is the id of the log entry that the replay repeats. */
export const REPLAY_OF_HEADER = 'standin-replay-of';

/** Why a captured header is not sent again, in words for users. */
export const STRIP_REASONS = {
  connection: 'belongs to the original connection',
  rewritten: 'is recomputed for this request',
  'api-key': 'the log contains only a fingerprint of the key',
  credentials: 'credentials are only sent to their original destination',
  marker: 'is recomputed for this replay',
} as const;
export type StripReason = keyof typeof STRIP_REASONS;

export interface ReplayHeadersInput {
  readonly requestId: string;
  readonly target: ReplayTarget;
  /** As captured, or as written by a user. latin1, in order. */
  readonly headers: readonly HeaderPair[];
  /** Whether a user wrote the headers, which makes credentials in them intentional. */
  readonly isEdited: boolean;
  /** For the target `Endpoint`, the account's key, or its placeholder if the headers are only shown. */
  readonly apiKey: string;
}

export interface ReplayHeaders {
  /** The headers to send, except `host`, `content-length` and `connection`, which follow from the URL and the body. */
  readonly sent: readonly HeaderPair[];
  readonly stripped: readonly { readonly name: string; readonly reason: StripReason }[];
  readonly added: readonly HeaderPair[];
}

const REWRITTEN = new Set(['host', 'content-length', 'expect']);
const CREDENTIALS = new Set(['authorization', 'cookie']);

/** Determines which headers a replay removes and adds. The operator sends the result, and the dashboard and the CLI display it. */
export const replayHeaders = ({ requestId, target, headers, isEdited, apiKey }: ReplayHeadersInput): ReplayHeaders => {
  const kept = new Set(stripHopByHop(headers));
  const sent: HeaderPair[] = [];
  const stripped: { name: string; reason: StripReason }[] = [];
  for (const pair of headers) {
    const [name] = pair;
    const lower = name.toLowerCase();
    const reason: StripReason | undefined =
      lower === 'x-api-key'
        ? 'api-key'
        : lower === REPLAY_OF_HEADER
          ? 'marker'
          : REWRITTEN.has(lower)
            ? 'rewritten'
            : !kept.has(pair)
              ? 'connection'
              : target === 'URL' && !isEdited && CREDENTIALS.has(lower)
                ? 'credentials'
                : undefined;
    if (reason === undefined) sent.push(pair);
    else stripped.push({ name, reason });
  }
  const added: HeaderPair[] = [
    [REPLAY_OF_HEADER, requestId],
    ...(target === 'Endpoint' ? [['x-api-key', apiKey] as const] : []),
  ];
  return { sent: [...sent, ...added], stripped, added };
};

/** A request as recorded in the log. Strings are latin1. */
export interface CapturedRequest {
  readonly id: string;
  readonly method: RequestMethod;
  /** For example `/PROJECT-URI/v1/orders?a=1`. */
  readonly target: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
}

/** The changes to a request. Undefined parts stay as captured. */
export interface RequestEdit {
  readonly method?: RequestMethod | undefined;
  readonly target?: string | undefined;
  readonly headers?: readonly HeaderPair[] | undefined;
  readonly body?: Uint8Array | undefined;
}

/**
 * The destination. For the target `Endpoint`, `url` is the gateways' base URL. Otherwise, it is the complete URL of the upstream.
 */
export interface ReplayDestination {
  readonly target: ReplayTarget;
  readonly url: string;
  readonly apiKey: string;
  /** The changes that the endpoint makes to the headers for its upstream. */
  readonly requestHeaders?: HeaderChanges | undefined;
  /** The headers from Secrets that the endpoint sets for its upstream. */
  readonly secretHeaders?: readonly HeaderPair[] | undefined;
}

export interface ReplayRequest extends ReplayHeaders {
  readonly url: string;
  readonly method: RequestMethod;
  readonly body: Uint8Array;
}

/** Returns the request that a replay sends. Throws a `TypeError` if the target cannot be part of a URL of this destination. */
export const replayRequest = (
  captured: CapturedRequest,
  edit: RequestEdit,
  { target, url, apiKey, requestHeaders, secretHeaders = [] }: ReplayDestination,
): ReplayRequest => {
  const wanted = readTarget(edit.target ?? captured.target).originForm;
  const isEdited = edit.headers !== undefined;
  const headers = edit.headers ?? captured.headers;
  const prepared = replayHeaders({ requestId: captured.id, target, headers, isEdited, apiKey });
  return {
    ...prepared,
    sent: changeHeaders(changeHeaders(prepared.sent, requestHeaders), { set: secretHeaders, remove: [] }),
    url: target === 'Endpoint' ? gatewayUrl(url, wanted) : joinUpstreamUrl(url, targetQuery(wanted)),
    method: edit.method ?? captured.method,
    body: edit.body ?? captured.body,
  };
};

const targetQuery = (target: string): string | undefined => {
  const start = target.indexOf('?');
  return start === -1 ? undefined : target.slice(start + 1);
};

/** Concatenates the parts, because `new URL('//evil', base)` would change the host. */
const gatewayUrl = (base: string, target: string): string => {
  const joined = base.replace(/\/+$/, '') + target;
  if (!target.startsWith('/') || new URL(joined).origin !== new URL(base).origin) {
    throw new TypeError('the target must start with / and stay on the gateway');
  }
  return joined;
};

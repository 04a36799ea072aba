import { REQUEST_METHODS, type CorsConfig, type HeaderPair } from '@standin/contract';

interface Head {
  readonly method?: string | undefined;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
}

const ALLOW_ORIGIN = 'access-control-allow-origin';
const EXPOSE_HEADERS = 'access-control-expose-headers';
const ALLOW_METHODS: HeaderPair = ['access-control-allow-methods', REQUEST_METHODS.join(', ')];
/** Each origin may get another response. */
const VARY: HeaderPair = ['vary', 'Origin'];

const variesByOrigin = ([name, value]: HeaderPair): boolean =>
  name.toLowerCase() === 'vary' && /(^|,)\s*(origin|\*)\s*(,|$)/i.test(value);

/** Returns a header's value, or undefined if the request has none of this name. */
const findHeader = (rawHeaders: readonly string[], name: string): string | undefined => {
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) return rawHeaders[at + 1];
  return undefined;
};

/** Whether a browser asks with this request if a page may send another one (Fetch, CORS-preflight request). */
export const isPreflight = ({ method, rawHeaders }: Head): boolean =>
  method === 'OPTIONS' &&
  findHeader(rawHeaders, 'origin') !== undefined &&
  findHeader(rawHeaders, 'access-control-request-method') !== undefined;

/** Returns the headers that allow the request's origin to read the response. Empty if it is not allowed to. */
const allowOrigin = ({ allowOrigins }: CorsConfig, rawHeaders: readonly string[]): readonly HeaderPair[] => {
  if (allowOrigins.includes('*')) return [[ALLOW_ORIGIN, '*']];
  const origin = findHeader(rawHeaders, 'origin');
  return origin !== undefined && allowOrigins.includes(origin) ? [[ALLOW_ORIGIN, origin]] : [];
};

/** The response to a preflight, which is the same for every path of a project. */
export class Preflight {
  readonly headers: readonly HeaderPair[];

  constructor(cors: CorsConfig, { rawHeaders }: Head) {
    const allowed = allowOrigin(cors, rawHeaders);
    const allowHeaders: HeaderPair = ['access-control-allow-headers', ['x-api-key', ...cors.allowHeaders].join(', ')];
    const maxAge: HeaderPair[] = cors.maxAgeS === undefined ? [] : [['access-control-max-age', String(cors.maxAgeS)]];
    this.headers = allowed.length === 0 ? [VARY] : [...allowed, ALLOW_METHODS, allowHeaders, ...maxAge, VARY];
  }
}

/** Returns the headers of any other response. What the mock or the upstream says about origins is replaced. */
export const withCors = (
  headers: readonly HeaderPair[],
  cors: CorsConfig,
  rawHeaders: readonly string[],
): readonly HeaderPair[] => {
  const isExposing = cors.exposeHeaders.length > 0;
  const replaced = isExposing ? [ALLOW_ORIGIN, EXPOSE_HEADERS] : [ALLOW_ORIGIN];
  const others = headers.filter(([name]) => !replaced.includes(name.toLowerCase()));
  const allowed = allowOrigin(cors, rawHeaders);
  if (allowed.length > 0 && isExposing) others.push([EXPOSE_HEADERS, cors.exposeHeaders.join(', ')]);
  return [...others, ...allowed, ...(others.some(variesByOrigin) ? [] : [VARY])];
};

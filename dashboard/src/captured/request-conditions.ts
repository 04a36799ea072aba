import { LIMITS, type HeaderPair } from '@standin/contract';
import { stripHopByHop } from '@standin/egress';
import type { LogEntry } from '@standin/exchange';
import { isSensitiveName } from '@standin/exchange/redact';
import {
  hasParameters,
  matchesPattern,
  parameterNames,
  parsePathPattern,
  pathParameters,
  RequestFacts,
  type PathPattern,
} from '@standin/responses';

/** A condition of a response that a captured request meets. */
export interface RequestCondition {
  /** The field of `when` that contains the condition. */
  readonly list: 'pathParams' | 'headers' | 'queryParams';
  readonly name: string;
  /** Undefined for a value that is probably a secret. Its condition is that there is a value. */
  readonly value: string | undefined;
}

/** The maximum number of headers, and separately of query parameters, to choose from. */
const OFFERED_MAX = 32;
/** Headers that differ for each caller or each request. */
const UNSUITABLE: ReadonlySet<string> = new Set(['host', 'content-length', 'date', 'x-api-key', 'standin-replay-of']);

/** Returns the conditions that the request meets, without those that exceed a limit. `slug` is that of its endpoint. */
export const requestConditions = (entry: LogEntry, slug: string): readonly RequestCondition[] => {
  const { path, query, request } = entry;
  const pattern = matchedPattern(slug, path);
  const parameters = pattern === undefined ? new Map<string, string[]>() : pathParameters(pattern, path);
  const facts = new RequestFacts({ headers: request.headers, query, parameters });
  const condition = (list: RequestCondition['list'], name: string, value: string): RequestCondition => ({
    list,
    name,
    value: list !== 'pathParams' && isSensitiveName(name) ? undefined : value,
  });
  const headers = stripHopByHop(request.headers)
    .map(([name, value]): HeaderPair => [name.toLowerCase(), value])
    .filter(([name]) => !UNSUITABLE.has(name));
  return distinct([
    ...(pattern === undefined ? [] : parameterNames(pattern)).flatMap((name) =>
      facts.parameter(name).map((value) => condition('pathParams', name, value)),
    ),
    ...headers.slice(0, OFFERED_MAX).map(([name, value]) => condition('headers', name, value)),
    ...[...new URLSearchParams(query)]
      .slice(0, OFFERED_MAX)
      // Bytes that are not ASCII are read differently here, so that these conditions could not be met.
      .filter(([name, value]) => name !== '' && facts.query(name).includes(value))
      .map(([name, value]) => condition('queryParams', name, value)),
  ]).filter(
    ({ name, value = '' }) =>
      name.length <= LIMITS.headerNameLengthMax && value.length <= LIMITS.conditionValueLengthMax,
  );
};

/** Returns undefined if the slug has no parameters or has been changed so that it does not match the path. */
const matchedPattern = (slug: string, path: string): PathPattern | undefined => {
  const parsed = hasParameters(slug) ? parsePathPattern(slug) : undefined;
  return parsed?.ok === true && matchesPattern(parsed.pattern, path) ? parsed.pattern : undefined;
};

const distinct = (conditions: readonly RequestCondition[]): readonly RequestCondition[] => [
  ...new Map(
    conditions.map((condition) => [JSON.stringify([condition.list, condition.name, condition.value]), condition]),
  ).values(),
];

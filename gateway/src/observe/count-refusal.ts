import type { IncomingMessage } from 'node:http';
import { readTarget, type ProjectConfig, type RejectionCode } from '@standin/contract';
import type { RoutingTable } from '../match/routing-table.ts';
import { splitTarget } from '../request/split-target.ts';
import type { RefusalCounts } from './refusal-counts.ts';
import { guessSender, hasKeyHeader } from './guess-sender.ts';

/** Refusals of requests with a credential that is valid for the project. */
const CALLER_KNOWN: ReadonlySet<RejectionCode> = new Set([
  'endpoint_not_found',
  'method_not_allowed',
  'endpoint_not_accepted',
  'quota_exceeded',
  'rate_limited',
]);

/**
 * A body that is too large can also be refused before its signature is checked. A key is checked before the body is read.
 */
const isCallerKnown = (code: RejectionCode, rawHeaders: readonly string[]): boolean =>
  CALLER_KNOWN.has(code) || (code === 'body_too_large' && hasKeyHeader(rawHeaders));

/** Returns the slug that the path matches, preferably of an endpoint for the method. Empty if there is none. */
const matchedSlug = (table: RoutingTable, projectUid: string, method: string, path: string): string => {
  const paths = table.endpointPaths(projectUid);
  const found = paths?.find(method, path);
  if (found !== undefined || paths === undefined) return found?.config.slug ?? '';
  for (const methods of paths.matches(path)) for (const endpoint of methods.values()) return endpoint.config.slug;
  return '';
};

/**
 * Counts a refused request. Returns the project whose URI the target contains, if it exists. `table` is undefined if there is no
 * active configuration.
 */
export const countRefusal = (
  counts: RefusalCounts,
  code: RejectionCode,
  { request, target }: { readonly request: Pick<IncomingMessage, 'method' | 'rawHeaders'>; readonly target: string },
  table: RoutingTable | undefined,
): ProjectConfig | undefined => {
  const { method = '', rawHeaders } = request;
  const { projectUri, path } = splitTarget(readTarget(target).originForm);
  const found = table?.projectAt(projectUri);
  const { uid: project = '', namespace = '' } = found ?? {};
  const counted = { code, project, namespace };
  if (table === undefined || found === undefined)
    counts.add({ ...counted, isCallerKnown: false, who: guessSender(rawHeaders), where: '' });
  else if (isCallerKnown(code, rawHeaders)) counts.add({ ...counted, isCallerKnown: true, who: method, where: path });
  else {
    const where = matchedSlug(table, project, method, path);
    counts.add({ ...counted, isCallerKnown: false, who: guessSender(rawHeaders), where });
  }
  return found;
};

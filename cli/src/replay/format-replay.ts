import { progressIn, type ReplaySpec, type ReplayStatus } from '@standin/crds';
import { replayHeaders, STRIP_REASONS, type ReplayHeaders } from '@standin/egress/replay';
import type { LogEntry } from '@standin/exchange';
import type { ReplayedExchange } from '@standin/logstore';
import { countText } from '../count-text.ts';
import { formatDuration, formatSummaryLine } from '../logs/format-entry.ts';
import type { Line } from '../terminal.ts';
import type { FilterPlan } from './replay-client.ts';

const INDENT = '  ';

const targetText = ({ kind, url }: ReplaySpec['target'], isMany = false): string => {
  const [the, s] = isMany ? ['their', 's'] : ['the', ''];
  switch (kind) {
    case 'URL':
      return url ?? '';
    case 'Endpoint':
      return `${the} original endpoint${s}, through the gateway`;
    case 'Upstream':
      return `${the} original upstream${s}`;
  }
};

const plannedHeaders = (entry: LogEntry, spec: ReplaySpec): ReplayHeaders =>
  replayHeaders({
    requestId: entry.id,
    target: spec.target.kind,
    headers: spec.edit?.headers?.map(({ name, value }) => [name, value] as const) ?? entry.request.headers,
    isEdited: spec.edit?.headers !== undefined,
    apiKey: "(the account's key)",
  });

/** Describes the request to send, its target, and the headers that are removed and added. */
export const formatOnePlan = (entry: LogEntry, spec: ReplaySpec): Line[] => {
  const { stripped, added } = plannedHeaders(entry, spec);
  const { edit } = spec;
  const edited = Object.entries(edit ?? {}).flatMap(([field]) => (field === 'bodyEncoding' ? [] : [field]));
  return [
    formatSummaryLine(entry),
    `${INDENT}to ${targetText(spec.target)}`,
    ...(edited.length > 0 ? [`${INDENT}edited: ${edited.join(', ')}`] : []),
    ...stripped.map(({ name, reason }) => `${INDENT}- ${name}: ${STRIP_REASONS[reason]}`),
    ...added.map(([name, value]) => `${INDENT}+ ${name}: ${value}`),
  ];
};

/** Describes the count, target, rate, expected duration, and the first requests. */
export const formatFilterPlan = (plan: FilterPlan, spec: ReplaySpec): Line[] => {
  const count = Math.min(plan.count, spec.filter?.limit ?? plan.count);
  if (count === 0) return ['No captured request matches, so nothing was sent.'];
  const ms = (count / spec.ratePerSecond) * 1_000;
  const order = spec.order === 'Original' ? ', one at a time' : '';
  const more = count - plan.first.length;
  return [
    `${countText(count, 'request')} to ${targetText(spec.target, count > 1)}, ${spec.ratePerSecond} per second${order}: about ${formatDuration(ms)}`,
    ...plan.first.slice(0, count).map((entry) => [INDENT, ...formatSummaryLine(entry)]),
    ...(more > 0 ? [`${INDENT}… and ${more} more`] : []),
  ];
};

/** Returns text such as `Running: 40 of 120 sent, 2 without a response`. */
export const formatReplayProgress = ({
  phase = 'Pending',
  sent = 0,
  planned,
  failed = 0,
  conditions,
}: ReplayStatus): string => {
  const of = planned === undefined ? '' : ` of ${planned}`;
  const progress = progressIn(conditions);
  const lost = failed > 0 ? `, ${failed} without a response` : '';
  return `${phase}: ${sent}${of} sent${lost}${progress?.reason === 'Waiting' ? ` (${progress.message})` : ''}`;
};

/** Describes the response to one request, and the captured response. */
export const formatResponse = (replayed: Omit<ReplayedExchange, 'request'>, captured: LogEntry): string[] => {
  const was = `captured: ${captured.status === 0 ? 'no response' : captured.status}, ${formatDuration(captured.durationMs)}`;
  if (replayed.status === 0) return [`no response: ${replayed.error} (${was})`];
  const { response } = replayed;
  const cut = response.truncated
    ? `, of which ${countText(Buffer.byteLength(response.body, response.bodyEncoding), 'byte')} are stored`
    : '';
  return [
    `${replayed.status} in ${formatDuration(replayed.durationMs)}, ${countText(response.bodyBytes, 'byte')}${cut} (${was})`,
    ...(replayed.error === '' ? [] : [replayed.error]),
  ];
};

/** Describes the result, with a line such as `  38 × 200` for each status. */
export const formatResult = ({ byStatus = [], conditions }: ReplayStatus): string[] => [
  progressIn(conditions)?.message ?? '',
  ...byStatus.map(
    ({ status, count }) => `${INDENT}${String(count).padStart(7)} × ${status === 0 ? 'no response' : status}`,
  ),
];

import { parseInstant } from '@standin/contract';
import { wireText } from '@standin/exchange/formats';
import { diffResponses, type ScalarChange } from '@standin/exchange/diff';
import type { BodyDiff, ComparedResponse, HeaderChange } from '@standin/exchange/response-diff';
import { bodyAsBuffer, type LogEntry } from '@standin/exchange';
import type { Ignored } from './ignored.ts';
import type { ManifestResponse } from './manifest-mocks.ts';
import { headerKind, valueKind, type VolatileKind } from './volatile-kinds.ts';

/** Another value of the same type, in the response of an upstream and in the mock. */
export interface ValueChange extends ScalarChange {
  /** Such as `$.items[2].id` or `header etag`. */
  readonly at: string;
  readonly kind: VolatileKind | undefined;
}

/** Whether the manifests respond to a captured request as it was responded to. */
export type Comparison =
  | { readonly kind: 'same' }
  /** Such as `status 201 → 200` or `$.items[2].price: 12 → 13`. */
  | {
      readonly kind: 'different';
      readonly changes: readonly string[];
      /** Other values of the same type, if an upstream responded: see `VolatileFields`. */
      readonly values?: readonly ValueChange[];
      /** See `TestCase`. */
      readonly mended?: readonly string[];
    }
  | { readonly kind: 'skipped'; readonly reason: SkipReason };

export const SKIP_REASONS = {
  upstream: 'an upstream responds',
  unanswered: 'no complete response was captured',
  truncated: 'only the beginning of the response was captured',
  project: 'the manifests do not contain the project',
  status: 'the mock has another status',
  mocked: 'no upstream responded',
  noMock: 'the endpoint has no valid mock',
  tooComplex: 'checking it with the contract takes too long',
  coding: 'the content coding of the body is not known',
  contract: 'the contract has a mistake',
} as const;
export type SkipReason = keyof typeof SKIP_REASONS;

const COMPLETE: ReadonlySet<LogEntry['outcome']> = new Set(['mocked', 'template_failed', 'forwarded', 'fallback']);

/** Returns why the captured response cannot be compared. Undefined if it can be. */
export const whyIncomplete = ({ outcome, response }: LogEntry): SkipReason | undefined => {
  if (!COMPLETE.has(outcome)) return 'unanswered';
  return response.truncated ? 'truncated' : undefined;
};
const LINES_MAX = 6;

/** Compares the captured response with what the manifests respond. Ignores what differs with each response, such as `date`. */
export const compareResponse = (entry: LogEntry, now: ManifestResponse, ignored: Ignored): Comparison => {
  const isUpstreams = isFromUpstream(entry);
  if (now.kind === 'NoProject') return skipped('project');
  if (now.kind === 'Rejected') return different([now.reason]);
  if (now.kind === 'Forward') return isUpstreams ? skipped('upstream') : different(['An upstream responds.']);
  const incomplete = whyIncomplete(entry);
  if (incomplete === 'unanswered') return skipped(incomplete);
  if (now.kind === 'TemplateFailed')
    return entry.outcome === 'template_failed' ? { kind: 'same' } : different([`The template fails: ${now.reason}.`]);
  if (incomplete !== undefined) return skipped(incomplete);
  const { status, headers, body } = now;
  const before = captured(entry);
  const after = { status, headers, body, durationMs: 0, truncated: false, bodyBytes: body.length };
  const values: ValueChange[] = [];
  // An error has other values than a success.
  const hasValues = isUpstreams && status === before.status;
  const receivedAtUs = parseInstant(entry.receivedAt) ?? 0;
  const diff = diffResponses(before, after, (at, scalars) => {
    if (ignored.path(at)) return true;
    if (!hasValues || scalars === undefined) return false;
    values.push({ at, ...scalars, kind: valueKind(scalars, receivedAtUs) });
    return true;
  });
  const changed = diff.headers.filter(({ name, isPassing }) => !isPassing && !ignored.header(name));
  const changes = [
    ...(status === before.status ? [] : [`status ${before.status} → ${status}`]),
    ...changed.flatMap((change) => {
      // An upstream sends headers that no mock has.
      if (isUpstreams && change.after.length === 0) return [];
      const value = hasValues ? headerValue(change) : undefined;
      if (value === undefined) return [`${headerPart(change)}: ${shown(change.before)} → ${shown(change.after)}`];
      values.push(value);
      return [];
    }),
    ...bodyChanges(diff.body),
  ];
  if (changes.length + values.length === 0) return { kind: 'same' };
  return { kind: 'different', changes, ...(hasValues && { values }) };
};

/** Whether the captured response is that of an upstream. */
export const isFromUpstream = ({ action, outcome }: LogEntry): boolean =>
  action === 'Forward' && outcome !== 'mocked' && outcome !== 'template_failed';

export const skipped = (reason: SkipReason): Comparison => ({ kind: 'skipped', reason });

export const different = (changes: readonly string[], mended?: readonly string[]): Comparison => ({
  kind: 'different',
  changes,
  ...(mended !== undefined && { mended }),
});

const captured = ({ response, method }: LogEntry): ComparedResponse => ({
  status: response.status,
  durationMs: 0,
  headers: response.headers,
  body: method === 'HEAD' ? Buffer.alloc(0) : bodyAsBuffer(response),
  truncated: false,
  bodyBytes: response.bodyBytes,
});

const headerPart = ({ name }: HeaderChange): string => `header ${name.toLowerCase()}`;

/** Returns undefined if only one of the responses has the header, or for another media type. */
const headerValue = (change: HeaderChange): ValueChange | undefined => {
  const { name, before, after } = change;
  const [was, is] = [before.join(', '), after.join(', ')];
  if (before.length === 0 || after.length === 0 || name.toLowerCase() === 'content-type') return undefined;
  return { at: headerPart(change), before: shown(before), after: shown(after), kind: headerKind(name, was, is) };
};

const shown = (values: readonly string[]): string =>
  values.length === 0 ? 'absent' : values.map((value) => JSON.stringify(wireText(value).text)).join(', ');

const bodyChanges = (diff: BodyDiff): readonly string[] => {
  switch (diff.kind) {
    case 'same':
      return [];
    case 'json': {
      const changes = diff.changes.map(
        ({ path, before = 'absent', after = 'absent' }) => `${path}: ${before} → ${after}`,
      );
      const unlisted = diff.total - diff.changes.length;
      return unlisted === 0 ? changes : [...changes, `body: ${unlisted} more changes`];
    }
    case 'text':
      return diff.lines
        .flatMap((line) =>
          line.kind === 'removed' || line.kind === 'added'
            ? `body ${line.kind === 'added' ? '+' : '-'} ${line.text}`
            : [],
        )
        .slice(0, LINES_MAX);
    case 'bytes':
      return [`body: ${diff.before.bytes} bytes → ${diff.after.bytes} bytes. ${diff.why}`];
  }
};

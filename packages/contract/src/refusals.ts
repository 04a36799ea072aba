import { z } from 'zod';
import { LIMITS } from './limits.ts';

/**
 * How the operator learns which requests the gateways refused (docs/internals/adr/035-refused-requests.md). Gateways only count them, in memory
 * and for one hour. The operator asks on the config stream with a `refusals` message:
 *
 *   POST /v1/refusals                       body: one `RefusalReport`, the response to the message; the response is 204
 *   GET  /v1/refusals?namespace=…&name=…&uid=…   for the dashboard: the leader asks the gateways and responds with 200 and
 *                                                `GatheredRefusals`, or with 404 if no Project has all three
 */

/** The kinds of senders that a gateway recognizes by the names of their headers and by `User-Agent`. */
export const SENDERS = [
  'GitHub',
  'GitLab',
  'Shopify',
  'Slack',
  'Standard Webhooks',
  'Stripe',
  'browser',
  'curl',
  'Go',
  'Java',
  'Node.js',
  'Python',
  'other',
] as const;
export type Sender = (typeof SENDERS)[number];

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const pathText = z.string().max(LIMITS.refusalPathLengthMax);

/** Equal requests that were refused within the last hour. */
export const refusalCountSchema = z.strictObject({
  /** A `RejectionCode`, or a code that only a newer version knows. */
  code: z.string().max(64),
  /** Set, like the path, only if the caller's credential was valid for the project. */
  method: z.string().max(32).optional(),
  /** The path after the project URI, as received, in latin1. Cut off after `LIMITS.refusalPathLengthMax` bytes. */
  path: pathText.optional(),
  /** The slug of the endpoint that the path matched, if there is one and the credential was not valid. */
  slug: pathText.optional(),
  /** A `Sender`. Set only if the credential was not valid. */
  sender: z.string().max(64).optional(),
  count,
  /** When the last of these requests was refused, in milliseconds since the epoch. */
  lastAt: count,
});
export type RefusalCount = Readonly<z.infer<typeof refusalCountSchema>>;

/** The refused requests of one project. */
export const refusalsSchema = z.strictObject({
  /** The most recent first. */
  counts: z.array(refusalCountSchema).max(LIMITS.refusalsReportedMax).readonly(),
  /** The number of refused requests to the project that are not in `counts`. */
  omitted: count,
  /** The number of refused requests whose target contains no project URI that exists. */
  unknownProject: count,
});
export type Refusals = Readonly<z.infer<typeof refusalsSchema>>;

export const refusalReportSchema = z.strictObject({
  gateway: z.string().min(1).max(253),
  instance: z.string().min(1).max(64),
  /** The id from the message that this report answers. */
  ask: z.string().min(1).max(64),
  refusals: refusalsSchema,
});
export type RefusalReport = Readonly<z.infer<typeof refusalReportSchema>>;

/** The refused requests of one project at all gateways. */
export const gatheredRefusalsSchema = refusalsSchema.extend({
  /** The connected gateways that did not report in time. Their refused requests are missing. */
  missing: z.array(z.string()).readonly(),
});
export type GatheredRefusals = Readonly<z.infer<typeof gatheredRefusalsSchema>>;

/** Merges reports. Equal requests become one item. */
export const mergeRefusals = (reports: readonly Refusals[]): Refusals => {
  const merged = new Map<string, RefusalCount>();
  for (const one of reports.flatMap(({ counts }) => counts)) {
    const key = JSON.stringify([one.code, one.method, one.path, one.slug, one.sender]);
    const known = merged.get(key);
    const lastAt = Math.max(one.lastAt, known?.lastAt ?? 0);
    merged.set(key, { ...one, count: one.count + (known?.count ?? 0), lastAt });
  }
  const counts = [...merged.values()].sort((a, b) => b.lastAt - a.lastAt);
  const left = counts.splice(LIMITS.refusalsReportedMax);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  return {
    counts,
    omitted: sum([...reports.map(({ omitted }) => omitted), ...left.map((one) => one.count)]),
    unknownProject: sum(reports.map(({ unknownProject }) => unknownProject)),
  };
};

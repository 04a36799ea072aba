import { z } from 'zod';
import { LIMITS } from './limits.ts';

/**
 * How the leader finds out whether the log has everything that the gateways have accepted (docs/internals/adr/045-settled-reads.md). The
 * leader asks all gateways on the config stream with a `settle` message. A gateway notes what it has accepted when it receives the message,
 * and reports each project as soon as ClickHouse has all of its requests among them, in any version:
 *
 *   POST /v1/settled                        body: one `SettledReport`, for any number of messages; the response is 204
 *   GET  /v1/settled?namespace=…&name=…&uid=…    for the dashboard: the leader asks the gateways and responds with 200 and `Settled`, or
 *                                                with 404 if no Project has all three
 */

const id = z.string().min(1).max(64);
const timeUs = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** The log has every request of a project that a gateway had accepted when it was asked. */
export const settledProjectSchema = z.strictObject({
  /** The uid of the project. */
  project: id,
  /**
   * The log has every request that the gateway received before this time, by its own clock. In microseconds since the epoch. It is the
   * time of the question, or earlier if a request was still arriving.
   */
  untilUs: timeUs,
  /** Whether the gateway has files in quarantine that may be requests of the project, which the log does not have. */
  hasQuarantine: z.boolean(),
});
export type SettledProject = Readonly<z.infer<typeof settledProjectSchema>>;

export const settledReportSchema = z.strictObject({
  gateway: z.string().min(1).max(253),
  instance: id,
  /** When the gateway sent this report, by its own clock. In microseconds since the epoch. */
  sentUs: timeUs,
  /** `ask` is the id from the message. */
  settled: z.array(settledProjectSchema.extend({ ask: id })).max(LIMITS.settledReportedMax),
});
export type SettledReport = Readonly<z.infer<typeof settledReportSchema>>;

/** Whether the log of a project is complete. */
export const settledSchema = z.discriminatedUnion('settled', [
  z.strictObject({
    settled: z.literal(true),
    /** The log has everything that any gateway received before this time, by its own clock. In microseconds since the epoch. */
    untilUs: timeUs,
  }),
  z.strictObject({
    settled: z.literal(false),
    /** What is missing, in words for people: a gateway that did not report, files in quarantine, or a clock that is wrong. */
    reasons: z.array(z.string()).readonly(),
  }),
]);
export type Settled = Readonly<z.infer<typeof settledSchema>>;

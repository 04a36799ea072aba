/** Whether the log is complete up to now. */
export type Settled =
  | {
      readonly settled: true;
      /** Everything that any gateway received before this time, by its own clock, is in the log. In microseconds since the epoch. */
      readonly untilUs: number;
    }
  | {
      readonly settled: false;
      /** What is missing, in words for people: a gateway that did not report, files in quarantine, or a clock that is wrong. */
      readonly reasons: readonly string[];
    };

/** Finds out whether the log of a Project has everything that the gateways have accepted. */
export interface Settlement {
  /**
   * Resolves when everything that the gateways accepted before this call is in the log, or with what is missing, in bounded time.
   * Concurrent calls share one question to the gateways.
   */
  settle(project: { readonly uid: string; readonly namespace: string }, signal: AbortSignal): Promise<Settled>;
}

import type { StatusCount } from '@standin/logstore';

const SHOWN_MAX = 5;

/** Counts the responses of a replay by status. Status 0 stands for requests without a response. */
export class ReplayCounts {
  readonly #byStatus = new Map<number, number>();
  #firstError: string | undefined;

  get total(): number {
    return [...this.#byStatus.values()].reduce((sum, count) => sum + count, 0);
  }

  get unanswered(): number {
    return this.#byStatus.get(0) ?? 0;
  }

  /** Adds counts, such as those from before this run. */
  add(counts: readonly StatusCount[]): void {
    for (const { status, count } of counts) this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + count);
  }

  note(status: number, error: string): void {
    this.add([{ status, count: 1 }]);
    if (status === 0) this.#firstError ??= error;
  }

  list(): StatusCount[] {
    return [...this.#byStatus].map(([status, count]) => ({ status, count })).sort((a, b) => a.status - b.status);
  }

  /** Returns text such as `Sent 40 of 40: 38 returned 200, 2 returned 503.` */
  describe(planned: number | undefined): string {
    if (this.total === 0) return planned === 0 ? 'No captured requests match.' : 'No requests were sent.';
    const answered = this.list().filter(({ status }) => status !== 0);
    const shown = answered
      .toSorted((a, b) => b.count - a.count)
      .slice(0, SHOWN_MAX)
      .map(({ status, count }) => `${count} returned ${status}`);
    const others = answered.length - SHOWN_MAX;
    const more = others > 0 ? [`${others} other ${others === 1 ? 'status' : 'statuses'}`] : [];
    const failed = this.unanswered > 0 ? [`${this.unanswered} without a response`] : [];
    const first = this.#firstError === undefined ? '' : ` First error: ${this.#firstError}`;
    const of = planned === undefined ? '' : ` of ${planned}`;
    return `Sent ${this.total}${of}: ${[...shown, ...more, ...failed].join(', ')}.${first}`;
  }
}

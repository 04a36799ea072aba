import { LIMITS, periodEndMs, type PermitRequest } from '@standin/contract';
import type { Permit } from '../request/accepted.ts';
import { DemandWindow } from './demand-window.ts';

interface Block {
  readonly id: string;
  readonly period: string;
  /** The end of the period, in milliseconds since the epoch. */
  readonly endMs: number;
  readonly permits: number;
  /** Permits that requests have taken and not given back. */
  spent: number;
  /** Spent permits of requests that are neither recorded nor refused yet. */
  unsettled: number;
  /** Permits taken so far, including those given back. This is also the number of the last permit. */
  taken: number;
}

/** The part of a permit request that describes this pool. */
export type PoolReport = Pick<PermitRequest, 'serial' | 'held' | 'closed'>;

const WANT_MIN = 10;
const PREFETCH_SHARE = 0.5;
/** One block is in use and one is in reserve. When the month changes, there may be two more. */
const BLOCKS_MAX = 4;
/**
 * The maximum number of closing blocks. Far fewer blocks close during one disk write. Beyond this number, the count of the oldest
 * block becomes final, so that permits of this block which are given back later count as used.
 */
const CLOSING_MAX = 16;

/**
 * The permits of one account that this gateway holds, in blocks. Does no I/O. `uptimeMs` is the time on a monotonic
 * clock.
 */
export class PermitPool {
  readonly #blocks: Block[] = [];
  /** Blocks that no longer hand out permits, but still have unsettled permits. */
  readonly #closing = new Map<string, Block>();
  /** Final counts of spent permits, by block, that the operator has not recorded yet. */
  readonly #closed = new Map<string, number>();
  #left = 0;
  #granted = 0;
  #wanted = 0;
  readonly #taken: DemandWindow;
  #reportedUsage: string | undefined;
  #onSettled: (() => void)[] = [];

  constructor(uptimeMs: number) {
    this.#taken = new DemandWindow(uptimeMs);
  }

  get left(): number {
    return this.#left;
  }

  /** Whether the operator has yet to record the final count of a block. */
  get hasClosed(): boolean {
    return this.#closed.size > 0;
  }

  /** Whether there are open blocks, even if no permits are left in them. */
  get hasOpen(): boolean {
    return this.#blocks.length > 0;
  }

  get isClosing(): boolean {
    return this.#closing.size > 0;
  }

  get isEmpty(): boolean {
    return this.#blocks.length + this.#closing.size + this.#closed.size === 0;
  }

  take(uptimeMs: number): Permit | undefined {
    if (this.#left === 0) return undefined;
    for (let [block] = this.#blocks; block !== undefined; [block] = this.#blocks) {
      if (block.spent < block.permits) {
        block.spent++;
        block.unsettled++;
        this.#left--;
        this.#taken.add(uptimeMs);
        return { period: block.period, block: block.id, number: ++block.taken };
      }
      this.#closeFirst();
    }
    return undefined;
  }

  /** Marks a permit as used. Every taken permit must be either used or given back, exactly once. */
  use(permit: Permit): void {
    const block = this.#unfinishedBlock(permit);
    if (block !== undefined) this.#settle(block);
  }

  /** Gives a permit back. If the count of its block is already final, the permit counts as used. */
  giveBack(permit: Permit): void {
    const block = this.#unfinishedBlock(permit);
    if (block === undefined) return;
    block.spent--;
    if (!this.#closing.has(block.id)) this.#left++;
    this.#settle(block);
  }

  /** Resolves when no block is closing. */
  settled(): Promise<void> {
    return this.isClosing ? new Promise((resolve) => this.#onSettled.push(resolve)) : Promise.resolve();
  }

  add({
    block: id,
    period,
    permits,
  }: {
    readonly block: string;
    readonly period: string;
    readonly permits: number;
  }): void {
    this.closeBefore(period);
    this.#blocks.push({ id, period, endMs: periodEndMs(period), permits, spent: 0, unsettled: 0, taken: 0 });
    this.#left += permits;
    this.#granted = permits;
  }

  /** Closes the blocks of earlier months. */
  closeBefore(period: string): void {
    while ((this.#blocks[0]?.period ?? period) < period) this.#closeFirst();
  }

  closeAll(): void {
    while (this.#blocks.length > 0) this.#closeFirst();
  }

  /** Finishes all closing blocks. Permits that are given back later count as used. */
  finishAll(): void {
    for (const block of this.#closing.values()) this.#finish(block);
  }

  /** Returns whether so few permits are left that the next block must be requested now. */
  needsMore(): boolean {
    return this.#blocks.length < BLOCKS_MAX && this.#left <= this.#granted * PREFETCH_SHARE;
  }

  /**
   * Returns whether demand has grown so much that the remaining permits last less than half as long as a block should, and the
   * operator can grant more. Returns false if no permits are left, because other gateways may need the rest of the quota more, and
   * the next request asks for permits anyway.
   */
  isShort(uptimeMs: number): boolean {
    const isCapped = this.#granted < this.#wanted;
    const hasRoom = this.#left > 0 && this.#blocks.length < BLOCKS_MAX;
    return hasRoom && !isCapped && this.#left < this.#demand(0, uptimeMs) / 2;
  }

  /**
   * Returns whether the month of the first block is over according to `nowMs` and there is room for another block. The operator's
   * clock is authoritative.
   *
   * @param nowMs milliseconds since the epoch
   */
  isOver(nowMs: number): boolean {
    const [block] = this.#blocks;
    return block !== undefined && this.#blocks.length < BLOCKS_MAX && block.endMs <= nowMs;
  }

  /** Returns the number of permits to request: enough for `LIMITS.quotaBlockDemandMs` at the current demand, within limits. */
  want(waiting: number, uptimeMs: number): number {
    const demand = this.#demand(waiting, uptimeMs);
    this.#wanted = Math.min(Math.max(WANT_MIN, waiting, demand), LIMITS.quotaBlockPermitsMax);
    return this.#wanted;
  }

  /**
   * Returns the spent permits of each block that the operator considers open, or undefined if they have not changed
   * since the last report.
   */
  unreportedUsage(): PermitRequest['closed'] | undefined {
    const open = this.#held().map(({ id, spent }) => ({ block: id, used: spent }));
    const closed = Array.from(this.#closed, ([block, used]) => ({ block, used }));
    const blocks = [...open, ...closed].slice(0, LIMITS.quotaBlocksNamedMax);
    return blocks.length > 0 && this.#reportedUsage !== usageText(blocks) ? blocks : undefined;
  }

  usageReported(blocks: PermitRequest['closed']): void {
    this.#reportedUsage = usageText(blocks);
  }

  /** Called for a new leader, which has not received any of the reports. */
  forgetReportedUsage(): void {
    this.#reportedUsage = undefined;
  }

  /** @param serial increases with every report from this process, across all pools */
  report(serial: number): PoolReport {
    const closed = [...this.#closed].slice(0, LIMITS.quotaBlocksNamedMax);
    return {
      serial,
      held: this.#held().map(({ id }) => id),
      closed: closed.map(([block, used]) => ({ block, used })),
    };
  }

  /** Records that the operator has accepted this report. */
  reported({ closed }: PoolReport): void {
    for (const { block } of closed) this.#closed.delete(block);
  }

  /** Returns the number of permits that requests need during the lifetime of a block. */
  #demand(waiting: number, uptimeMs: number): number {
    return Math.ceil(this.#taken.perMs(waiting, uptimeMs) * LIMITS.quotaBlockDemandMs);
  }

  #closeFirst(): void {
    const block = this.#blocks.shift();
    if (block === undefined) return;
    this.#left -= block.permits - block.spent;
    this.#closing.set(block.id, block);
    if (block.unsettled === 0) this.#finish(block);
    const [oldest] = this.#closing.values();
    if (oldest !== undefined && this.#closing.size > CLOSING_MAX) this.#finish(oldest);
  }

  /** Returns undefined if the block's count is already final. */
  #unfinishedBlock({ block: id }: Permit): Block | undefined {
    return this.#blocks.find((one) => one.id === id) ?? this.#closing.get(id);
  }

  #settle(block: Block): void {
    block.unsettled--;
    if (block.unsettled === 0 && this.#closing.has(block.id)) this.#finish(block);
  }

  /** Makes the block's count of spent permits final. */
  #finish({ id, spent }: Block): void {
    this.#closing.delete(id);
    this.#closed.set(id, spent);
    if (!this.isClosing) for (const resolve of this.#onSettled.splice(0)) resolve();
  }

  /** Returns the blocks to report as held, because their permits may still be spent. */
  #held(): Block[] {
    return [...this.#closing.values(), ...this.#blocks];
  }
}

const usageText = (blocks: PermitRequest['closed']): string =>
  blocks.map(({ block, used }) => `${block} ${used}`).join('\n');

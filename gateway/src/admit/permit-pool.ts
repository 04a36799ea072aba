import { LIMITS, periodEndMs, type PermitRequest } from '@standin/contract';
import type { Permit } from '../request/accepted.ts';
import { DemandWindow } from './demand-window.ts';

interface Block {
  readonly id: string;
  readonly period: string;
  /** The end of the period, milliseconds since the epoch. */
  readonly endMs: number;
  readonly permits: number;
  /** Permits that requests have taken and not given back. */
  spent: number;
  /** Spent permits whose requests are neither recorded nor refused yet. */
  unsettled: number;
  /** Permits taken so far, including those given back; also the number of the last one. */
  taken: number;
}

/** The part of a permit request that describes this pool. */
export type PoolReport = Pick<PermitRequest, 'serial' | 'held' | 'closed'>;

const WANT_MIN = 10;
const PREFETCH_SHARE = 0.5;
/** One in use and one in reserve, and the same again when the month changes. */
const BLOCKS_MAX = 4;
/** Far more blocks than close during one disk write. Above this number, permits given back to the oldest block count as used. */
const CLOSING_MAX = 16;

/** The permits of one account that this gateway holds, in blocks. No I/O; `uptimeMs` is of a clock that is never set. */
export class PermitPool {
  readonly #blocks: Block[] = [];
  /** Blocks that are no longer spent from, but still have unsettled permits. */
  readonly #closing = new Map<string, Block>();
  /** Blocks whose count of spent permits is final, until the operator has recorded it. */
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

  /** The operator has not recorded the final count of some blocks. */
  get hasClosed(): boolean {
    return this.#closed.size > 0;
  }

  /** There are open blocks. They may be empty. */
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

  /** Every taken permit is either used or given back, exactly once. */
  use(permit: Permit): void {
    const block = this.#blockOf(permit);
    if (block !== undefined) this.#settle(block);
  }

  /** A permit of a block whose final count is reported counts as used. */
  giveBack(permit: Permit): void {
    const block = this.#blockOf(permit);
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

  /** Ends the closing of all blocks. Permits that are given back later count as used. */
  finishAll(): void {
    for (const block of this.#closing.values()) this.#finish(block);
  }

  /** Another block should be requested before this one runs out. */
  needsMore(): boolean {
    return this.#blocks.length < BLOCKS_MAX && this.#left <= this.#granted * PREFETCH_SHARE;
  }

  /**
   * Demand has grown so much that the remaining permits last for less than half the time that a block should, and the operator can
   * grant more. False if none are left: other gateways may need them more, and the next request asks for permits.
   */
  isShort(uptimeMs: number): boolean {
    const isCapped = this.#granted < this.#wanted;
    const hasRoom = this.#left > 0 && this.#blocks.length < BLOCKS_MAX;
    return hasRoom && !isCapped && this.#left < this.#demand(0, uptimeMs) / 2;
  }

  /**
   * By this clock, the month of the first block is over. The operator's clock decides.
   *
   * @param nowMs milliseconds since the epoch
   */
  isOver(nowMs: number): boolean {
    const [block] = this.#blocks;
    return block !== undefined && this.#blocks.length < BLOCKS_MAX && block.endMs <= nowMs;
  }

  /** The number of permits that lasts as long as a block should, at the current demand. */
  want(waiting: number, uptimeMs: number): number {
    const demand = this.#demand(waiting, uptimeMs);
    this.#wanted = Math.min(Math.max(WANT_MIN, waiting, demand), LIMITS.quotaBlockPermitsMax);
    return this.#wanted;
  }

  /** The spent permits per block that the operator considers open; undefined if that has not changed since the last report. */
  unreportedUsage(): PermitRequest['closed'] | undefined {
    const open = this.#held().map(({ id, spent }) => ({ block: id, used: spent }));
    const closed = Array.from(this.#closed, ([block, used]) => ({ block, used }));
    const blocks = [...open, ...closed].slice(0, LIMITS.quotaBlocksNamedMax);
    return blocks.length > 0 && this.#reportedUsage !== textOf(blocks) ? blocks : undefined;
  }

  usageReported(blocks: PermitRequest['closed']): void {
    this.#reportedUsage = textOf(blocks);
  }

  /** Called for a new leader, which has none of the reports. */
  forgetReportedUsage(): void {
    this.#reportedUsage = undefined;
  }

  /** @param serial grows with every report of this process, across all pools */
  report(serial: number): PoolReport {
    const closed = [...this.#closed].slice(0, LIMITS.quotaBlocksNamedMax);
    return {
      serial,
      held: this.#held().map(({ id }) => id),
      closed: closed.map(([block, used]) => ({ block, used })),
    };
  }

  /** The operator has accepted this report. */
  reported({ closed }: PoolReport): void {
    for (const { block } of closed) this.#closed.delete(block);
  }

  /** The number of permits that requests need in the time that a block should last. */
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

  /** Undefined once the block's count is final. */
  #blockOf({ block: id }: Permit): Block | undefined {
    return this.#blocks.find((one) => one.id === id) ?? this.#closing.get(id);
  }

  #settle(block: Block): void {
    block.unsettled--;
    if (block.unsettled === 0 && this.#closing.has(block.id)) this.#finish(block);
  }

  /** Makes the count of spent permits final. */
  #finish({ id, spent }: Block): void {
    this.#closing.delete(id);
    this.#closed.set(id, spent);
    if (!this.isClosing) for (const resolve of this.#onSettled.splice(0)) resolve();
  }

  /** Blocks to report as held: their permits may still be spent. */
  #held(): Block[] {
    return [...this.#closing.values(), ...this.#blocks];
  }
}

const textOf = (blocks: PermitRequest['closed']): string =>
  blocks.map(({ block, used }) => `${block} ${used}`).join('\n');

import type { ClickHouseSettings } from '@clickhouse/client';
import { formatTime, parseInstant } from '@standin/contract';
import { RowBinaryReader } from './row-binary-reader.ts';

/** The time limit of a read, in seconds. */
const READ_EXECUTION_TIME_MAX = 30;

export const READ_SETTINGS: ClickHouseSettings = { max_execution_time: READ_EXECUTION_TIME_MAX };

/** Decodes all rows in a RowBinary response. */
export const decodeAll = <T>(answer: Buffer, decode: (reader: RowBinaryReader) => T): T[] => {
  const reader = new RowBinaryReader(answer);
  const items: T[] = [];
  while (!reader.done) items.push(decode(reader));
  return items;
};

/**
 * Returns a time such as `2026-11-21 07:35:12.123456`, which is the format that ClickHouse accepts for a DateTime64(6) parameter.
 */
export const timeText = (receivedAt: string): string =>
  formatTime(parseInstant(receivedAt) ?? 0)
    .replace('T', ' ')
    .slice(0, -1);

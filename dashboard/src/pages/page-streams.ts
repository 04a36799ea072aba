import { SharedPool } from '@standin/contract';
import type { Pools } from '../pools.ts';

interface PageStreamOptions {
  readonly perReaderMax?: number;
  readonly totalMax?: number;
  readonly pools?: Pools;
}

/**
 * Maximum number of concurrent page streams. While requests arrive, each live tail queries ClickHouse several times a second. A
 * page opens at most two streams.
 */
const PER_READER_MAX = 20;
const TOTAL_MAX = 200;

/** Reserves a stream until `release` is called, or returns the reason why none is available. */
export type OpenStream = () => Promise<{ readonly release: () => void } | { readonly refusal: string }>;

interface Reader {
  /** A user or a token. */
  readonly id: string;
  /** Finds whose share of all streams the reader uses. */
  readonly findHolder: () => string | Promise<string>;
}

/** Limits the streams of all pages in this process, per reader and in total. Each holder has a share of the total. */
export const pageStreams = ({ perReaderMax = PER_READER_MAX, totalMax = TOTAL_MAX, pools }: PageStreamOptions = {}): ((
  reader: Reader,
) => OpenStream) => {
  const readers = new Map<string, number>();
  const streams = new SharedPool(totalMax);
  pools?.set('page_streams', streams);
  const count = (id: string, change: 1 | -1): void => {
    const open = (readers.get(id) ?? 0) + change;
    if (open === 0) readers.delete(id);
    else readers.set(id, open);
  };
  return ({ id, findHolder }) =>
    async () => {
      const holder = await findHolder();
      if ((readers.get(id) ?? 0) >= perReaderMax)
        return {
          refusal: `Live updates are paused because you have ${perReaderMax} live pages open. Close some of them.`,
        };
      if (!streams.take(holder))
        return {
          refusal: `Live updates are paused because this dashboard already serves ${streams.used} live pages. They resume when other pages are closed.`,
        };
      count(id, 1);
      let isOpen = true;
      return {
        release: () => {
          if (!isOpen) return;
          isOpen = false;
          count(id, -1);
          streams.free(holder);
        },
      };
    };
};

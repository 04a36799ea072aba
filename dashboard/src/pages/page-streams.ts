import { SharedPool } from '@standin/contract';

interface PageStreamLimits {
  readonly perReaderMax: number;
  readonly totalMax: number;
}

/**
 * Maximum number of concurrent page streams. While requests arrive, each live tail queries ClickHouse several times a second. A
 * page opens at most two streams.
 */
const PAGE_STREAM_LIMITS: PageStreamLimits = { perReaderMax: 20, totalMax: 200 };

/** Reserves a stream until `release` is called, or returns the reason why none is available. */
export type OpenStream = () => Promise<{ readonly release: () => void } | { readonly refusal: string }>;

interface Reader {
  /** A user or a token. */
  readonly id: string;
  /** Finds whose share of all streams the reader uses. */
  readonly findHolder: () => string | Promise<string>;
}

/** Limits the streams of all pages in this process, per reader and in total. Each holder has a share of the total. */
export const pageStreams = ({ perReaderMax, totalMax } = PAGE_STREAM_LIMITS): ((reader: Reader) => OpenStream) => {
  const readers = new Map<string, number>();
  const streams = new SharedPool(totalMax);
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

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
export type OpenStream = () => { readonly release: () => void } | { readonly refusal: string };

/** Limits the streams of all pages in this process, in total and per reader, which is a user or a token. */
export const pageStreams = ({ perReaderMax, totalMax } = PAGE_STREAM_LIMITS): ((reader: string) => OpenStream) => {
  const open = new Map<string, number>();
  let total = 0;
  const add = (reader: string, change: 1 | -1): void => {
    total += change;
    const count = (open.get(reader) ?? 0) + change;
    if (count === 0) open.delete(reader);
    else open.set(reader, count);
  };
  return (reader) => () => {
    if ((open.get(reader) ?? 0) >= perReaderMax)
      return {
        refusal: `Live updates are paused because you have ${perReaderMax} live pages open. Close some of them.`,
      };
    if (total >= totalMax)
      return {
        refusal: `Live updates are paused because this dashboard already serves ${totalMax} live pages. They resume when other pages are closed.`,
      };
    add(reader, 1);
    let isOpen = true;
    return {
      release: () => {
        if (isOpen) add(reader, -1);
        isOpen = false;
      },
    };
  };
};

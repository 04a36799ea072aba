interface PageStreamLimits {
  readonly perReaderMax: number;
  readonly totalMax: number;
}

/** Concurrent streams of pages. Each tail queries ClickHouse several times a second. A page has at most two streams. */
const PAGE_STREAM_LIMITS: PageStreamLimits = { perReaderMax: 20, totalMax: 200 };

/** Takes a place for a stream until `release` is called, or returns the reason why none is free. */
export type OpenStream = () => { readonly release: () => void } | { readonly refusal: string };

/** Places for all pages of a process, counted by reader. */
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
      return { refusal: `Live updates are paused: you have ${perReaderMax} live pages open. Close some of them.` };
    if (total >= totalMax)
      return {
        refusal: `Live updates are paused: this dashboard already serves ${totalMax} live pages. Try again later.`,
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

import type { SharedPool } from '@standin/contract';

/** What the users of this process share, by the name that the metrics have for it. */
export type Pools = Map<string, SharedPool>;

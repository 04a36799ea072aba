import type { ReplaySpec, ReplayStatus } from '@standin/crds';
import type { LogEntry } from '@standin/exchange';
import type { ReplayAnswer, ReplaySummary } from '@standin/logstore';
import type { Filter } from '@standin/exchange/search';
import type { LineEntry } from '../logs/format-entry.ts';

export interface ReplayRef {
  readonly namespace: string;
  readonly name: string;
}

/** The requests that match a filter, before anything is sent. */
export interface FilterPlan {
  readonly count: number;
  /** The oldest matching requests. */
  readonly first: readonly LineEntry[];
}

interface FoundFilter {
  readonly search: Filter | undefined;
  readonly from: Date;
  readonly to: Date;
}

export interface SeenReplay {
  readonly uid: string;
  readonly status: ReplayStatus;
}

/** Where `standin replay` reads the log and creates Replays: a `standin dev` on this machine, or a cluster. */
export interface ReplayClient {
  /** A captured request, with its project. */
  request(id: string): Promise<LogEntry | undefined>;
  plan(project: ReplayRef, filter: FoundFilter): Promise<FilterPlan>;
  create(ref: ReplayRef, spec: ReplaySpec): Promise<void>;
  setState(ref: ReplayRef, state: ReplaySpec['state']): Promise<void>;
  /** Undefined until the operator has observed it, and after it is deleted. */
  read(ref: ReplayRef): Promise<SeenReplay | undefined>;
  answer(project: ReplayRef, replayUid: string, requestId: string): Promise<ReplayAnswer | undefined>;
  /** At most `limit` requests of a replay that got no response. */
  failures(project: ReplayRef, replayUid: string, limit: number): Promise<readonly ReplaySummary[]>;
  close(): Promise<void>;
}

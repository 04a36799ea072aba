import type { FilterProblem } from '@standin/logstore/search';
import type { ExchangeView } from '../exchange/exchange-view.ts';
import type { ProjectParams } from '../lib/paths.ts';
import type { RowPage } from '../requests/traffic-row.ts';
import type { TimeRange } from '../requests/time-range.ts';

/** What an empty project can do to see its first request. */
export interface FirstRequest {
  readonly endpoint: string;
  readonly method: string;
  readonly url: string;
}

/** Everything of one list: a new object whenever another list is asked for. */
export interface TrafficData {
  readonly params: ProjectParams;
  readonly q: string;
  readonly range: TimeRange;
  /** The range as of `loadedAt`, RFC 3339. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly loadedAt: string;
  readonly page: RowPage;
  /** What is wrong with `q`; then there is no page. */
  readonly problem: FilterProblem | undefined;
  /** The log does not answer; then there is no page. */
  readonly away: string | undefined;
  /** The project has no request at all, and what would make one. */
  readonly empty: { readonly hasEndpoints: boolean; readonly first: FirstRequest | undefined } | undefined;
  /** The request that is open; undefined: there is none of this id. */
  readonly selection: Selection | undefined;
}

export interface Selection {
  readonly id: string;
  readonly exchange: ExchangeView | undefined;
  readonly away?: string | undefined;
}

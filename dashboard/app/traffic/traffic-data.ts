import type { SampleRequest } from '../../src/requests/sample-request.ts';
import type { FilterProblem } from '@standin/exchange/search';
import type { ProjectName } from '../../src/resources/names.ts';
import type { ExchangeView } from '../exchange/exchange-view.ts';
import type { RowPage } from '../requests/traffic-row.ts';
import type { TimeRange } from '../requests/time-range.ts';

/** The data for one list. Each load creates a new object, which starts a new `TrafficFeed`. */
export interface TrafficData {
  readonly params: ProjectName;
  readonly q: string;
  readonly range: TimeRange;
  /** The start of the range at `loadedAt`, in RFC 3339. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly loadedAt: string;
  readonly page: RowPage;
  /** The error in `q`. If it is set, no rows are loaded. */
  readonly problem: FilterProblem | undefined;
  /** The reason why the log is unavailable. If it is set, no rows are loaded. */
  readonly unavailable: string | undefined;
  /** Set if the project has no requests at all. Describes how to create the first request. */
  readonly empty: { readonly hasEndpoints: boolean; readonly first: SampleRequest | undefined } | undefined;
  /** The request that the URL opens. Undefined if the URL opens none. */
  readonly selection: Selection | undefined;
}

export interface Selection {
  readonly id: string;
  readonly exchange: ExchangeView | undefined;
  readonly unavailable?: string | undefined;
}

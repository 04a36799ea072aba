import type { RequestMethod } from '@standin/contract';
import type { StatusRange } from '@standin/logstore';
import { formatFilter, type Condition, type Filter } from '@standin/exchange/search';

/** Output formats for requests: one line each, full entries as JSON, or commands that send them again. */
export const LOG_OUTPUTS = ['text', 'json', 'curl'] as const;
export type LogOutput = (typeof LOG_OUTPUTS)[number];

/** Selects the captured requests that a command shows. */
export interface LogChoice {
  readonly namespace?: string | undefined;
  readonly project?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly method?: RequestMethod | undefined;
  readonly status?: number | StatusRange | undefined;
  readonly filter?: Filter | undefined;
  /** In microseconds since the epoch. */
  readonly sinceUs?: number | undefined;
}

const statusCondition = (status: number | StatusRange): Condition => {
  const { min: from, max: to } = typeof status === 'number' ? { min: status, max: status } : status;
  return from === to
    ? { kind: 'compare', field: 'status', comparison: '=', value: from }
    : { kind: 'range', field: 'status', from, to };
};

/** Returns the selection in the search language, without namespace, project and time. Returns `undefined` for all requests. */
export const searchText = ({ endpoint, method, status, filter }: LogChoice): string | undefined => {
  const [first, ...others]: Condition[] = [
    ...(endpoint === undefined ? [] : [{ kind: 'matches', field: 'endpoint', pattern: [endpoint] } as const]),
    ...(method === undefined ? [] : [{ kind: 'method', method } as const]),
    ...(status === undefined ? [] : [statusCondition(status)]),
    ...(filter === undefined || filter.kind === 'everything' ? [] : [filter]),
  ];
  return first && formatFilter(others.length === 0 ? first : { kind: 'and', conditions: [first, ...others] });
};

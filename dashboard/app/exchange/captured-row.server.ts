import type { LogRow } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import type { ExchangeParams } from '../lib/paths.ts';
import { readExchange } from './read-exchange.server.ts';

/** A captured exchange as it is stored, for what works on its bytes; else the page that says why not. */
export const readRow = (backend: Backend, params: ExchangeParams): Promise<LogRow> =>
  readExchange(backend, params, (log, id) => log.row(id));

/** What a worker gets of a row. */
export const bodiesOf = (row: LogRow | undefined): readonly Uint8Array[] =>
  row === undefined ? [] : [row.requestBody, row.responseBody];

import type { LogRow } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import type { ExchangeParams } from '../lib/paths.ts';
import { readExchange } from './read-exchange.server.ts';

/** A captured exchange as it is stored, for what works on its bytes; else the page that says why not. */
export const readRow = (backend: Backend, params: ExchangeParams): Promise<LogRow> =>
  readExchange(backend, params, (log, id) => log.row(id));

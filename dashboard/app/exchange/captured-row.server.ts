import type { LogRow } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import type { ExchangeParams } from '../lib/paths.ts';
import { readExchange } from './read-exchange.server.ts';

/** A captured exchange as stored, for code that works on its bytes. Throws the page with the reason if it cannot be read. */
export const readRow = (backend: Backend, params: ExchangeParams): Promise<LogRow> =>
  readExchange(backend, params, (log, id) => log.row(id));

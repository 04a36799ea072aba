import { existsSync, rmSync } from 'node:fs';
import { subscribe } from 'node:diagnostics_channel';
import process from 'node:process';

/**
 * This module is loaded into an operator under test (`node --import`). If the file `TEST_CRASH_TRAP` exists, the process removes it
 * and dies as soon as the API server reports that a quota ledger was written, before the operator's code receives the response.
 */

interface Headers {
  readonly request: { readonly method: string; readonly path: string };
  readonly response: { readonly statusCode: number };
}

const trap = process.env['TEST_CRASH_TRAP'] ?? '';

// https://undici.nodejs.org/#/docs/api/DiagnosticsChannel
subscribe('undici:request:headers', (message) => {
  const { request, response } = message as Headers;
  const isWritten = request.method === 'PUT' && request.path.includes('/standin-quota-') && response.statusCode === 200;
  if (!isWritten || !existsSync(trap)) return;
  rmSync(trap);
  process.kill(process.pid, 'SIGKILL');
});

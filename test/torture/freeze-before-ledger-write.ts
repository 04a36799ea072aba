import { subscribe } from 'node:diagnostics_channel';
import { existsSync, rmSync } from 'node:fs';
import process from 'node:process';

/**
 * This module is loaded into an operator under test (`node --import`). If the file `TEST_FREEZE_TRAP` exists, the process removes
 * it and freezes just before it writes a quota ledger. It prints the API server's response to that write.
 */

interface Request {
  readonly method: string;
  readonly path: string;
}

const trap = process.env['TEST_FREEZE_TRAP'] ?? '';
let frozen: Request | undefined;

// https://undici.nodejs.org/#/docs/api/DiagnosticsChannel
subscribe('undici:request:create', (message) => {
  const { request } = message as { request: Request };
  const isWrite = request.method === 'PUT' && request.path.includes('/standin-quota-');
  if (!isWrite || !existsSync(trap)) return;
  rmSync(trap);
  frozen = request;
  process.kill(process.pid, 'SIGSTOP');
});

subscribe('undici:request:headers', (message) => {
  const { request, response } = message as { request: Request; response: { readonly statusCode: number } };
  if (request === frozen) process.stderr.write(`the frozen ledger write: ${response.statusCode}\n`);
});

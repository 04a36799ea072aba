import { existsSync, rmSync } from 'node:fs';
import { subscribe } from 'node:diagnostics_channel';
import process from 'node:process';

/**
 * This module is loaded into an operator under test (`node --import`). If the file `TEST_CRASH_TRAP` exists, the process removes it
 * and dies as soon as the API server reports that an object was written whose request matches `TEST_CRASH_REQUEST`, such as
 * `PUT /…/standin-quota-…`, before the operator's code receives the response.
 */

interface Headers {
  readonly request: { readonly method: string; readonly path: string };
  readonly response: { readonly statusCode: number };
}

const trap = process.env['TEST_CRASH_TRAP'] ?? '';
const wanted = new RegExp(process.env['TEST_CRASH_REQUEST'] ?? '');

// https://undici.nodejs.org/#/docs/api/DiagnosticsChannel
subscribe('undici:request:headers', (message) => {
  const { request, response } = message as Headers;
  const isWritten = response.statusCode < 300 && wanted.test(`${request.method} ${request.path}`);
  if (!isWritten || !existsSync(trap)) return;
  rmSync(trap);
  process.kill(process.pid, 'SIGKILL');
});

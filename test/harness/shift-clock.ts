import { readFileSync } from 'node:fs';
import process from 'node:process';

/**
 * This module is loaded into a process under test (`node --import`). It shifts the process's wall clock by the number of
 * milliseconds in a file, whose path is in the variable TEST_CLOCK_FILE. It reads the file again every 50 ms. Clocks for durations
 * (`performance.now`, timers) are not affected, as when a real clock is set.
 */

const READ_INTERVAL_MS = 50;

const file = process.env['TEST_CLOCK_FILE'] ?? '';
const now = Date.now.bind(Date);
let offsetMs = Number(readFileSync(file, 'utf8'));
setInterval(() => (offsetMs = Number(readFileSync(file, 'utf8'))), READ_INTERVAL_MS).unref();

const shiftedNow = (): number => now() + offsetMs;

Date.now = shiftedNow;
globalThis.Date = new Proxy(Date, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [shiftedNow()] : args, newTarget) as Date,
  apply: () => new Date(shiftedNow()).toString(),
});

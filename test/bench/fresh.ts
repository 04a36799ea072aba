import { setTimeout as delay } from 'node:timers/promises';
import { RawClient } from '../torture/raw-client.ts';
import { json, Stand } from '../torture/stand.ts';
import { percentile, printMeasurements } from './machine.ts';
import { TARGETS } from './targets.ts';

const REQUESTS = 600;
/** The interval between the planned send times. A request is sent later if the previous response is late. */
const INTERVAL_MS = 50;
const POLL_MS = 20;
const { p95MsMax } = TARGETS.fresh;

/** Measures the time from sending a request to the first poll that finds its row. */
export const benchFresh = async (): Promise<boolean> => {
  const stand = await Stand.start();
  try {
    await stand.publish({ slug: '/fresh', action: json('{"ok":true}') });
    const sentAt = new Map<string, number>();
    const visibleAfter: number[] = [];
    const began = new Date(Date.now() - 1_000);
    let polling = true;
    const poll = async () => {
      while (polling) {
        const rows = await stand.store.summaries({
          projectUid: stand.own.projectUid,
          sinceUs: began.getTime() * 1_000,
          limit: 10_000,
        });
        const now = performance.now();
        for (const { query } of rows) {
          const sent = sentAt.get(query);
          if (sent === undefined) continue;
          visibleAfter.push(now - sent);
          sentAt.delete(query);
        }
        await delay(POLL_MS);
      }
    };
    const poller = poll();
    using client = await RawClient.connect(stand.port);
    const started = performance.now();
    for (let index = 0; index < REQUESTS; index += 1) {
      const marker = stand.marker();
      sentAt.set(marker, performance.now());
      client.send(stand.head('GET', stand.target('/fresh', marker)));
      await client.answer();
      await delay(Math.max(0, started + (index + 1) * INTERVAL_MS - performance.now()));
    }
    while (visibleAfter.length < REQUESTS) await delay(POLL_MS);
    polling = false;
    await poller;
    const p50 = percentile(visibleAfter, 0.5);
    const p95 = percentile(visibleAfter, 0.95);
    const max = percentile(visibleAfter, 1);
    console.log(`${REQUESTS} requests, one every ${INTERVAL_MS} ms; the log is read every ${POLL_MS} ms\n`);
    const met = p95 <= p95MsMax;
    printMeasurements([
      { what: 'request → visible row, p50', measured: `${p50.toFixed(0)} ms`, target: '', met },
      { what: 'request → visible row, p95', measured: `${p95.toFixed(0)} ms`, target: `≤ ${p95MsMax} ms`, met },
      { what: 'request → visible row, slowest', measured: `${max.toFixed(0)} ms`, target: '', met },
    ]);
    return met;
  } finally {
    await stand[Symbol.asyncDispose]();
  }
};

import { setTimeout as delay } from 'node:timers/promises';
import { RawClient } from '../torture/raw-client.ts';
import { startClusterStand } from './cluster-stand.ts';
import { percentile, printMeasurements } from './machine.ts';
import { TARGETS } from './targets.ts';

const ENDPOINTS = 1_000;
const CHANGES = 250;
const { p50MsMax, p99MsMax } = TARGETS.live;
/** The poll interval for a gateway that does not serve the change yet. */
const POLL_MS = 1;
/**
 * The maximum pause between two changes. It is random, so that changes occur at any time within the operator's hold-off, in which
 * it collects changes.
 */
const PAUSE_MS_MAX = 120;

/** Returns the milliseconds from `since` until this gateway responds with the new body. */
const untilLive = async (client: RawClient, request: string, body: string, since: number): Promise<number> => {
  for (;;) {
    client.send(request);
    const answer = await client.answer();
    if (answer?.body.toString() === body) return performance.now() - since;
    await delay(POLL_MS);
  }
};

/**
 * Measures an edit of one of 1,000 endpoints, from the API server's acknowledgement until all three gateways serve the edited
 * endpoint. The clock starts when the write has returned. If the edit is already live then, the time to call the gateways is
 * measured.
 */
export const benchLive = async (): Promise<boolean> => {
  await using stand = await startClusterStand();
  await stand.createEndpoints(0, ENDPOINTS);
  const clients = await Promise.all(
    stand.deployment.gateways.map(({ url }) => RawClient.connect(Number(new URL(url).port))),
  );
  const took: number[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    const index = (change * 37) % ENDPOINTS;
    const body = JSON.stringify({ change, at: performance.now() });
    const request = `GET ${stand.target(index)} HTTP/1.1\r\nHost: a\r\nx-api-key: ${stand.apiKey}\r\n\r\n`;
    await stand.setBody(index, body);
    const acknowledged = performance.now();
    const each = await Promise.all(clients.map((client) => untilLive(client, request, body, acknowledged)));
    took.push(Math.max(...each));
    await delay(Math.random() * PAUSE_MS_MAX);
  }
  for (const client of clients) client[Symbol.dispose]();
  const [p50, p99, max] = [percentile(took, 0.5), percentile(took, 0.99), percentile(took, 1)];
  console.log(`${CHANGES} edits of ${ENDPOINTS} endpoints, ${clients.length} gateways, one operator, one API server\n`);
  const measurements = [
    {
      what: 'apply → live on all gateways, p50',
      measured: `${p50.toFixed(1)} ms`,
      target: `≤ ${p50MsMax} ms`,
      met: p50 <= p50MsMax,
    },
    {
      what: 'apply → live on all gateways, p99',
      measured: `${p99.toFixed(1)} ms`,
      target: `≤ ${p99MsMax} ms`,
      met: p99 <= p99MsMax,
    },
    { what: 'apply → live on all gateways, slowest', measured: `${max.toFixed(1)} ms`, target: '', met: true },
  ];
  printMeasurements(measurements);
  return measurements.every(({ met }) => met);
};

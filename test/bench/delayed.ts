import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../harness/eventually.ts';
import { json, type Stand } from '../torture/stand.ts';
import { OTHER_CORE, postText, settled } from './contenders.ts';
import { median, residentMiB, type Measurement } from './machine.ts';
import { CONNECTIONS } from './rounds.ts';
import { runLoad } from './run-load.ts';
import { TARGETS } from './targets.ts';

const DELAYED = 5_000;
const DELAY_MS = 30_000;
const BODY_BYTES = 1_000;
const ROUNDS = 3;
/** Discarded, because the first thousands of simultaneous requests make the gateway's heap grow, delayed or not. */
const WARM_UPS = 1;
/** The load of other requests, far below the maximum. */
const PER_SECOND = 500;
/**
 * The p99 is the median of several short loads, which together fit in the delay. A major garbage collection disturbs about 60 ms of
 * requests. With one load of 6 s, that was 1 % of them, so that the p99 depended on whether a collection happened during the load.
 */
const LOADS = 9;
const LOAD_SECONDS = 2;
const GARBAGE_COLLECTIONS = 3;
const { delayedMibMax, delayedP99RatioMax } = TARGETS.responses;

/** Lets `measureDelayed` start garbage collection in the gateway, so that it measures only the memory in use. */
export const MEASURED_ENV = {
  NODE_OPTIONS: "--expose-gc --import=data:text/javascript,process.on('SIGUSR2',()=>gc())",
};

/** Callers, each with its own connection. */
class Callers implements Disposable {
  readonly #sockets: readonly Socket[];
  #answers = 0;

  private constructor(sockets: readonly Socket[]) {
    this.#sockets = sockets;
    for (const socket of sockets) {
      socket.on('data', (chunk: Buffer) => {
        if (chunk.includes('HTTP/1.1 200 ')) this.#answers += 1;
      });
    }
  }

  static async connect(port: number): Promise<Callers> {
    const sockets: Socket[] = [];
    for (let index = 0; index < DELAYED; index++) {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      sockets.push(socket);
    }
    return new Callers(sockets);
  }

  send(request: string): void {
    this.#answers = 0;
    for (const socket of this.#sockets) socket.write(request);
  }

  async answered(): Promise<void> {
    await eventually('all responses', () => Promise.resolve(this.#answers), {
      accept: (count) => count === DELAYED,
      timeoutMs: 2 * DELAY_MS,
      intervalMs: 100,
    });
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Starts garbage collection in the gateway a few times, and returns its resident memory. */
const usedMiB = async (pid: number): Promise<number> => {
  for (let time = 0; time < GARBAGE_COLLECTIONS; time += 1) {
    process.kill(pid, 'SIGUSR2');
    await pause(500);
  }
  return residentMiB(pid);
};

/** Compares 5,000 connections that wait for a delayed response with the same connections when they are idle. */
export const measureDelayed = async (stand: Stand, plain: string): Promise<readonly Measurement[]> => {
  const body = JSON.stringify('x'.repeat(BODY_BYTES - 2));
  const delay = { kind: 'Fixed', fixedMs: DELAY_MS } as const;
  await stand.publish({ slug: '/delayed', method: 'POST', action: json(body, { delay }) });
  const delayed = postText(`/${stand.own.uri}/delayed`, `x-api-key: ${stand.own.key}\r\n`, '{"a": 1}');
  using callers = await Callers.connect(stand.port);
  const sample = async () => {
    const memoryMiB = await usedMiB(stand.gateway.pid);
    const load = {
      port: stand.port,
      requests: [plain],
      connections: CONNECTIONS,
      seconds: LOAD_SECONDS,
      perSecond: PER_SECOND,
    };
    const p99sMs: number[] = [];
    for (let time = 0; time < LOADS; time += 1) p99sMs.push((await runLoad(load, { core: OTHER_CORE })).p99Ms);
    return { memoryMiB, p99Ms: median(p99sMs) };
  };
  const moreMiB: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < WARM_UPS + ROUNDS; round += 1) {
    callers.send(plain);
    await callers.answered();
    await settled(stand);
    const idle = await sample();
    callers.send(delayed);
    await eventually('the delayed requests', () => stand.metric('standin_receive_running_requests'), {
      accept: (count) => count >= DELAYED,
      timeoutMs: DELAY_MS,
      intervalMs: 100,
    });
    const waiting = await sample();
    const stillWaiting = await stand.metric('standin_receive_running_requests');
    if (stillWaiting < DELAYED) throw new Error(`only ${stillWaiting} requests waited during the measurement`);
    await callers.answered();
    console.log(
      `${DELAYED} connections: idle ${idle.memoryMiB.toFixed(0)} MiB, p99 of others ${idle.p99Ms.toFixed(2)} ms; ` +
        `waiting ${waiting.memoryMiB.toFixed(0)} MiB, p99 of others ${waiting.p99Ms.toFixed(2)} ms`,
    );
    if (round < WARM_UPS) continue;
    moreMiB.push(waiting.memoryMiB - idle.memoryMiB);
    ratios.push(waiting.p99Ms / idle.p99Ms);
  }
  const [more, ratio] = [median(moreMiB), median(ratios)];
  return [
    {
      what: `${DELAYED} delayed responses, compared with idle connections`,
      measured: `${more.toFixed(0)} MiB more`,
      target: `≤ ${delayedMibMax} MiB`,
      met: more <= delayedMibMax,
    },
    {
      what: 'p99 of other requests meanwhile',
      measured: `${ratio.toFixed(2)} ×`,
      target: `≤ ${delayedP99RatioMax}`,
      met: ratio <= delayedP99RatioMax,
    },
  ];
};

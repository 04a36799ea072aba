import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { json } from '../torture/stand.ts';
import { postText, settled, startStandin, type Contender } from './contenders.ts';
import { median, printMeasurements, printTable } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { roundLimit, medianRound, runRound, type Round } from './rounds.ts';
import { TARGETS } from './targets.ts';

const SWITCH = pathToFileURL(path.join(import.meta.dirname, 'switch-refusal-counts.ts')).href;
const ROUNDS = 12;
/** The results of these rounds are discarded, because just-in-time compilers need time. */
const WARM_UPS = 2;
const { ratioMin } = TARGETS.refusals;

/** Different paths, because a refused request that repeats the last one costs less. */
const REFUSED = ['/order', '/orders/1', '/payments', '/v1/orders'];

/**
 * Compares rounds in which a gateway counts refused requests with rounds in which it does not. Half of the requests are refused. It is
 * the same process in all rounds, because two processes of the same program differ by more than counting costs.
 */
export const benchRefusals = async ({ seconds }: BenchOptions): Promise<boolean> => {
  await using stand = await startStandin('process', { NODE_OPTIONS: `--import=${SWITCH}` });
  const { pid } = stand.gateway;
  await stand.publish({ slug: '/orders', method: 'POST', action: json('{"id": 1}') });
  const toSlug = (slug: string): string =>
    postText(`/${stand.own.uri}${slug}`, `x-api-key: ${stand.own.key}\r\n`, '{"a": 1}');
  const contender: Contender = {
    name: 'Standin',
    pid,
    port: stand.port,
    request: toSlug('/orders'),
    settle: () => settled(stand),
    countRows: undefined,
    stop: () => Promise.resolve(),
  };
  const refused = REFUSED.map(toSlug);
  const counted: Round[] = [];
  const uncounted: Round[] = [];
  let isCounting = true;
  for (let turn = 0; turn < WARM_UPS + ROUNDS; turn += 1) {
    // The position in a pair has an effect of its own. The rounds of two pairs are counted, not counted, not counted, counted.
    for (let place = 0; place < 2; place += 1) {
      if (place === 1) {
        process.kill(pid, 'SIGUSR2');
        isCounting = !isCounting;
      }
      const round = await runRound(contender, { seconds, refused });
      if (turn >= WARM_UPS) (isCounting ? counted : uncounted).push(round);
    }
  }
  const rows = Object.entries({ counted, 'not counted': uncounted }).map(([name, rounds]) => {
    const round = medianRound(rounds);
    const perSecond = Math.round(round.perSecond / 2);
    return { name, 'accepted/s': perSecond, 'CPU µs': round.cpuMicrosPerRequest.toFixed(1), limit: roundLimit(round) };
  });
  printTable(rows);
  // The rounds of a pair ran one after the other, so their ratio varies less than that of the medians.
  const ratio = median(counted.map((round, index) => round.perSecond / (uncounted[index]?.perSecond ?? 0)));
  const met = ratio >= ratioMin;
  const measured = `${ratio.toFixed(3)} × not counted`;
  printMeasurements([{ what: 'accepted requests/s', measured, target: `≥ ${ratioMin}`, met }]);
  return met;
};

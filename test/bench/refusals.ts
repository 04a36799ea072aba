import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { json, type Stand } from '../torture/stand.ts';
import { postOf, settled, startStandin, type Contender } from './contenders.ts';
import { median, printMeasurements, printTable } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { limitOf, medianRound, roundOf, type Round } from './rounds.ts';
import { TARGETS } from './targets.ts';

const UNCOUNTED = pathToFileURL(path.join(import.meta.dirname, 'uncounted-refusals.ts')).href;
const ROUNDS = 12;
/** The results of these rounds are discarded, because just-in-time compilers need time. */
const WARM_UPS = 2;
const { ratioMin } = TARGETS.refusals;

/** Different paths, because a refused request that repeats the last one costs less. */
const REFUSED = ['/order', '/orders/1', '/payments', '/v1/orders'];

/** A gateway, and the requests that it refuses, one after each request that it accepts. */
const contenderOf = async (
  name: string,
  stand: Stand,
): Promise<Contender & { readonly refused: readonly string[] }> => {
  await stand.publish({ slug: '/orders', method: 'POST', action: json('{"id": 1}') });
  const requestOf = (slug: string): string =>
    postOf(`/${stand.own.uri}${slug}`, `x-api-key: ${stand.own.key}\r\n`, '{"a": 1}');
  return {
    name,
    pid: stand.gateway.pid,
    port: stand.port,
    request: requestOf('/orders'),
    refused: REFUSED.map(requestOf),
    settle: () => settled(stand),
    countRows: undefined,
    stop: () => stand[Symbol.asyncDispose](),
  };
};

/** Compares a gateway that counts refused requests with one that does not. Half of the requests are refused. */
export const benchRefusals = async ({ seconds }: BenchOptions): Promise<boolean> => {
  const contenders: Awaited<ReturnType<typeof contenderOf>>[] = [];
  try {
    contenders.push(await contenderOf('counted', await startStandin('process')));
    contenders.push(
      await contenderOf('not counted', await startStandin('process', { NODE_OPTIONS: `--import=${UNCOUNTED}` })),
    );
    const rounds = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]));
    for (let turn = 0; turn < WARM_UPS + ROUNDS; turn += 1) {
      // The position in a pair has an effect of its own, even with the same gateway twice.
      for (const contender of turn % 2 === 0 ? contenders : contenders.toReversed()) {
        const round = await roundOf(contender, { seconds, refused: contender.refused });
        if (turn >= WARM_UPS) rounds.get(contender.name)?.push(round);
      }
    }
    const [counted = [], uncounted = []] = rounds.values();
    printTable(
      [...rounds].map(([name, own]) => {
        const round = medianRound(own);
        const perSecond = Math.round(round.perSecond / 2);
        return { name, 'accepted/s': perSecond, 'CPU µs': round.cpuMicrosPerRequest.toFixed(1), limit: limitOf(round) };
      }),
    );
    // The rounds of a pair ran one after the other, so their ratio varies less than that of the medians.
    const ratio = median(counted.map((round, index) => round.perSecond / (uncounted[index]?.perSecond ?? 0)));
    const met = ratio >= ratioMin;
    const measured = `${ratio.toFixed(3)} × not counted`;
    printMeasurements([{ what: 'accepted requests/s', measured, target: `≥ ${ratioMin}`, met }]);
    return met;
  } finally {
    for (const contender of contenders) await contender.stop();
  }
};

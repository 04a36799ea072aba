import { BARE, MOCKOON, standinName, WIREMOCK, type Contenders } from '../bench/contenders.ts';
import { findResult, judgeRows, newTally, takeTurns, withContenders } from '../bench/gateway.ts';
import { count, type Finding } from './guarantees.ts';

const WARM_UP_SECONDS = 5;
const SECONDS = 3;

type Results = Awaited<ReturnType<typeof takeTurns>>;

const compare = (results: Results, peer: string, { missing }: Contenders): Finding => {
  const [own, other] = [findResult(results, standinName('disk')), findResult(results, peer)];
  if (own === undefined || other === undefined)
    return { output: `not measured: ${missing.get(peer) ?? 'no result'}`, holds: true };
  const faster = own.perSecond / other.perSecond;
  const cpu = own.cpuMicrosPerRequest / other.cpuMicrosPerRequest;
  return {
    output:
      `${count(own.perSecond)} to ${count(other.perSecond)} requests/s: ${faster.toFixed(2)} ×, ${faster < 1 ? 'slower' : 'faster'}; ` +
      `CPU per request ${cpu.toFixed(2)} ×`,
    holds: true,
  };
};

/** Compares Standin with its peers in one short round each. The figures are no guarantee: `npm run bench -- gateway` has targets. */
export const provePeers = (): Promise<readonly Finding[]> =>
  withContenders(true, async (entered) => {
    const tally = newTally(entered.contenders);
    await takeTurns(tally, () => ({ seconds: WARM_UP_SECONDS }), 1);
    const results = await takeTurns(tally, () => ({ seconds: SECONDS }), 1);
    const rows = await judgeRows(tally);
    return [
      ...[BARE, MOCKOON, WIREMOCK].map((peer) => compare(results, peer, entered)),
      { output: rows.map(({ measured }) => measured).join('; '), holds: rows.every(({ met }) => met) },
    ];
  });

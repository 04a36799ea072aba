import { startFaultyClickHouse, type FaultyClickHouse } from '../torture/faulty-clickhouse.ts';
import { Oracle, runSeed } from '../torture/oracle.ts';
import { Stand } from '../torture/stand.ts';
import { count, type Finding } from './guarantees.ts';

const KILLS = 5;
const RATE_PER_SECOND = 200;

/** Kills a gateway under load, half of the times while ClickHouse is unavailable, and compares the log with every response. */
export const proveLog = async (): Promise<readonly Finding[]> => {
  await using cleanups = new AsyncDisposableStack();
  let clickhouse: FaultyClickHouse | undefined;
  const stand = cleanups.use(
    await Stand.start({
      env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true' },
      clickhouse: async (engineUrl) => (clickhouse = cleanups.use(await startFaultyClickHouse(engineUrl))).url,
    }),
  );
  const oracle = cleanups.use(await Oracle.start({ stand, seed: runSeed() }));
  const setFault = (kind: 'none' | 'down'): void => {
    if (clickhouse !== undefined) clickhouse.fault = () => ({ kind });
  };
  setFault('down');
  await oracle.load(RATE_PER_SECOND, stand.crashRepeatedly(KILLS));
  setFault('none');
  await oracle.load(RATE_PER_SECOND, stand.crashRepeatedly(KILLS));
  const { answered, stored, lost, duplicated } = await oracle.verify();
  return [
    { output: `${count(answered)} responses, ${2 * KILLS} kills: ${lost} lost`, holds: lost === 0 && answered > 0 },
    { output: `${count(stored)} requests in the log: ${duplicated} twice`, holds: duplicated === 0 && stored > 0 },
  ];
};

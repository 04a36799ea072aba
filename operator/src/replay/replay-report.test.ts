import { systemClock } from '@standin/kube';
import pino from 'pino';
import { expect, test } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import { ReplayReport, type ReplayFacts } from './replay-report.ts';

const WAITING: ReplayFacts = {
  phase: 'Pending',
  accepted: { ok: false, reason: 'ProjectNotFound', message: 'There is no Project shop in this namespace.' },
  complete: { ok: false, reason: 'Waiting', message: 'There is no Project shop in this namespace.' },
  counts: [],
};

// Prevents: Replays without a valid project use up the operator's writes every two seconds.
test('a status that says the same already is not written again', async () => {
  const source = new MemorySource();
  const { uid } = source.put('Replay', 'again', {}).metadata;
  const report = async (facts: ReplayFacts): Promise<void> => {
    const replayReport = new ReplayReport(
      {
        ...{ source, uid, clock: systemClock, logger: pino({ level: 'silent' }) },
        ref: { kind: 'Replay', namespace: 'default', name: 'again' },
        object: () => source.object('Replay', 'again'),
      },
      WAITING,
    );
    replayReport.set(facts);
    await replayReport.flush(new AbortController().signal);
    await replayReport.close();
  };
  await report(WAITING);
  await report(WAITING);
  expect(source.statusWrites).toHaveLength(1);
  await report({ ...WAITING, planned: 1 });
  expect(source.statusWrites).toHaveLength(2);
});

import { systemClock } from '@standin/kube';
import pino from 'pino';
import { expect, test } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import { ReplayReport, type ReplayFacts } from './replay-report.ts';

const WAITING: ReplayFacts = {
  phase: 'Pending',
  accepted: { ok: false, reason: 'ProjectNotFound', message: 'There is no Project shop in this namespace.' },
  progress: { type: 'Reconciling', reason: 'Waiting', message: 'There is no Project shop in this namespace.' },
  counts: [],
};

// If unchanged statuses were written, thousands of waiting Replays would use up the operator's limit on writes.
test('an unchanged status is not written again', async () => {
  const source = new MemorySource();
  source.put('Replay', 'again', {});
  const report = async (facts: ReplayFacts): Promise<void> => {
    const replayReport = new ReplayReport(
      {
        objects: source.objects,
        clock: systemClock,
        logger: pino({ level: 'silent' }),
        object: () => source.object('Replay', 'again'),
        writeLater: () => undefined,
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

test('the end of a changed Replay is written to its latest version', async () => {
  const source = new MemorySource();
  let seen = source.put('Replay', 'changed', { state: 'Running' });
  source.put('Replay', 'changed', { state: 'Suspended' });
  const waits: number[] = [];
  const replayReport = new ReplayReport(
    {
      objects: source.objects,
      logger: pino({ level: 'silent' }),
      object: () => seen,
      writeLater: () => undefined,
      clock: {
        ...systemClock,
        sleep: (ms) => {
          waits.push(ms);
          seen = source.object('Replay', 'changed');
          return Promise.resolve();
        },
      },
    },
    WAITING,
  );
  replayReport.set({ phase: 'Succeeded' });
  await replayReport.flush(new AbortController().signal);
  await replayReport.close();
  expect(waits).toHaveLength(1);
  expect(source.statusWrites).toHaveLength(1);
  expect(source.object('Replay', 'changed').status).toMatchObject({ phase: 'Succeeded', observedGeneration: 2 });
});

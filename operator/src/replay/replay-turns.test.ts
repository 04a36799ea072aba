import { expect, test } from 'vitest';
import { UNAVAILABLE } from './memory-log.testing.ts';
import { ALL, COUNT, FAST, setUp } from './replay-term.testing.ts';

const findCondition = (
  { conditions = [] }: { conditions?: { type: string; reason: string; message: string }[] },
  wanted: string,
) => conditions.find(({ type }) => type === wanted);
const to = (name: string) => ({ target: { kind: 'URL', url: `http://api.example.com/${name}` } });
const FOUR = ['a', 'b', 'c', 'd'];

// If paused Replays kept their slots, they would block all others.
test('paused Replays do not have a slot, so others are sent, and the paused ones continue when they are resumed', async () => {
  const { lead, replay, status, sent, ended } = setUp();
  const names = [...FOUR, 'e', 'f'];
  for (const name of names) replay({ ...FAST, state: 'Suspended' }, name);
  await lead();
  await expect.poll(() => names.map((name) => status(name).phase)).toEqual(names.map(() => 'Suspended'));
  replay(FAST, 'late');
  await ended('late');
  expect(sent).toHaveLength(COUNT);
  for (const name of names) replay(FAST, name);
  for (const name of names) await ended(name);
  expect(sent).toHaveLength(COUNT * (names.length + 1));
});

test('a running Replay gives up its slot when it is paused, and continues after its last request', async () => {
  const { lead, replay, status, sentTo, sent, ended, target } = setUp();
  const spec = { ...FAST, ...to('paused'), order: 'Original' };
  let isPaused = false;
  // Pauses the Replays while a request is in flight.
  target.answer = (body) => {
    if (body === '10' && !isPaused) {
      isPaused = true;
      for (const name of FOUR) replay({ ...spec, state: 'Suspended' }, name);
    }
    return 200;
  };
  for (const name of FOUR) replay(spec, name);
  await lead();
  await expect.poll(() => FOUR.map((name) => status(name).phase)).toEqual(FOUR.map(() => 'Suspended'));
  const before = sent.length;
  replay({ ...FAST, ...to('late') }, 'late');
  await ended('late');
  expect(sentTo.slice(before)).toEqual(ALL.map(() => '/late'));
  for (const name of FOUR) replay(spec, name);
  for (const name of FOUR) await ended(name);
  for (const name of FOUR) expect(status(name)).toMatchObject({ phase: 'Succeeded', planned: COUNT, sent: COUNT });
  expect(sent).toHaveLength(COUNT * 5);
});

test('a Replay gives its slot to another when its turn is over, and each request is sent once, in order', async () => {
  const { lead, replay, status, sentTo, sent, ended, target, clock } = setUp();
  target.answer = () => {
    clock.passedMs += 7_000;
    return 200;
  };
  const names = [...FOUR, 'e', 'f'];
  for (const name of names) replay({ ...FAST, ...to(name), order: 'Original' }, name);
  await lead();
  for (const name of names) await ended(name);
  for (const name of names) {
    expect(sent.filter((_, index) => sentTo[index] === `/${name}`)).toEqual(ALL);
    expect(status(name)).toMatchObject({ phase: 'Succeeded', planned: COUNT, sent: COUNT });
  }
  expect(sentTo.indexOf('/f')).toBeLessThan(sentTo.lastIndexOf('/a'));
});

test('a Replay also gives up its slot when its search fails', async () => {
  const { lead, replay, ended, log, status } = setUp();
  let isUnavailable = true;
  log.disturb = (call) => {
    if (call === 'summaries' && isUnavailable) throw UNAVAILABLE;
  };
  for (const name of FOUR) replay(FAST, name);
  await lead();
  await expect.poll(() => FOUR.map((name) => status(name).phase)).toEqual(FOUR.map(() => 'Running'));
  replay({ requestId: '0190c2f0-0000-7000-8000-000000000003' }, 'one');
  await ended('one');
  isUnavailable = false;
  for (const name of FOUR) await ended(name);
});

test('a Replay reports that it is waiting for a slot, and can be deleted, cancelled or continued by another leader', async () => {
  const { lead, replay, status, source, sentTo, ended, target } = setUp();
  target.holds = () => true;
  for (const name of FOUR) replay({ ...FAST, ...to(name) }, name);
  const first = await lead();
  await expect.poll(() => FOUR.map((name) => status(name).phase)).toEqual(FOUR.map(() => 'Running'));
  for (const name of ['e', 'f', 'g']) replay({ ...FAST, ...to(name) }, name);
  const waits = (name: string) =>
    expect
      .poll(() => [status(name).phase, findCondition(status(name), 'Reconciling')])
      .toMatchObject([
        'Pending',
        {
          reason: 'Waiting',
          message:
            'The operator runs up to 16 Replays at a time, 4 per namespace. This Replay starts or continues when there is room for it.',
        },
      ]);
  for (const name of ['e', 'f', 'g']) await waits(name);
  source.remove('Replay', 'e');
  replay({ ...FAST, state: 'Cancelled' }, 'f');
  source.remove('Replay', 'a');
  await ended('f');
  expect(status('f').phase).toBe('Cancelled');
  await expect.poll(() => status('g').phase).toBe('Running');
  await first.stop();
  target.holds = () => false;
  await lead();
  for (const name of ['b', 'c', 'd', 'g']) await ended(name);
  const counts = [...Map.groupBy(sentTo, (path) => path)].map(([path, { length }]) => [path, length]);
  expect(counts.sort()).toEqual(['/b', '/c', '/d', '/g'].map((path) => [path, COUNT]));
});

// With timers, waiting Replays would be checked repeatedly.
test('hundreds of waiting Replays do not need timers', async () => {
  const { lead, replay, source, status, target } = setUp();
  target.holds = () => true;
  const numberedNames = (what: string): string[] => Array.from({ length: 300 }, (_, n) => `${what}-${n}`);
  const distinctReasons = (names: readonly string[], type: string): unknown[] => [
    ...new Set(names.map((name) => findCondition(status(name), type)?.reason)),
  ];
  const controller = await lead();
  const [paused, lost] = [numberedNames('paused'), numberedNames('lost')];
  for (const name of paused) replay({ ...FAST, state: 'Suspended' }, name);
  for (const name of lost) replay({ ...FAST, projectRef: { name: 'missing' } }, name);
  await expect.poll(() => distinctReasons(paused, 'Reconciling'), { timeout: 20_000 }).toEqual(['Suspended']);
  await expect.poll(() => distinctReasons(lost, 'Accepted'), { timeout: 20_000 }).toEqual(['ProjectNotFound']);
  for (const name of FOUR) replay({ ...FAST, order: 'Original' }, name);
  await expect.poll(() => FOUR.map((name) => status(name).phase)).toEqual(FOUR.map(() => 'Running'));
  const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const waiting = numberedNames('waiting');
  for (const name of waiting) replay(FAST, name);
  await expect.poll(() => distinctReasons(waiting, 'Reconciling'), { timeout: 20_000 }).toEqual(['Waiting']);
  const writes = source.statusWrites.length;
  // The limit allows for the timers of the test runner and of the pending requests.
  await expect.poll(timers).toBeLessThan(50);
  expect(source.statusWrites).toHaveLength(writes);
  await controller.stop();
});

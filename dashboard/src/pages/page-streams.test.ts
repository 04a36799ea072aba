import { expect, it } from 'vitest';
import { pageStreams } from './page-streams.ts';

const LIMITS = { perReaderMax: 2, totalMax: 8 };
const take = async (open: ReturnType<ReturnType<typeof pageStreams>>): Promise<() => void> => {
  const place = await open();
  if ('refusal' in place) throw new Error(place.refusal);
  return place.release;
};

/** Returns a function that opens a stream of a reader, who is the holder unless another one is given. */
const startStreams =
  (streams: ReturnType<typeof pageStreams>) =>
  (id: string, holder = id) =>
    streams({ id, findHolder: () => holder });

it('each user has a maximum number of streams, which the error message states', async () => {
  const of = startStreams(pageStreams(LIMITS));
  await take(of('ann'));
  await take(of('ann'));
  expect(await of('ann')()).toEqual({
    refusal: 'Live updates are paused because you have 2 live pages open. Close some of them.',
  });
  await take(of('bob'));
});

it('a holder with many tokens has only a share of all streams', async () => {
  const of = startStreams(pageStreams(LIMITS));
  for (const token of ['a', 'b', 'c', 'd']) await take(of(token, 'robots'));
  expect(await of('e', 'robots')()).toHaveProperty('refusal', expect.stringContaining('already serves 4 live pages'));
  await take(of('ann'));
});

it('a stream frees its place only once', async () => {
  const of = startStreams(pageStreams(LIMITS));
  const releases: (() => void)[] = [];
  for (const token of ['a', 'a', 'b', 'b']) releases.push(await take(of(token, 'robots')));
  releases[0]?.();
  releases[0]?.();
  await take(of('a', 'robots'));
  expect(await of('a', 'robots')()).toHaveProperty('refusal');
  expect(await of('c', 'robots')()).toHaveProperty('refusal');
});

import { expect, it } from 'vitest';
import { pageStreams } from './page-streams.ts';

const LIMITS = { perReaderMax: 2, totalMax: 3 };
const take = (open: ReturnType<ReturnType<typeof pageStreams>>): (() => void) => {
  const place = open();
  if ('refusal' in place) throw new Error(place.refusal);
  return place.release;
};

it('a user has a maximum number of streams, which the refusal states', () => {
  const of = pageStreams(LIMITS);
  take(of('ann'));
  take(of('ann'));
  expect(of('ann')()).toEqual({
    refusal: 'Live updates are paused: you have 2 live pages open. Close some of them.',
  });
  take(of('bob'));
});

it('all users together have a maximum number of streams', () => {
  const of = pageStreams(LIMITS);
  for (const reader of ['ann', 'bob', 'cid']) take(of(reader));
  expect(of('dan')()).toHaveProperty('refusal', expect.stringContaining('already serves 3 live pages'));
});

it('a stream that ends frees its place once', () => {
  const of = pageStreams(LIMITS);
  const releases = ['ann', 'ann', 'bob'].map((reader) => take(of(reader)));
  releases[0]?.();
  releases[0]?.();
  take(of('ann'));
  expect(of('ann')()).toHaveProperty('refusal');
  expect(of('bob')()).toHaveProperty('refusal');
});

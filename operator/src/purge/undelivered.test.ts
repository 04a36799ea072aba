import { describe, expect, test } from 'vitest';
import { undelivered } from './undelivered.ts';

const EXPIRED = 'gateway a, which is unreachable';
const WANTED = { projectUid: 'p', namespace: 'a', before: 0 };

/** Gateways of which `a` is expired. */
const gateways = (known: number) => ({
  has: () => true,
  known: Array.from({ length: known }, () => ({ name: 'b', acked: { epoch: 1, number: 1 }, connected: true })),
  undelivered: (_wanted: unknown, isJudged: (gateway: string) => boolean) => (isJudged('a') ? [] : [EXPIRED]),
});
const volumes = (claims: readonly string[] | undefined, unused: readonly string[]) => ({
  undelivered: () => claims,
  hasUnused: (gateway: string) => unused.includes(gateway),
});

describe('a Purge waits', () => {
  test.each([
    ['for an expired gateway if volumes are not watched', gateways(1), undefined, [EXPIRED]],
    ['for an expired gateway without a volume', gateways(1), volumes([], []), [EXPIRED]],
    [
      'for the volume of an expired gateway',
      gateways(1),
      volumes(['volume v, which is not drained'], ['a']),
      ['volume v, which is not drained'],
    ],
    ['for nothing if this volume is drained', gateways(1), volumes([], ['a']), []],
    ['for the volumes to be read', gateways(1), volumes(undefined, ['a']), ["the gateways' volumes to be read"]],
  ])('%s', (_name, known, watched, expected) => {
    expect(undelivered(known, watched, WANTED)).toEqual(expected);
  });

  test('for a gateway to connect if volumes are not watched', () => {
    expect(undelivered({ ...gateways(0), undelivered: () => [] }, undefined, WANTED)).toEqual(['a gateway to connect']);
  });
});

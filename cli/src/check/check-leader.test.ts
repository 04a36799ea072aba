import type { KubeClient, Lease } from '@standin/kube';
import { describe, expect, it } from 'vitest';
import { checkLeader } from './check-leader.ts';

type Spec = Lease['spec'];

/** Returns a client that reads these Leases, one per call, and then the last one again. */
const reading = (...specs: readonly Spec[]): Pick<KubeClient, 'get'> => {
  const left = [...specs];
  const get = () => {
    const spec = left.length > 1 ? left.shift() : left[0];
    return Promise.resolve({ metadata: { name: 'standin-operator' }, spec });
  };
  return { get } as unknown as Pick<KubeClient, 'get'>;
};

const lease = (holderIdentity: string, renewTime: string): Spec => ({
  holderIdentity,
  renewTime: `${renewTime}.000000Z`,
  leaseDurationSeconds: 1,
});

describe('the check of the leader', () => {
  it.each(['2000-01-01T00:00:00', new Date().toISOString().slice(0, 19), '2099-01-01T00:00:00'])(
    'passes a leader that renews its Lease, whatever the clock of this machine shows: %s',
    async (time) => {
      const later = time.replace('T00', 'T01').replace(/\d\d$/, '59');
      expect(await checkLeader(reading(lease('a', time), lease('a', time), lease('a', later)), 'ns')).toMatchObject([
        { status: 'Passed', message: 'a leads.' },
      ]);
    },
  );

  // A clock that is behind shows an old Lease as new.
  it.each(['2000-01-01T00:00:00', new Date().toISOString().slice(0, 19), '2099-01-01T00:00:00'])(
    'fails a leader that does not renew its Lease, whatever the clock of this machine shows: %s',
    async (time) => {
      expect(await checkLeader(reading(lease('a', time)), 'ns')).toMatchObject([
        { status: 'Failed', message: `No operator leads. a renewed its Lease last at ${time}.000000Z.` },
      ]);
    },
  );

  it('passes an operator that takes over during the check', async () => {
    const after = [
      lease('a', '2026-01-01T00:00:00'),
      lease('', '2026-01-01T00:00:01'),
      lease('b', '2026-01-01T00:00:02'),
    ];
    expect(await checkLeader(reading(...after), 'ns')).toMatchObject([{ status: 'Passed', message: 'b leads.' }]);
  });

  it('fails without a holder', async () => {
    expect(await checkLeader(reading(lease('', '2026-01-01T00:00:00')), 'ns')).toMatchObject([
      { status: 'Failed', message: 'No operator holds Lease ns/standin-operator.' },
    ]);
  });
});

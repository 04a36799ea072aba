import { LIMITS, SourceError, type ResourceObject } from '@standin/contract';
import { expect, it } from 'vitest';
import { backendWith } from '../api/api-server.testing.ts';
import type { Resources } from '../backend.ts';
import { readRegenerations } from './key-regenerations.ts';

const account = (apiKey: object): ResourceObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Account',
  metadata: {
    name: 'team',
    namespace: 'default',
    uid: 'u',
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '',
  },
  spec: { plan: 'Free' },
  status: { apiKey },
});
const read = (object: ResourceObject, list: Resources['list']) => readRegenerations(backendWith({}, { list }), object);
const refused = (): Promise<never> => Promise.reject(new SourceError('Forbidden', 'you may not list them'));

it('key regenerations are read from the Account if the user may not list them', async () => {
  const max = LIMITS.keyRegenerationsMax;
  expect(await read(account({}), refused)).toEqual({ left: max, max, resetsAt: undefined, newest: undefined });
  const regenerations = [new Date().toISOString()];
  const running = await read(account({ regenerations, regenerating: { name: 'leak', uid: 'k' } }), refused);
  expect(running).toMatchObject({ left: max - 1, newest: { name: 'leak', phase: 'Running' } });
  expect(running.newest?.message).toContain('permission to list mockkeyregenerations');
});

it('an unavailable API server is an error', async () => {
  const unavailable = (): Promise<never> => Promise.reject(new SourceError('Unavailable', 'no answer'));
  await expect(read(account({}), unavailable)).rejects.toMatchObject({ kind: 'Unavailable' });
});

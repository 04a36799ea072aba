import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { DesiredState } from '../desired-state.ts';
import { MemorySource } from '../memory-source.testing.ts';
import { Translator } from '../translate/index.ts';
import { SETTINGS } from '../translate/translator.testing.ts';
import { AccountKeyController } from './account-key-controller.ts';

test('a new leader does not read the content of an Account beyond the limit of its namespace', async () => {
  const source = new MemorySource();
  source.put('Account', 'within', {});
  source.put('Account', 'beyond', {});
  const logger = pino({ level: 'silent' });
  const translator = new Translator(SETTINGS);
  const ignore = (): void => undefined;
  const desired = new DesiredState({
    translator,
    holdOffMs: 1,
    logger,
    onSeen: ignore,
    onChanges: ignore,
    onRemoved: ignore,
    onProblems: ignore,
  });
  desired.put(source.object('Account', 'within'));
  const { metadata } = source.object('Account', 'beyond');
  desired.put({ ...source.object('Account', 'beyond'), spec: undefined, isBeyondLimit: true });
  desired.flush();
  const registry = new Registry();
  const controller = new AccountKeyController({ source, desired, translator, pollMs: 1_000, logger, registry });
  await controller.prepare(new AbortController().signal);
  expect(desired.objects.get(metadata.uid)).toMatchObject({ spec: undefined, isBeyondLimit: true });
  expect(translator.verdict(metadata.uid)?.accepted.reason).toBe('LimitReached');
  expect([...source.secrets.keys()]).toEqual(['default/within-api-key']);
  desired.close();
});

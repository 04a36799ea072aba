import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import type { Controller } from './controller.ts';
import { ControllerManager } from './controller-manager.ts';
import { MemorySource } from './memory-source.testing.ts';

const CHANGES = { put: [], remove: [], verdicts: [] };

let calls: string[];
let logged: string[];

beforeEach(() => {
  calls = [];
  logged = [];
});

const controller = (name: string, more: Partial<Controller> = {}): Controller => {
  const call = (what: string): void => void calls.push(`${name} ${what}`);
  return {
    name,
    prepare: () => Promise.resolve().then(() => call('prepare')),
    start: () => call('start'),
    changed: () => call('changed'),
    removed: () => call('removed'),
    translated: () => call('translated'),
    gatewaysChanged: () => call('gatewaysChanged'),
    stop: () => Promise.resolve().then(() => call('stop')),
    ...more,
  };
};
const createManager = (...controllers: Controller[]): ControllerManager =>
  new ControllerManager(controllers, pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }));
const never = new AbortController().signal;
const account = new MemorySource().put('Account', 'a', {});

test('all controllers prepare, in the order of the list, before the first one starts', async () => {
  await createManager(controller('a'), { name: 'none' }, controller('b')).start(never);
  expect(calls).toEqual(['a prepare', 'b prepare', 'a start', 'b start']);
});

test('before the start, controllers are notified only of removals and gateway changes', async () => {
  const manager = createManager(controller('a', { prepare: () => Promise.resolve() }));
  const passAll = (): void => {
    manager.changed(account);
    manager.removed(account);
    manager.translated(CHANGES);
    manager.gatewaysChanged([]);
  };
  passAll();
  expect(calls.splice(0)).toEqual(['a removed', 'a gatewaysChanged']);
  await manager.start(never);
  passAll();
  expect(calls).toEqual(['a start', 'a changed', 'a removed', 'a translated', 'a gatewaysChanged']);
});

test('nothing starts if the term ends first or a controller fails to prepare', async () => {
  const ended = createManager(controller('a'));
  await ended.start(AbortSignal.abort());
  const failed = createManager(controller('b', { prepare: () => Promise.reject(new Error('no API server')) }));
  await expect(failed.start(never)).rejects.toThrow('no API server');
  expect([ended.isStarted, failed.isStarted, calls]).toEqual([false, false, ['a prepare']]);
});

test('a hanging controller does not prevent the term from ending', async () => {
  const manager = createManager(controller('a', { stop: () => new Promise(() => undefined) }), controller('b'));
  await manager.start(never);
  await manager.stop();
  expect([manager.isStarted, calls.slice(4)]).toEqual([false, ['b stop']]);
  expect(logged.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ controllers: ['a'] }]);
});

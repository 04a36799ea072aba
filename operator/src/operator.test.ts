import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import { SourceError, STREAM_SERVER_NAME, type ConfigObject, type StreamMessage } from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import type { LogStore } from '@standin/logstore';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { noGatewayMemory, type GatewayMemory } from './gateways/gateway-memory.ts';
import { noGatewayPods } from './gateways/gateway-pods.ts';
import { MemorySource } from './memory-source.testing.ts';
import type { OperatorParts } from './operator-parts.ts';
import { runOperator, type Operator } from './operator.ts';
import { ownCertificates, type CertificateStore } from './publish/certificate-renewal.ts';
import { planCertificates, type Certificates } from './publish/certificates.ts';
import type { Leadership, Term } from './publish/leadership.ts';
import { MemoryLedgers } from './quota/memory-ledgers.testing.ts';
import { operatorSettings, translateSettings, type OperatorSettings } from './settings.ts';

/** Tests the whole operator with a source in memory and real gateway connections. The test controls leadership. */

type Callbacks = Parameters<Leadership['run']>[0];

/** Leads when the test calls `lead`. */
class ManualLeadership implements Leadership {
  #callbacks: Callbacks | undefined;
  #epoch = 0;

  async run(callbacks: Callbacks): Promise<void> {
    this.#callbacks = callbacks;
    if (!callbacks.signal.aborted) await once(callbacks.signal, 'abort');
  }

  /** Resolves as soon as the operator leads, with a function that ends the term. */
  async lead(): Promise<{ readonly term: Term; readonly done: Promise<void>; readonly end: () => Promise<void> }> {
    const callbacks = await vi.waitFor(() => {
      if (this.#callbacks === undefined) throw new Error('the operator is not taking part in the election');
      return this.#callbacks;
    });
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, callbacks.signal]);
    const term = { epoch: (this.#epoch += 1), signal, remainingMs: () => (signal.aborted ? 0 : Infinity) };
    const done = callbacks.onStartedLeading(term);
    done.catch(() => undefined);
    return {
      term,
      done,
      end: async () => {
        ending.abort();
        await done;
      },
    };
  }

  announce(url: string | undefined): void {
    this.#callbacks?.onNewLeader({ url });
  }
}

let certificates: Certificates;
let source: MemorySource;
let leadership: ManualLeadership;
let operator: Operator;
let memory: GatewayMemory;
let ledgers: MemoryLedgers;
let registry: Registry;
const open = new Set<{ destroy(): void }>();

const certificateStore: CertificateStore = {
  read: async () => {
    certificates = await planCertificates(undefined, new Date());
    return { certificates, version: '1' };
  },
  write: () => Promise.resolve(true),
};

const run = (settings: OperatorSettings, parts: Partial<OperatorParts>): Promise<Operator> =>
  runOperator({
    settings,
    source,
    registry: new Registry(),
    translateSettings: translateSettings(settings),
    leadership,
    certificates: ownCertificates(certificateStore),
    gatewayMemory: memory,
    ledgers,
    isGatewayGone: noGatewayPods,
    logger: pino({ level: 'silent' }),
    ...parts,
  });

const start = async (parts: Partial<OperatorParts> = {}): Promise<void> => {
  const settings = operatorSettings.parse({
    stream: { host: '127.0.0.1', port: 0, url: 'https://self:9443' },
    admin: { host: '127.0.0.1', port: 0 },
    secretPollMs: 500,
  });
  registry = new Registry();
  operator = await run(settings, { registry, ...parts });
};

beforeEach(() => {
  source = new MemorySource();
  leadership = new ManualLeadership();
  memory = noGatewayMemory;
  ledgers = new MemoryLedgers();
  source.put('Account', 'team', { plan: 'Free' });
  source.put('Project', 'shop', { displayName: 'Shop', accountRef: { name: 'team' } });
  source.put('Endpoint', 'orders', endpoint('/orders'));
});
afterEach(async () => {
  for (const socket of open) socket.destroy();
  open.clear();
  await operator.stop();
});

const endpoint = (slug: string, body = '{}') => {
  const json = { body, status: 200, headers: [] };
  return { projectRef: { name: 'shop' }, displayName: 'An endpoint', slug, method: 'GET', action: 'JSON', json };
};

const call = async (method: string, path: string, body?: unknown): Promise<IncomingMessage> => {
  const { hostname: host, port } = new URL(operator.streamUrl);
  const client = request({
    host,
    port,
    path,
    method,
    agent: false,
    ca: certificates.caBundle,
    servername: STREAM_SERVER_NAME,
    ...certificates.gateway,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
  });
  open.add(client);
  client.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  return response;
};

/** Connects a gateway that stores all objects that it receives, and acknowledges them unless the test pauses acknowledgements. */
const connectGateway = async (name: string) => {
  const held = new Map<string, ConfigObject>();
  const gateway = { held, acks: true, response: await call('GET', `/v1/config?gateway=${name}&instance=i`) };
  const take = (message: StreamMessage): void => {
    if (message.type === 'put') held.set(`${message.object.kind}/${message.object.name}`, message.object);
    else if (message.type === 'remove') {
      for (const [key, { kind, uid }] of held) if (message.key === `${kind}/${uid}`) held.delete(key);
    } else if (message.type === 'commit' && gateway.acks) {
      const ack = { gateway: name, instance: 'i', revision: message.revision, rejected: [] };
      call('POST', '/v1/acks', ack).then(
        (response) => response.resume(),
        () => undefined,
      );
    }
  };
  const read = async (): Promise<void> => {
    for await (const line of createInterface({ input: gateway.response })) take(JSON.parse(line) as StreamMessage);
  };
  read().catch(() => undefined);
  return gateway;
};

const conditionText = (kind: 'Account' | 'Project' | 'Endpoint', name: string, type = 'Ready'): string => {
  const found = conditionsIn(source.object(kind, name).status).find((condition) => condition.type === type);
  return found === undefined ? 'none' : `${found.status} ${found.reason}`;
};
const untilReady = (name: string): Promise<void> =>
  vi.waitFor(() => expect(conditionText('Endpoint', name)).toBe('True Ready'), { timeout: 5_000 });
const fetchJson = async (path: string): Promise<unknown> => {
  const response = await call('GET', path);
  return JSON.parse((await response.toArray()).join('')) as unknown;
};

describe('a leader', () => {
  test('creates the key, publishes the configuration, and reports when gateways have acknowledged it', async () => {
    await start();
    const { end } = await leadership.lead();
    const gateway = await connectGateway('g');
    await untilReady('orders');
    expect(source.secretData.get('default/team-api-key')).toBeDefined();
    expect([...gateway.held.keys()]).toEqual(['Account/team', 'Project/shop', 'Endpoint/orders']);
    await vi.waitFor(() =>
      expect(source.object('Project', 'shop').status).toMatchObject({ endpoints: { total: 1, ready: 1 } }),
    );
    // While changes are held off, for example after a key is read again, the operator is not settled.
    await vi.waitFor(() => expect(operator.isSettled()).toBe(true));
    await end();
  });

  test('reports that no gateway is connected, and which gateways it is waiting for', async () => {
    await start();
    await leadership.lead();
    await vi.waitFor(() => expect(conditionText('Endpoint', 'orders')).toBe('False NoGateway'));
    const slow = await connectGateway('slow');
    await untilReady('orders');
    slow.acks = false;
    source.put('Endpoint', 'orders', endpoint('/orders', '{"v": 2}'));
    await vi.waitFor(() => expect(conditionText('Endpoint', 'orders')).toBe('False NotProgrammed'));
  });

  test('does not write a status after a restart without changes, even if its gateways connect late', async () => {
    memory = { read: () => Promise.resolve([{ name: 'g', maxStalenessMs: 0 }]), write: () => Promise.resolve() };
    await start();
    const first = await leadership.lead();
    await connectGateway('g');
    await untilReady('orders');
    await vi.waitFor(() => expect(source.object('Project', 'shop').status).toMatchObject({ endpoints: { ready: 1 } }));
    await first.end();
    const written = source.statusWrites.length;
    await leadership.lead();
    // All objects have been reconciled when the queue is empty. They are reconciled again when the gateway has reconnected.
    await vi.waitFor(async () => expect(await registry.metrics()).toMatch(/^workqueue_depth\{name="status".*\} 0$/m));
    await connectGateway('g');
    await vi.waitFor(() => expect(operator.isSettled()).toBe(true));
    source.put('Endpoint', 'later', endpoint('/later'));
    await untilReady('later');
    expect(source.statusWrites.slice(written).map(({ ref }) => ref.name)).not.toContain('orders');
  });

  test('counts endpoints that are not ready, and notices deleted ones', async () => {
    await start();
    await leadership.lead();
    await connectGateway('g');
    source.put('Endpoint', 'broken', endpoint('/broken', '{'));
    const counts = (total: number, ready: number) =>
      vi.waitFor(() => expect(source.object('Project', 'shop').status).toMatchObject({ endpoints: { total, ready } }), {
        timeout: 5_000,
      });
    await counts(2, 1);
    source.remove('Endpoint', 'broken');
    await counts(1, 1);
    source.remove('Endpoint', 'orders');
    await counts(0, 0);
  });

  test('restores a status after another client changed it', async () => {
    await start();
    await leadership.lead();
    await connectGateway('g');
    await untilReady('orders');
    await source.objects.writeStatus({ kind: 'Endpoint', namespace: 'default', name: 'orders' }, { conditions: [] });
    expect(conditionText('Endpoint', 'orders')).toBe('none');
    await untilReady('orders');
  });
});

describe('when a key is replaced while a gateway is disconnected', () => {
  const [OLD, NEW] = ['old-own-key-of-at-least-32-characters', 'new-own-key-of-at-least-32-characters'];
  let isGone: boolean;
  const settings = operatorSettings.parse({
    stream: { host: '127.0.0.1', port: 0, gatewayForgetMs: 1_000 },
    admin: { host: '127.0.0.1', port: 0 },
    secretPollMs: 500,
  });
  const readyMessage = () =>
    conditionsIn(source.object('Account', 'own').status).find(({ type }) => type === 'Ready')?.message;
  const untilForgotten = async (count: number): Promise<void> => {
    await vi.waitFor(async () => expect((await metricLines('gateway_revision')).length).toBe(count), 5_000);
  };
  const metricLines = async (name: string): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(`standin_publish_${name}{`));
  const untilCondition = (condition: string): Promise<void> =>
    vi.waitFor(() => expect(conditionText('Account', 'own')).toBe(condition), { timeout: 5_000 });

  beforeEach(async () => {
    isGone = false;
    source.put('Account', 'own', { plan: 'Free', apiKey: { secretName: 'own-key' } });
    source.secretData.set('default/own-key', { 'api-key': OLD });
    await start({ settings, isGatewayGone: () => Promise.resolve(isGone) });
    await leadership.lead();
    await connectGateway('a');
  });

  test.each(['acknowledged', 'read'])(
    'the Account names the gateway until it is gone, if it %s the old key',
    async (what) => {
      const cutOff = await connectGateway('b');
      if (what === 'read') {
        cutOff.acks = false;
        await vi.waitFor(() => expect(cutOff.held.size).toBeGreaterThan(0));
      } else await untilForgotten(2);
      await untilCondition('True Ready');
      cutOff.response.destroy();
      await untilForgotten(1);
      source.secretData.set('default/own-key', { 'api-key': NEW });
      await untilCondition('False PartiallyProgrammed');
      expect(readyMessage()).toBe('Some gateways have not acknowledged the object yet: waiting for b.');
      // A change to another Account does not wait for gateway b.
      source.put('Account', 'team', { plan: 'Pro' });
      await vi.waitFor(() => {
        const { metadata, status } = source.object('Account', 'team');
        const ready = conditionsIn(status).find(({ type }) => type === 'Ready');
        expect(ready).toMatchObject({ status: 'True', observedGeneration: metadata.generation });
      });
      // This Account still waits for gateway b after the next write of the Account's status.
      source.put('Account', 'own', { plan: 'Pro', apiKey: { secretName: 'own-key' } });
      await vi.waitFor(() => {
        const { metadata, status } = source.object('Account', 'own');
        expect((status as { observedGeneration?: number }).observedGeneration).toBe(metadata.generation);
      });
      expect(conditionText('Account', 'own')).toBe('False PartiallyProgrammed');
      isGone = true;
      await untilCondition('True Ready');
    },
  );
});

describe('when something changes while a leader starts', () => {
  test('the change is part of the first revision', async () => {
    await start();
    const reading = Promise.withResolvers<undefined>();
    const came = Promise.withResolvers<undefined>();
    source.disturb = async (callName) => {
      if (callName !== 'readSecret') return;
      came.resolve(undefined);
      await reading.promise;
    };
    await leadership.lead();
    await came.promise;
    source.put('Account', 'late', { plan: 'Free' });
    source.put('Endpoint', 'late', endpoint('/late'));
    // Waits until the hold-off has passed and the Endpoint is translated.
    await vi.waitFor(() => expect(operator.translator.verdict('uid-5')).toBeDefined());
    expect(source.statusWrites).toEqual([]);
    reading.resolve(undefined);
    const gateway = await vi.waitFor(async () => {
      const connected = await connectGateway('g');
      expect(connected.response.statusCode).toBe(200);
      return connected;
    });
    await untilReady('late');
    expect(gateway.held.get('Endpoint/late')).toBeDefined();
    await vi.waitFor(() => expect(source.secretData.get('default/late-api-key')).toBeDefined());
  });

  test('a deleted and a recreated Account are published with their state in the source', async () => {
    source.put('Account', 'deleted', { plan: 'Free' });
    source.put('Account', 'recreated', { plan: 'Free' });
    await start();
    await operator.synced;
    source.isQuick = false;
    source.remove('Account', 'deleted');
    source.remove('Account', 'recreated');
    const { uid } = source.put('Account', 'recreated', { plan: 'Pro' }).metadata;
    await leadership.lead();
    const gateway = await vi.waitFor(async () => {
      const connected = await connectGateway('g');
      expect(connected.response.statusCode).toBe(200);
      return connected;
    });
    await vi.waitFor(() => expect(gateway.held.get('Account/recreated')).toMatchObject({ uid, plan: 'Pro' }));
    expect(gateway.held.has('Account/deleted')).toBe(false);
    source.deliver();
    source.isQuick = true;
    await untilReady('orders');
    expect(gateway.held.get('Account/recreated')).toMatchObject({ uid });
  });

  test('a term that ends during the start does not serve gateways', async () => {
    await start();
    const reading = Promise.withResolvers<undefined>();
    source.disturb = (callName) => (callName === 'readSecret' ? reading.promise : undefined);
    const { end } = await leadership.lead();
    const ended = end();
    reading.resolve(undefined);
    await ended;
    expect((await call('GET', '/v1/config?gateway=g&instance=i')).statusCode).toBe(503);
    expect(source.statusWrites).toEqual([]);
  });
});

describe('a problem with one object does not affect others', () => {
  test('an Account reports that access to its Secret is forbidden, and the others are served', async () => {
    source.put('Account', 'closed', { plan: 'Free' });
    source.disturb = (callName, name) => {
      if (callName === 'readSecret' && name === 'closed-api-key')
        throw new SourceError('Forbidden', 'secrets "closed-api-key" is forbidden: cannot get resource "secrets"');
    };
    await start();
    await leadership.lead();
    await connectGateway('g');
    await untilReady('orders');
    expect(conditionText('Account', 'closed')).toBe('False SecretInvalid');
    source.disturb = () => undefined;
    await vi.waitFor(() => expect(conditionText('Account', 'closed')).toBe('True Ready'), { timeout: 5_000 });
  });

  test('an error in a listener does not affect the statuses', async () => {
    await start({
      onStatus: () => {
        throw new Error('a bug in the listener');
      },
    });
    await leadership.lead();
    await connectGateway('g');
    await untilReady('orders');
    await vi.waitFor(() => expect(source.object('Project', 'shop').status).toMatchObject({ endpoints: { ready: 1 } }));
  });
});

describe('when leadership changes', () => {
  test('a leader whose start fails gives up, and can lead again', async () => {
    await start();
    source.disturb = (callName) => {
      if (callName === 'get') throw new SourceError('Unavailable', 'unavailable');
    };
    const failed = await leadership.lead();
    await expect(failed.done).rejects.toThrow('unavailable');
    source.disturb = () => undefined;
    await leadership.lead();
    await connectGateway('g');
    await untilReady('orders');
  });

  test('a former leader names the new one, never itself', async () => {
    await start();
    await operator.synced;
    const first = await leadership.lead();
    leadership.announce('https://self:9443');
    await connectGateway('g');
    await untilReady('orders');
    // The new leader is announced before the term ends.
    leadership.announce('https://other:9443');
    await first.end();
    const path = '/v1/config?gateway=g&instance=i';
    expect(await fetchJson(path)).toEqual({ error: 'not_leader', leader: 'https://other:9443' });
    leadership.announce('https://self:9443');
    expect(await fetchJson(path)).toEqual({ error: 'not_leader', leader: null });
  });
});

describe('an operator', () => {
  test("fails with the source's error if the source cannot be read", async () => {
    source.starting = () => Promise.reject(new Error('the directory cannot be read'));
    await start();
    await expect(operator.synced).rejects.toThrow('cannot be read');
    await expect(operator.ended).rejects.toThrow('cannot be read');
  });

  test('stops without an error before the sources are read', async () => {
    source.starting = async (signal) => {
      await once(signal, 'abort');
      throw new Error('stopped');
    };
    await start();
    await operator.stop();
    await operator.ended;
  });

  test('rejects with an error when a port is in use', async () => {
    await start();
    const { port } = new URL(operator.adminUrl);
    const settings = operatorSettings.parse({ admin: { host: '127.0.0.1', port } });
    await expect(run(settings, {})).rejects.toThrow('EADDRINUSE');
  });
});

test('a new leader removes past ledgers of accounts that were deleted while no operator led', async () => {
  const [old, present] = ['2026-01', '9999-12'].map((period) => ({ period, used: 3, blocks: [] }));
  assert(old && present);
  const kept = source.object('Account', 'team').metadata.uid;
  await ledgers.write(kept, old, undefined);
  await ledgers.write('gone', old, undefined);
  await ledgers.write('not watched now', present, undefined);
  await start();
  expect(ledgers.ledgers.size).toBe(3);
  await leadership.lead();
  await vi.waitFor(() => expect([...ledgers.ledgers.keys()]).toEqual([kept, 'not watched now']));
});

test('an Account gets a condition if the log contains more requests than granted permits', async () => {
  const { uid } = source.object('Account', 'team').metadata;
  await ledgers.write(uid, { period: '9999-12', used: 3, blocks: [] }, undefined);
  const logStore = { spentPermits: () => Promise.resolve({ requests: 4, permits: 4 }) } as unknown as LogStore;
  await start({ logStore });
  await leadership.lead();
  await vi.waitFor(() => {
    const found = conditionsIn(source.object('Account', 'team').status).find(({ type }) => type === 'QuotaMismatch');
    expect(found?.status).toBe('True');
    expect(found?.message).toContain('4 requests for 9999-12');
  }, 5_000);
});

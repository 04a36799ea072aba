import type { ServiceObject } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import type { Translator } from './translator.ts';
import { account, endpoint, project, service, createTranslator } from './translator.testing.ts';

const NOTHING = { put: [], remove: [], verdicts: [] };

describe('an endpoint that forwards to a Service', () => {
  const forwarding = endpoint('a', { action: 'Forward', forward: { serviceRef: { name: 'orders', port: 80 } } });
  const other = endpoint('b', { slug: '/b' });
  const state = (translator: Translator) => {
    const [config] = [...translator.objects()].filter(({ uid }) => uid === 'Endpoint a');
    const { reason } = translator.verdict('Endpoint a')?.resolvedRefs ?? {};
    return [reason, config?.kind === 'Endpoint' && config.action.kind === 'Forward' && config.action.viaService];
  };

  it('follows the state of the Service, unlike other endpoints', () => {
    const translator = createTranslator(account, project, forwarding, other);
    // At first, Services are not watched.
    expect(state(translator)).toEqual(['ResolvedRefs', true]);
    translator.servicesIn(undefined, undefined);
    translator.flush();
    expect(state(translator)).toEqual(['BackendNotFound', false]);

    const steps: [ServiceObject, string, boolean][] = [
      [service('orders'), 'ResolvedRefs', true],
      [service('orders', { type: 'ExternalName', hasSelector: false }), 'ServiceNotAllowed', false],
      [service('orders', { hasSelector: false }), 'ServiceNotAllowed', false],
      [service('orders', { ports: [8080] }), 'BackendNotFound', false],
      [service('orders', { ports: [], isHeadless: true }), 'ResolvedRefs', true],
    ];
    for (const [changed, reason, viaService] of steps) {
      translator.putService(changed);
      expect(translator.flush().verdicts.map(({ uid }) => uid)).toEqual(['Endpoint a']);
      expect(state(translator)).toEqual([reason, viaService]);
    }
    translator.takeDependents();
    translator.putService(service('orders', { ports: [], isHeadless: true }));
    expect(translator.takeDependents().size).toBe(0);
    translator.putService(service('unrelated'));
    translator.putService(service('orders', { namespace: 'other' }));
    expect(translator.flush()).toEqual(NOTHING);
    translator.removeService(service('orders'));
    expect([...translator.takeDependents()]).toEqual([['default', 1]]);
    expect(translator.flush().put).toHaveLength(1);
    expect(state(translator)).toEqual(['BackendNotFound', false]);
  });

  it('has no access while a permission is missing in its namespace, and reports the missing permission', () => {
    const translator = createTranslator(account, project, forwarding, other);
    translator.putService(service('orders'));
    translator.servicesIn('default', 'The operator is not allowed to read Services.');
    expect(translator.flush().put.map(({ name }) => name)).toEqual(['a']);
    expect(state(translator)).toEqual(['ServicesNotReadable', false]);
    expect(translator.verdict('Endpoint a')?.resolvedRefs.message).toMatch(
      /^The operator is not allowed to read Services\. /,
    );
    expect(translator.verdict('Endpoint b')?.resolvedRefs.ok).toBe(true);
    translator.servicesIn('default', 'The operator is not allowed to read Services.');
    expect(translator.flush()).toEqual(NOTHING);
    translator.takeDependents();
    translator.servicesIn('elsewhere', 'The operator is not allowed to read Services.');
    expect([translator.takeDependents().size, translator.flush()]).toEqual([0, NOTHING]);
    translator.servicesIn('default', undefined);
    translator.flush();
    expect(state(translator)).toEqual(['ResolvedRefs', true]);
  });

  it('keeps using known Services when the permission is removed, and a Service that was not read is not reported as missing', () => {
    const missing = endpoint('b', {
      slug: '/b',
      action: 'Forward',
      forward: { serviceRef: { name: 'new', port: 80 } },
    });
    const translator = createTranslator(account, project, forwarding, missing);
    const reasons = () => {
      translator.flush();
      return ['a', 'b'].map((name) => translator.verdict(`Endpoint ${name}`)?.resolvedRefs.reason);
    };
    translator.putService(service('orders'));
    translator.servicesIn(undefined, undefined);
    expect(reasons()).toEqual(['ResolvedRefs', 'BackendNotFound']);
    translator.servicesIn(undefined, 'The operator is not allowed to read Services.');
    expect(reasons()).toEqual(['ResolvedRefs', 'ServicesNotReadable']);
    translator.servicesIn(undefined, undefined);
    expect(reasons()).toEqual(['ResolvedRefs', 'BackendNotFound']);
  });
});

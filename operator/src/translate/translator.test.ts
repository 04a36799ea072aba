import {
  configKey,
  LIMITS,
  objectRef,
  type ConfigKind,
  type ConfigObject,
  type Kind,
  type ObjectRef,
  type ResourceObject,
  type ServiceObject,
} from '@standin/contract';
import { cpuMs } from '@standin/contract/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Claims, type Claim, type Holders } from './claims.ts';
import { translate } from './translate.ts';
import { Translator } from './translator.ts';
import { account, endpoint, KEY, make, project, service, SETTINGS, createTranslator } from './translator.testing.ts';
import type { KeyState, SecretState, Verdict } from './types.ts';

const CREDENTIAL = {
  type: 'Signature',
  signature: { scheme: 'GitHub', secretRefs: [{ name: 'github', key: 'current' }] },
};
const NOTHING = { put: [], remove: [], verdicts: [] };

describe('a flush', () => {
  it('returns nothing if nothing has changed', () => {
    const translator = createTranslator(account, project, endpoint('a'));
    expect(translator.flush()).toEqual(NOTHING);
    translator.put(endpoint('a'));
    translator.setKey(account.metadata.uid, KEY);
    expect(translator.flush()).toEqual(NOTHING);
  });

  it('returns nothing for a Replay', () => {
    const translator = createTranslator(account, project);
    const act = make('Replay', 'again', { projectRef: { name: 'shop' } });
    translator.put(act);
    expect(translator.flush()).toEqual(NOTHING);
    translator.remove(objectRef(act), act.metadata.uid);
    expect(translator.flush()).toEqual(NOTHING);
  });

  it('returns only what an edit changed', () => {
    const translator = createTranslator(account, project, endpoint('a'), endpoint('b', { slug: '/b' }));
    translator.put(endpoint('a', { slug: '/a' }, { generation: 2 }));
    const { put, remove, verdicts } = translator.flush();
    expect(put.map(({ name }) => name)).toEqual(['a']);
    expect(remove).toEqual([]);
    expect(verdicts.map(({ uid, generation }) => [uid, generation])).toEqual([['Endpoint a', 2]]);
  });

  it('returns a verdict for a new generation even if nothing changes for the gateways', () => {
    const translator = createTranslator(account, project, endpoint('a'));
    translator.put(endpoint('a', { displayName: 'b', forward: { url: 'http://a' } }, { generation: 2 }));
    const { put, verdicts } = translator.flush();
    expect(put.map((object) => (object as { generation?: number }).generation)).toEqual([2]);
    expect(verdicts).toHaveLength(1);
  });

  it.each([account, project, endpoint('a')])(
    'withdraws a $kind beyond the limit of its namespace, and serves it again',
    (object) => {
      const translator = createTranslator(account, project, endpoint('a'));
      const { metadata } = object;
      translator.put({ ...object, metadata: { ...metadata, labels: {} }, spec: undefined, isBeyondLimit: true });
      const withdrawn = translator.flush();
      expect(withdrawn.remove).toContain(configKey({ kind: object.kind as ConfigKind, uid: metadata.uid }));
      expect(translator.verdict(metadata.uid)?.accepted).toMatchObject({ ok: false, reason: 'LimitReached' });
      translator.put(object);
      const { put } = translator.flush();
      expect(put.map(({ uid }) => uid)).toContain(metadata.uid);
      expect(translator.verdict(metadata.uid)?.accepted.ok).toBe(true);
    },
  );

  it('changes only the Account after its key is rotated', () => {
    const translator = createTranslator(account, project, endpoint('a'));
    translator.setKey(account.metadata.uid, { kind: 'key', sha256: 'b'.repeat(64) });
    const { put, remove, verdicts } = translator.flush();
    expect({ put, remove, verdicts }).toMatchObject({
      put: [{ kind: 'Account', keySha256: 'b'.repeat(64) }],
      remove: [],
      verdicts: [],
    });
  });

  it('changes the retention of the Projects with the plan of their Account', () => {
    const translator = createTranslator(account, project);
    translator.put(make('Account', 'default', { plan: 'Pro' }, { generation: 2 }));
    expect(translator.flush().put).toMatchObject([{ kind: 'Account' }, { kind: 'Project', retentionDays: 20 }]);
  });

  it('refuses a URI as long as another Account reserves its prefix', () => {
    const pinned = make('Project', 'shop', { accountRef: { name: 'default' }, uri: 'team-b-0123456789' });
    const other = make('Account', 'b', { uriPrefix: 'team-b-' });
    const translator = createTranslator(account, pinned);
    translator.put(other);
    translator.takeDependents();
    expect(translator.flush().remove).toEqual(['Project/Project shop']);
    // The Account is one that reserves a prefix, too.
    expect(translator.takeDependents().get('default')).toBeGreaterThanOrEqual(1);
    translator.remove(objectRef(other), other.metadata.uid);
    expect(translator.flush().put).toMatchObject([{ kind: 'Project', uri: 'team-b-0123456789' }]);
  });

  it('publishes a duplicate key only after the older account has a different key', () => {
    const translator = createTranslator(account, project);
    const newer = make('Account', 'newer', {}, { creationTimestamp: '2026-01-02T00:00:00Z' });
    translator.put(newer);
    translator.setKey(newer.metadata.uid, KEY);
    expect(translator.flush().put).toEqual([expect.not.objectContaining({ keySha256: expect.anything() as unknown })]);
    const conflict = translator.verdict(newer.metadata.uid)?.resolvedRefs;
    expect(conflict).toMatchObject({
      ok: false,
      reason: 'Conflicted',
      message: expect.not.stringContaining('default') as string,
    });

    const other: KeyState = { kind: 'key', sha256: 'b'.repeat(64) };
    translator.setKey(account.metadata.uid, other);
    // These changes form one delta, so that exactly one account has the key at any time.
    expect(translator.flush().put).toMatchObject([
      { uid: account.metadata.uid, keySha256: other.sha256 },
      { uid: newer.metadata.uid, keySha256: KEY.sha256 },
    ]);
    expect(translator.verdict(newer.metadata.uid)?.resolvedRefs.ok).toBe(true);

    // The older account gets its earlier key back, for example from a backup.
    translator.setKey(account.metadata.uid, KEY);
    translator.flush();
    expect(translator.verdict(newer.metadata.uid)?.resolvedRefs.reason).toBe('Conflicted');
  });

  it('removes only the key if the key is missing', () => {
    const translator = createTranslator(account, project, endpoint('a'));
    translator.setKey(account.metadata.uid, { kind: 'missing', secretName: 's' });
    const { put, remove, verdicts } = translator.flush();
    expect(put).toEqual([expect.not.objectContaining({ keySha256: expect.anything() as unknown })]);
    expect(remove).toEqual([]);
    expect(verdicts.map(({ resolvedRefs }) => resolvedRefs.reason)).toEqual([
      'SecretNotFound',
      'AccountNotReady',
      'ProjectNotReady',
    ]);
  });

  it('removes all objects of a removed Account', () => {
    const translator = createTranslator(account, project, endpoint('a'));
    translator.remove(objectRef(account), account.metadata.uid);
    const { put, remove, verdicts } = translator.flush();
    expect(put).toEqual([]);
    expect(remove.toSorted()).toEqual(['Account/Account default', 'Endpoint/Endpoint a', 'Project/Project shop']);
    expect(verdicts.map(({ uid }) => uid)).toEqual(['Project shop', 'Endpoint a']);
    expect(translator.verdict(account.metadata.uid)).toBeUndefined();
  });
});

describe('an endpoint that claims an older endpoint’s route', () => {
  const older = endpoint('older', {}, { creationTimestamp: '2026-01-01T00:00:00Z' });
  const younger = endpoint('younger', {}, { creationTimestamp: '2026-01-01T00:00:01Z' });

  it('takes over when the older one is deleted', () => {
    const translator = createTranslator(account, project, younger, older);
    expect(translator.verdict('Endpoint younger')?.accepted).toMatchObject({ ok: false, reason: 'Conflicted' });
    translator.remove(objectRef(older), older.metadata.uid);
    const { put, remove } = translator.flush();
    expect([put.map(({ name }) => name), remove]).toEqual([['younger'], ['Endpoint/Endpoint older']]);
    expect(translator.verdict('Endpoint younger')?.accepted.ok).toBe(true);
  });

  it.each([
    ['moves to a different slug', { slug: '/other' }],
    ['becomes invalid', { json: { body: '{' } }],
  ])('takes over when the older one %s', (_, change) => {
    const translator = createTranslator(account, project, older, younger);
    translator.put(endpoint('older', change, { ...older.metadata, generation: 2 }));
    expect(translator.flush().put.map(({ name }) => name)).toContain('younger');
  });

  it('gives way when the older one is reported later', () => {
    const translator = createTranslator(account, project, younger);
    translator.put(older);
    const { put, remove } = translator.flush();
    expect([put.map(({ name }) => name), remove]).toEqual([['older'], ['Endpoint/Endpoint younger']]);
  });
});

describe('an Endpoint with a mistake', () => {
  const older = { creationTimestamp: '2025-01-01T00:00:00Z' };
  const served = (translator: Translator): [string, string][] =>
    [...translator.objects()].flatMap((object) =>
      object.kind === 'Endpoint' ? [[object.name, object.action.kind] as [string, string]] : [],
    );

  it.each<[string, object]>([
    ['an unknown field', { later: 1 }],
    ['an unknown value', { action: 'Weather' }],
    ['a missing field', { displayName: undefined }],
    ['a value of another type', { json: { body: {} } }],
    ['a value that breaks a rule', { json: { body: '{}', headers: [{ name: 'a b', value: '' }] } }],
    ['no mock', { json: undefined }],
    ['a body that is not JSON', { json: { body: '{' } }],
    ['an expression that is not valid', { json: { body: '${', template: 'CEL' } }],
    ['an upstream that is not allowed', { action: 'Forward', forward: { url: 'http://10.0.0.1' } }],
    ['a credential that its Account does not allow', { credential: CREDENTIAL }],
    ['an unknown credential', { credential: { type: 'Later' } }],
  ])('keeps its place: %s', (_, mistake) => {
    const translator = createTranslator(account, project, endpoint('a', mistake));
    expect(served(translator)).toEqual([['a', 'NotAccepted']]);
    expect([...translator.objects()]).toContainEqual(
      expect.not.objectContaining({ credential: expect.anything() as unknown }),
    );
    const verdict = translator.verdict('Endpoint a');
    expect(verdict).toMatchObject({ configKey: undefined, accepted: { ok: false } });
    expect(verdict?.accepted.message).toMatch(
      /Until the Endpoint is corrected, requests with the API key get 503, and others get 401\.$/,
    );
    translator.put(endpoint('a', {}, { generation: 2 }));
    expect(translator.flush().put).toMatchObject([{ uid: 'Endpoint a', action: { kind: 'JSON' } }]);
    translator.put(endpoint('a', mistake, { generation: 3 }));
    expect(translator.flush()).toMatchObject({
      put: [{ uid: 'Endpoint a', action: { kind: 'NotAccepted' } }],
      remove: [],
    });
    translator.remove({ kind: 'Endpoint', namespace: 'default', name: 'a' }, 'Endpoint a');
    expect(translator.flush().remove).toEqual(['Endpoint/Endpoint a']);
  });

  it.each<[string, object]>([
    ['a slug that breaks a rule', { slug: 'v1' }],
    ['a slug with parameters that are not valid', { slug: '/{a}/{a}' }],
    ['an unknown method', { method: 'QUERY' }],
    ['no Project', { projectRef: undefined }],
    ['a Project that does not exist', { projectRef: { name: 'other' }, later: 1 }],
    ['no spec', { projectRef: undefined, slug: undefined, method: undefined }],
  ])('has no place: %s', (_, mistake) => {
    const translator = createTranslator(account, project, endpoint('a', mistake));
    expect(served(translator)).toEqual([]);
    expect(translator.verdict('Endpoint a')?.accepted.message ?? '').not.toContain('503');
  });

  it('has no place beyond the limit of its namespace', () => {
    const translator = createTranslator(account, project, { ...endpoint('a', { later: 1 }), isBeyondLimit: true });
    expect(served(translator)).toEqual([]);
  });

  it.each<[string, object]>([
    ['the object', { later: 1 }],
    ['the permission', { credential: CREDENTIAL }],
  ])('yields to a newer valid Endpoint with the same place, and gets it back: %s', (_, mistake) => {
    const translator = createTranslator(account, project, endpoint('old', mistake, older), endpoint('new'));
    expect(served(translator)).toEqual([['new', 'JSON']]);
    expect(translator.verdict('Endpoint old')?.accepted).toMatchObject({
      reason: expect.stringMatching(/^(Invalid|NotPermitted)$/) as string,
      message: expect.not.stringContaining('503') as string,
    });
    translator.put(endpoint('new', { later: 1 }, { generation: 2 }));
    translator.flush();
    expect(served(translator)).toEqual([['old', 'NotAccepted']]);
    translator.put(endpoint('old', {}, { ...older, generation: 2 }));
    translator.put(endpoint('new', {}, { generation: 3 }));
    translator.flush();
    expect(served(translator)).toEqual([['old', 'JSON']]);
    expect(translator.verdict('Endpoint new')?.accepted.reason).toBe('Conflicted');
  });

  it('gives its place to the other one with the same mistake when it is deleted', () => {
    const translator = createTranslator(
      account,
      project,
      endpoint('old', { later: 1 }, older),
      endpoint('new', { json: { body: '{' } }),
    );
    expect(served(translator)).toEqual([['old', 'NotAccepted']]);
    translator.remove({ kind: 'Endpoint', namespace: 'default', name: 'old' }, 'Endpoint old');
    translator.flush();
    expect(served(translator)).toEqual([['new', 'NotAccepted']]);
  });

  it('has nothing to do with the same path in another namespace', () => {
    const there = { namespace: 'b' };
    const translator = new Translator(SETTINGS);
    for (const object of [account, project, endpoint('a', { later: 1 }, older)]) translator.put(object);
    translator.put(make('Account', 'default', {}, { ...there, uid: 'Account b' }));
    translator.put(make('Project', 'shop', { accountRef: { name: 'default' } }, { ...there, uid: 'Project b' }));
    translator.put(endpoint('b', {}, { ...there, uid: 'Endpoint b' }));
    translator.flush();
    expect(served(translator)).toEqual([
      ['a', 'NotAccepted'],
      ['b', 'JSON'],
    ]);
  });

  it('is served when its Account allows its credential', () => {
    const translator = createTranslator(
      account,
      project,
      endpoint('old', { credential: CREDENTIAL }, older),
      endpoint('new'),
    );
    translator.put(make('Account', 'default', { signatures: 'Allowed' }, { generation: 2 }));
    translator.flush();
    expect(served(translator)).toEqual([['old', 'JSON']]);
    translator.put(make('Account', 'default', {}, { generation: 3 }));
    translator.flush();
    expect(served(translator)).toEqual([['new', 'JSON']]);
  });
});

describe('a reference to an object that does not exist', () => {
  const message = (translator: Translator, uid = 'Endpoint a'): string | undefined =>
    translator.verdict(uid)?.resolvedRefs.message;
  const missing = (name: string, hint = ''): string =>
    `There is no Project ${name} in this namespace: ${hint}create it.`;

  it('suggests an object of the namespace with a near name, as long as there is one', () => {
    const translator = createTranslator(account, endpoint('a', { projectRef: { name: 'shopp' } }));
    expect(message(translator)).toBe(missing('shopp'));
    translator.put(project);
    translator.flush();
    expect(message(translator)).toBe(missing('shopp', 'did you mean shop? If not, '));
    translator.remove(objectRef(project), project.metadata.uid);
    translator.flush();
    expect(message(translator)).toBe(missing('shopp'));
  });

  it('suggests an Account', () => {
    const translator = createTranslator(account, make('Project', 'a', { accountRef: { name: 'defualt' } }));
    expect(message(translator, 'Project a')).toBe(
      'There is no Account defualt in this namespace: did you mean default? If not, create it.',
    );
  });

  it('suggests nothing of other namespaces, no other kind, and nothing if there are very many', () => {
    const a = endpoint('a', { projectRef: { name: 'shopp' } });
    const elsewhere = make('Project', 'shop', { accountRef: { name: 'default' } }, { namespace: 'b', uid: 'b' });
    expect(message(createTranslator(account, elsewhere, make('Account', 'shop', {}), a))).toBe(missing('shopp'));
    const many = Array.from({ length: LIMITS.comparedNamesMax }, (_, index) =>
      make('Project', `p${index}`, { accountRef: { name: 'default' } }),
    );
    expect(message(createTranslator(account, project, ...many, a))).toBe(missing('shopp'));
    expect(message(createTranslator(account, project, ...many.slice(1), a))).toContain('did you mean shop?');
  });

  describe('among 10,000 of them in a namespace', () => {
    const named = (name: string): ResourceObject => make('Project', name, { accountRef: { name: 'default' } });
    // Names that differ at both ends are compared to their ends.
    const letters = 'a'.repeat(50);
    const projects = Array.from({ length: LIMITS.comparedNamesMax - 1 }, (_, index) =>
      named(`b${letters}-${index + 100}`),
    );

    it.each([
      ['different names', (index: number) => `${letters}-${index}`, named('other'), 0],
      ['the same name', () => `${letters}shop`, named(`${letters}shopp`), 10_000],
    ])('follows a change of a Project in little time, if they have %s', (_how, refName, changing, count) => {
      const translator = createTranslator(account, ...projects);
      for (let index = 0; index < 10_000; index += 1)
        translator.put(endpoint(`e${index}`, { projectRef: { name: refName(index) } }));
      translator.flush();
      translator.takeDependents();
      translator.put(changing);
      translator.flush();
      expect(translator.takeDependents().get('default') ?? 0).toBe(count);
      const change = (): void => {
        translator.remove(objectRef(changing), changing.metadata.uid);
        translator.flush();
        translator.put(changing);
        translator.flush();
      };
      const maxMs = count === 0 ? 30 : 600;
      expect(cpuMs(change, maxMs)).toBeLessThan(maxMs);
    });
  });

  it('compares names again when there are few enough', () => {
    const many = Array.from({ length: LIMITS.comparedNamesMax }, (_, index) =>
      make('Project', `p${index}`, { accountRef: { name: 'default' } }),
    );
    const translator = createTranslator(
      account,
      project,
      ...many.slice(1),
      endpoint('a', { projectRef: { name: 'shopp' } }),
    );
    const [last] = many;
    if (last === undefined) throw new Error('There is no Project.');
    translator.put(last);
    translator.flush();
    expect(message(translator)).toBe(missing('shopp'));
    translator.remove(objectRef(last), last.metadata.uid);
    translator.flush();
    expect(message(translator)).toContain('did you mean shop?');
  });

  it('suggests a data key of a Secret', () => {
    const allowed = make('Account', 'default', { signatures: 'Allowed' });
    const translator = createTranslator(allowed, project, endpoint('a', { credential: CREDENTIAL }));
    const values = new Map([['curent', { id: '1' }]]);
    translator.setSecret('default', 'github', {
      kind: 'found',
      uses: ['Signing'],
      upstreamOrigins: new Set(),
      version: '1',
      values,
    });
    translator.flush();
    expect(message(translator)).toBe('The data key current of Secret github does not exist: did you mean curent?');
  });
});

describe('an object that was deleted and created again', () => {
  it('is a different object, even if its removal was not reported', () => {
    const translator = createTranslator(account, project, endpoint('a'));
    const again = make('Project', 'shop', { accountRef: { name: 'default' } }, { uid: 'again' });
    translator.put(again);
    const { put, remove } = translator.flush();
    expect(remove).toEqual(['Project/Project shop']);
    expect(put.map(({ kind, uid }) => [kind, uid])).toEqual([
      ['Project', 'again'],
      ['Endpoint', 'Endpoint a'],
    ]);
    expect(translator.verdict('Endpoint a')?.status['url']).toBe(
      `${String(translator.verdict('again')?.status['url'])}/v1`,
    );
  });

  it('is not removed with its predecessor', () => {
    const translator = createTranslator(account, project, endpoint('a'));
    translator.remove({ kind: 'Endpoint', namespace: 'default', name: 'a' }, 'predecessor');
    expect(translator.flush()).toEqual(NOTHING);
  });

  it('does not inherit the key, even if uids derive from names', () => {
    const derived = createTranslator(account);
    derived.remove(objectRef(account), account.metadata.uid);
    derived.put(account);
    derived.flush();
    expect(derived.verdict(account.metadata.uid)?.resolvedRefs.reason).toBe('Pending');

    const translator = createTranslator(account);
    translator.put(make('Account', 'default', {}, { uid: 'again' }));
    translator.flush();
    expect(translator.verdict('again')?.resolvedRefs.reason).toBe('Pending');
  });
});

it('finds the holder of a claim in constant time', () => {
  const claimAll = (count: number): void => {
    const claims = new Claims(() => ({ uid: 'gone', namespace: 'other' }));
    const all = Array.from({ length: count }, (_, index) => ({
      uid: `uid-${index}`,
      createdAtMs: index,
      ref: { namespace: 'team' },
    }));
    for (const one of all) claims.add('uri shop', one);
    for (const one of all) claims.remove('uri shop', one);
  };
  claimAll(2_000);
  const fewMs = cpuMs(() => claimAll(2_000), 0);
  const maxMs = Math.max(100, 24 * fewMs);
  expect(cpuMs(() => claimAll(16_000), maxMs)).toBeLessThan(maxMs);
});

it('reads objects that claim the same in time that grows with their number, also the newest first', () => {
  const readAll = (count: number): void => {
    const translator = createTranslator(account, project);
    for (let index = count; index > 0; index -= 1) {
      const creationTimestamp = new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString();
      translator.put(endpoint(`e${index}`, { slug: '/same' }, { creationTimestamp }));
    }
  };
  readAll(1_000);
  const fewMs = cpuMs(() => readAll(1_000), 0);
  const maxMs = Math.max(500, 24 * fewMs);
  expect(cpuMs(() => readAll(8_000), maxMs)).toBeLessThan(maxMs);
});

describe('the limit of arrangements of parameters', () => {
  const { arrangementsMax } = LIMITS;
  /** Creates an Endpoint with 6 segments, of which the bits of `index` are parameters. A higher index is newer. */
  const arranged = (index: number, more: Readonly<Record<string, unknown>> = {}): ResourceObject => {
    const slug = Array.from({ length: 6 }, (_, bit) => ((index >> bit) % 2 === 0 ? '/a' : `/{p${bit}}`)).join('');
    const creationTimestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString();
    return endpoint(`e${index}`, { slug, ...more }, { creationTimestamp });
  };
  const endpoints = Array.from({ length: arrangementsMax + 1 }, (_, index) => arranged(index + 1));
  const newest = `Endpoint e${arrangementsMax + 1}`;
  const limited = (translator: Translator): string[] =>
    [...translator.verdicts()].filter(({ accepted }) => accepted.reason === 'LimitReached').map(({ uid }) => uid);

  it('applies to the newest, in any order of the calls', () => {
    for (const order of [endpoints, endpoints.toReversed()]) {
      const translator = createTranslator(account, project, ...order);
      expect(limited(translator)).toEqual([newest]);
      expect(translator.verdict(newest)).toMatchObject({ configKey: undefined, accepted: { path: 'spec.slug' } });
    }
  });

  it('does not apply to known arrangements, other numbers of segments, other projects or slugs without parameters', () => {
    const translator = createTranslator(
      ...[account, project, make('Project', 'other', { accountRef: { name: 'default' } }), ...endpoints],
      endpoint('known', { slug: `${'/b'.repeat(5)}/{p5}` }),
      endpoint('rest', { slug: '/a/a/a/a/a/{p5...}' }),
      endpoint('shorter', { slug: '/a/{p1}' }),
      endpoint('literal', { slug: '/a/a/a/a/a/a' }),
      endpoint('elsewhere', { slug: '/{a}/{b}/{c}/{d}/{e}/{f}', projectRef: { name: 'other' } }),
    );
    expect(limited(translator)).toEqual([newest]);
  });

  it('applies to an older Endpoint with a mistake before a valid one', () => {
    const translator = createTranslator(account, project, arranged(1, { later: 1 }), ...endpoints.slice(1));
    expect(limited(translator)).toEqual([]);
    expect([...translator.objects()].map(({ uid }) => uid)).toContain(newest);
    expect([...translator.objects()].map(({ uid }) => uid)).not.toContain('Endpoint e1');
  });

  it('ends for the newest when an older arrangement is removed', () => {
    const translator = createTranslator(account, project, ...endpoints);
    const [first] = endpoints;
    if (first !== undefined) translator.remove(objectRef(first), first.metadata.uid);
    expect(translator.flush().put).toMatchObject([{ uid: newest }]);
    expect(limited(translator)).toEqual([]);
  });
});

it('an older generation that arrives late changes nothing', () => {
  const translator = createTranslator(account, project, endpoint('a', { slug: '/new' }, { generation: 2 }));
  translator.put(endpoint('a', { slug: '/old' }, { generation: 1 }));
  expect(translator.flush()).toEqual(NOTHING);
});

it('endpoints and projects refer to each other', () => {
  const translator = createTranslator(
    account,
    project,
    endpoint('a'),
    endpoint('b', { json: { body: '{' } }),
    endpoint('c', { projectRef: { name: 'x' } }),
  );
  expect([...translator.childUids('Project shop')]).toEqual(['Endpoint a', 'Endpoint b']);
  expect(translator.parentUid('Endpoint a')).toBe('Project shop');
  expect(translator.parentUid('Endpoint c')).toBeUndefined();
  expect([...translator.childUids('Endpoint a')]).toEqual([]);
});

it('the work of a flush does not grow with the number of objects', () => {
  const count = 2_000;
  const translator = createTranslator(
    account,
    project,
    ...Array.from({ length: count }, (_, index) => endpoint(`e${index}`, { slug: `/${index}` })),
  );
  let looked = 0;
  const counting = new Proxy(SETTINGS, { get: (target, name) => (looked++, Reflect.get(target, name) as unknown) });
  const watched = new Translator(counting);
  for (const object of [account, project]) watched.put(object);
  for (let index = 0; index < count; index++) watched.put(endpoint(`e${index}`, { slug: `/${index}` }));
  watched.flush();
  looked = 0;
  watched.put(endpoint('e1', { slug: '/1', json: { body: '1' } }, { generation: 2 }));
  expect(watched.flush().put).toHaveLength(1);
  // Each evaluation reads the settings a few times.
  expect(looked).toBeLessThan(10);
  expect([...translator.objects()]).toHaveLength(count + 2);
});

describe('the work of a flush does not grow with the objects of other namespaces', () => {
  const COUNT = 500;
  const URI = 'team-shop-0123456789';
  const pinned = (index: number, uri: string, namespace = 'b'): ResourceObject => {
    const creationTimestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString();
    const metadata = { namespace, uid: `${namespace}-${index}`, creationTimestamp };
    return make('Project', `p${index}`, { accountRef: { name: 'default' }, uri }, metadata);
  };
  /** A translator with recorded claims, and a function that counts what the evaluations of its next flush read. */
  const observed = (...objects: readonly ResourceObject[]) => {
    let read = 0;
    const counting = new Proxy(SETTINGS, { get: (target, name) => (read++, Reflect.get(target, name) as unknown) });
    const translator = new Translator(counting);
    const records = new Map<string, Claim>();
    translator.setHolders((claim) => records.get(claim));
    for (const object of objects) translator.put(object);
    const record = (): void => {
      for (const claim of translator.unrecorded()) {
        records.set(claim.claim, claim);
        translator.recorded(claim.claim);
      }
    };
    const readBy = (change: () => void): number => {
      change();
      read = 0;
      record();
      translator.flush();
      return read;
    };
    readBy(() => undefined);
    return { translator, records, readBy };
  };

  it('when a claim moves, of the objects that wait for it', () => {
    const first = pinned(0, URI, 'a');
    const others = Array.from({ length: COUNT }, (_, index) => pinned(index + 1, URI));
    const { translator, records, readBy } = observed(first, ...others);
    const reason = (uid: string): string | undefined => translator.verdict(uid)?.accepted.reason;
    const free = (): void => {
      translator.remove(objectRef(first), first.metadata.uid);
      records.delete(`uri ${URI}`);
      translator.recorded(`uri ${URI}`);
    };
    expect([reason('a-0'), reason('b-1'), reason('b-2')]).toEqual(['Accepted', 'Conflicted', 'Conflicted']);
    expect(readBy(free)).toBeLessThan(20);
    expect([reason('b-1'), reason('b-2')]).toEqual(['Accepted', 'Conflicted']);
    expect(readBy(() => translator.put(first))).toBeLessThan(20);
    expect([reason('a-0'), reason('b-1')]).toEqual(['Conflicted', 'Accepted']);
  });

  it('when an Account reserves a prefix, of the Projects that keep their URIs, and counts for its namespace', () => {
    const others = Array.from({ length: COUNT }, (_, index) => pinned(index, `team-shop-${index + 100_000_000}`));
    const { translator, readBy } = observed(...others);
    const reserving = make('Account', 'reserving', { uriPrefix: 'team-' }, { namespace: 'a' });
    for (const change of [
      () => translator.put(reserving),
      () => translator.remove(objectRef(reserving), reserving.metadata.uid),
    ]) {
      translator.takeDependents();
      expect(readBy(change)).toBeLessThan(20);
      const dependents = translator.takeDependents();
      expect([(dependents.get('a') ?? 0) > 10, dependents.get('b')]).toEqual([true, undefined]);
    }
    const rival = pinned(COUNT, 'team-other-0123456789', 'c');
    const reason = (): string | undefined => translator.verdict(rival.metadata.uid)?.accepted.reason;
    readBy(() => translator.put(reserving));
    readBy(() => translator.put(rival));
    expect(reason()).toBe('Conflicted');
  });
});

it('serves a reserved URI for one Project, if another one of the namespace claims it, too', () => {
  const uri = 'team-shop-0123456789';
  const translator = new Translator(SETTINGS);
  const records = new Map<string, Claim>();
  translator.setHolders((claim) => records.get(claim));
  const flush = (): void => {
    for (const claim of translator.unrecorded()) {
      records.set(claim.claim, claim);
      translator.recorded(claim.claim);
    }
    translator.flush();
  };
  for (const [name, spec] of [
    ['reserving', { uriPrefix: 'team-' }],
    ['other', {}],
  ] as const)
    translator.put(make('Account', name, spec));
  flush();
  for (const name of ['reserving', 'other']) translator.put(make('Project', name, { accountRef: { name }, uri }));
  flush();
  expect(['reserving', 'other'].map((name) => translator.verdict(`Project ${name}`)?.accepted.reason)).toEqual([
    'Accepted',
    'Conflicted',
  ]);
});

it('gives a reserved URI to no other Project of a namespace from which the Project with the URI has moved', () => {
  const uri = 'team-shop-0123456789';
  const claim = `uri ${uri}`;
  const translator = new Translator(SETTINGS);
  const records = new Map<string, Claim>();
  translator.setHolders((name) => records.get(name));
  const flush = (): void => {
    for (const wanted of translator.unrecorded()) {
      records.set(wanted.claim, wanted);
      translator.recorded(wanted.claim);
    }
    translator.flush();
  };
  const moved = make('Project', 'moved', { accountRef: { name: 'default' }, uri });
  translator.put(moved);
  flush();
  translator.put(make('Account', 'reserving', { uriPrefix: 'team-' }, { namespace: 'other' }));
  translator.put(make('Project', 'beside', { accountRef: { name: 'default' }, uri }));
  flush();
  records.set(claim, { claim, uid: moved.metadata.uid, namespace: 'new' });
  translator.recorded(claim);
  translator.remove(objectRef(moved), moved.metadata.uid);
  flush();
  records.delete(claim);
  translator.recorded(claim);
  flush();
  expect([records.get(claim), translator.verdict('Project beside')?.accepted.reason]).toEqual([
    undefined,
    'Conflicted',
  ]);
});

it('keeps the former URL in the status of a Project while its new URI is being recorded', () => {
  const translator = new Translator(SETTINGS);
  const recorded = new Map<string, Claim>();
  translator.setHolders((name) => recorded.get(name));
  translator.put(make('Project', 'shop', { accountRef: { name: 'default' }, uri: 'team-shop-0123456789' }));
  translator.flush();
  const verdict = () => translator.verdict('Project shop');
  // A field that is undefined would be removed from the status.
  expect([verdict()?.accepted.reason, verdict()?.status]).toStrictEqual(['Pending', {}]);
  for (const claim of translator.unrecorded()) {
    recorded.set(claim.claim, claim);
    translator.recorded(claim.claim);
  }
  translator.flush();
  expect(verdict()?.status).toMatchObject({ uri: 'team-shop-0123456789' });
});

const signedBy = (...names: string[]) => {
  const secretRefs = names.map((name) => ({ name, key: 'k' }));
  return { type: 'Signature', signature: { scheme: 'GitHub', secretRefs } };
};

describe('for any sequence of changes', () => {
  // Near names, so that one is suggested for the other.
  const NAMES = ['name', 'nam'] as const;
  const name = fc.constantFrom(...NAMES);
  const second = fc.integer({ min: 0, max: 3 });
  const spec: Readonly<Record<ConfigKind, fc.Arbitrary<object>>> = {
    Account: fc.oneof(
      fc.constant({}),
      fc.constant({ plan: 'Pro' }),
      fc.constant({ plan: 'Gold' }),
      fc.constant({ apiKey: { secretName: 's' } }),
      fc.constant({ signatures: 'Allowed' }),
      fc.record({ uriPrefix: fc.constantFrom('team-', 'team-u-') }),
    ),
    Project: fc.record({
      accountRef: fc.record({ name }),
      uri: fc.option(fc.constantFrom('u'.repeat(16), 'v'.repeat(16), 'team-u-012345678', 'team-v-012345678', 'short'), {
        nil: undefined,
      }),
    }),
    Endpoint: fc.record({
      projectRef: fc.record({ name }),
      displayName: fc.constant('x'),
      slug: fc.constantFrom('/1', '/{a}', '/{b}', 'bad'),
      method: fc.constantFrom('GET', 'POST'),
      action: fc.constantFrom('JSON', 'Forward'),
      json: fc.constantFrom({ body: '{}' }, { body: '{' }),
      forward: fc.constantFrom(
        { url: 'http://a.example' },
        { url: 'http://10.0.0.1' },
        { serviceRef: { name: 'name', port: 80 } },
        { serviceRef: { name: 'nam', port: 80 } },
      ),
      credential: fc.constantFrom(undefined, signedBy('name'), signedBy('name', 'nam')),
    }),
  };
  const key = fc.constantFrom<KeyState>(
    KEY,
    { kind: 'key', sha256: 'b'.repeat(64) },
    { kind: 'missing', secretName: 's' },
    { kind: 'invalid', secretName: 's', message: 'too short' },
    { kind: 'pending' },
  );
  interface Step {
    readonly ref: ObjectRef;
    readonly act: 'put' | 'recreate' | 'remove' | 'key' | 'service' | 'secret' | 'free' | 'flush';
    readonly spec: object;
    readonly key: KeyState;
    readonly second: number;
  }
  const step: fc.Arbitrary<Step> = fc.constantFrom<ConfigKind>('Account', 'Project', 'Endpoint').chain((kind) =>
    fc.record({
      ref: fc.record({ kind: fc.constant(kind), namespace: name, name }),
      act: fc.constantFrom<Step['act']>(
        ...(['put', 'put', 'put', 'recreate', 'remove', 'key', 'service', 'secret', 'free', 'flush'] as const),
      ),
      spec: spec[kind],
      key,
      second,
    }),
  );

  /** The possible Services, by the number in a step. */
  const SERVICES: readonly Partial<ServiceObject>[] = [
    {},
    { type: 'ExternalName' },
    { hasSelector: false },
    { ports: [] },
  ];

  /** The possible states of Secrets, by the number in a step. */
  const SECRETS: readonly SecretState[] = [
    { kind: 'missing' },
    { kind: 'found', uses: [], upstreamOrigins: new Set(), version: '1', values: new Map() },
    {
      kind: 'found',
      uses: ['Signing'],
      upstreamOrigins: new Set(),
      version: '2',
      values: new Map([['k', { id: '2' }]]),
    },
    {
      kind: 'found',
      uses: ['Signing'],
      upstreamOrigins: new Set(),
      version: '3',
      values: new Map([['k', { id: '3' }]]),
    },
  ];

  const byUid = <T extends { readonly uid: string }>(items: Iterable<T>): T[] =>
    [...items].sort((x, y) => (x.uid < y.uid ? -1 : 1));

  /** Steps that often claim the same URI, and reserve it. */
  const claimStep: fc.Arbitrary<Step> = fc.constantFrom<ConfigKind>('Account', 'Project').chain((kind) =>
    fc.record({
      ref: fc.record({ kind: fc.constant(kind), namespace: name, name }),
      act: fc.constantFrom<Step['act']>('put', 'put', 'put', 'recreate', 'remove', 'key', 'free', 'flush', 'flush'),
      spec:
        kind === 'Account'
          ? fc.record({ uriPrefix: fc.constantFrom(undefined, 'team-', 'team-u-') })
          : fc.record({
              accountRef: fc.record({ name }),
              uri: fc.constantFrom('team-u-012345678', 'team-v-012345678'),
            }),
      key,
      second,
    }),
  );

  it.each([
    ['without records', false, step, 400],
    ['with records', true, step, 400],
    ['with records of claims to the same', true, claimStep, 2_000],
  ])(
    'the incremental result equals the complete translation, and the changes add up to it, %s',
    (_what, isRecorded, steps, numRuns) => {
      const run = (taken: readonly Step[]): void => {
        const translator = new Translator(SETTINGS);
        const records = new Map<string, Claim>();
        const holders: Holders = (claim) => records.get(claim);
        if (isRecorded) translator.setHolders(holders);
        const world = new Map<string, ResourceObject>();
        const keys = new Map<string, KeyState>();
        const services = new Map<string, ServiceObject>();
        const secrets = new Map<string, { namespace: string; name: string; state: SecretState }>();
        translator.servicesIn(undefined, undefined);
        const served = new Map<string, ConfigObject>();
        const reported = new Map<string, Verdict>();
        let made = 0;
        const flush = (): void => {
          const claims = translator.unrecorded();
          for (const claim of claims) {
            records.set(claim.claim, claim);
            translator.recorded(claim.claim);
          }
          const { put, remove, verdicts } = translator.flush();
          for (const removed of remove) expect(served.delete(removed)).toBe(true);
          for (const object of put) served.set(`${object.kind}/${object.uid}`, object);
          for (const verdict of verdicts) reported.set(verdict.uid, verdict);
          if (translator.unrecorded().length > 0) flush();
        };
        /** Frees the recorded claims that their objects no longer have. */
        const free = (): void => {
          const freed = new Set<string>();
          for (const { claim, uid } of records.values())
            if (!translator.claimedBy(uid).includes(claim)) freed.add(claim);
          for (const claim of freed) records.delete(claim);
          for (const claim of translator.consulted()) if (freed.has(claim)) translator.recorded(claim);
        };
        for (const { ref, act, spec: wanted, key: state, second: age } of [...taken, { act: 'flush' } as Step]) {
          if (act === 'flush') {
            flush();
            continue;
          }
          if (act === 'free') {
            free();
            continue;
          }
          const id =
            act === 'service' || act === 'secret'
              ? `${ref.namespace}/${ref.name}`
              : `${ref.kind} ${ref.namespace}/${ref.name}`;
          const known = world.get(id);
          if (act === 'remove' && known !== undefined) {
            translator.remove(ref, known.metadata.uid);
            reported.delete(known.metadata.uid);
            keys.delete(known.metadata.uid);
            world.delete(id);
          }
          if (act === 'put' || act === 'recreate') {
            if (act === 'recreate' && known !== undefined) {
              reported.delete(known.metadata.uid);
              keys.delete(known.metadata.uid);
            }
            const isSame = act === 'put' && known !== undefined;
            made += 1;
            const object = make(ref.kind, ref.name, wanted, {
              namespace: ref.namespace,
              uid: isSame ? known.metadata.uid : `${made % 7}-${made}`,
              generation: isSame ? known.metadata.generation + 1 : 1,
              creationTimestamp: isSame ? known.metadata.creationTimestamp : `2026-01-01T00:00:0${age}Z`,
            });
            world.set(id, object);
            translator.put(object);
          }
          if (act === 'service') {
            const found = service(ref.name, { namespace: ref.namespace, ...SERVICES[age] });
            if (services.has(id)) translator.removeService(found);
            else translator.putService(found);
            if (!services.delete(id)) services.set(id, found);
          }
          const secret = SECRETS[age];
          if (act === 'secret' && secret !== undefined) {
            const { namespace, name: secretName } = ref;
            translator.setSecret(namespace, secretName, secret);
            secrets.set(id, { namespace, name: secretName, state: secret });
          }
          if (act === 'key' && ref.kind === 'Account' && known !== undefined) {
            keys.set(known.metadata.uid, state);
            translator.setKey(known.metadata.uid, state);
          }
        }
        const whole = translate(
          {
            objects: world.values(),
            keys,
            services: services.values(),
            secrets: [...secrets.values()],
            ...(isRecorded && { holders }),
          },
          SETTINGS,
        );
        expect(translator.unrecorded()).toEqual([]);
        expect(byUid(served.values())).toEqual(byUid(whole.objects));
        expect(byUid(translator.objects())).toEqual(byUid(whole.objects));
        expect(byUid(reported.values())).toEqual(byUid(whole.verdicts));
        expect(byUid(translator.verdicts())).toEqual(byUid(whole.verdicts));
      };
      fc.assert(fc.property(fc.array(steps, { maxLength: 40 }), run), { numRuns });
    },
  );

  const objectsAfter = (steps: readonly Step[]): ResourceObject[] => {
    const objects = new Map<string, ResourceObject>();
    for (const { ref, spec: wanted, second: age } of steps) {
      const id = `${ref.kind} ${ref.namespace}/${ref.name}`;
      const metadata = { namespace: ref.namespace, uid: id, creationTimestamp: `2026-01-01T00:00:0${age}Z` };
      if (!objects.has(id)) objects.set(id, make(ref.kind, ref.name, wanted, metadata));
    }
    return [...objects.values()];
  };
  /** Gives each account its own key. */
  const keyStates = (objects: readonly ResourceObject[]): Map<string, KeyState> =>
    new Map(
      objects.map(({ metadata }) => [
        metadata.uid,
        { kind: 'key', sha256: Buffer.from(metadata.uid).toString('hex').padEnd(64, '0').slice(0, 64) },
      ]),
    );

  it('a broken object takes nothing from others, regardless of its age', () => {
    const broken: fc.Arbitrary<ResourceObject> = fc
      .tuple(
        fc.constantFrom<Kind>('Account', 'Project', 'Endpoint'),
        name,
        fc.oneof(
          fc.constant(null),
          fc.constant('text'),
          fc.constant({ slug: '/1', json: {} }),
          fc.dictionary(fc.string(), fc.jsonValue()),
        ),
      )
      .map(([kind, namespace, wanted]) => {
        const nonsense = (wanted ?? {}) as object;
        const metadata = { namespace, uid: '0', creationTimestamp: '2020-01-01T00:00:00Z' };
        return make(kind, 'broken', kind === 'Account' ? { plan: 'Gold', ...nonsense } : nonsense, metadata);
      });
    const brokenEndpoint = fc
      .tuple(name, name, fc.constantFrom('/1', '/2'))
      .map(([namespace, shop, slug]) =>
        endpoint(
          'broken',
          { projectRef: { name: shop }, slug, json: { body: '{' } },
          { namespace, uid: '0', creationTimestamp: '2020-01-01T00:00:00Z' },
        ),
      );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.oneof(broken, brokenEndpoint), (steps, object) => {
        const objects = objectsAfter(steps);
        const keys = keyStates(objects);
        const without = translate({ objects, keys }, SETTINGS);
        const withBroken = translate({ objects: [object, ...objects], keys }, SETTINGS);
        // Of several Endpoints that are not accepted, the oldest one refuses the requests.
        const serving = (all: readonly ConfigObject[]) =>
          byUid(
            all.filter(
              (one) =>
                one.uid !== object.metadata.uid && !(one.kind === 'Endpoint' && one.action.kind === 'NotAccepted'),
            ),
          );
        expect(serving(withBroken.objects)).toEqual(serving(without.objects));
      }),
      { numRuns: 300 },
    );
  });
});

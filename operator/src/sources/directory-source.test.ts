import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GROUP_VERSION, type ResourceObject, type ResourceSource, type SourceProblem } from '@standin/contract';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NO_CONFIG_MAPS } from '../memory-source.testing.ts';
import { directorySource } from './directory-source.ts';
import type { LocatingSource } from './locating-source.ts';

const endpoint = (name: string, slug = `/${name}`) =>
  `apiVersion: standin.dev/v1alpha1\nkind: Endpoint\nmetadata:\n  name: ${name}\nspec:\n  slug: ${slug} # why\n`;

const ref = (name: string) => ({ kind: 'Endpoint', namespace: 'default', name }) as const;

const objectSlug = (object: ResourceObject | undefined): unknown =>
  (object?.spec as { slug?: string } | undefined)?.slug;

const until = async (what: string, condition: () => boolean, timeoutMs = 4_000): Promise<void> => {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Tests only what is specific to a directory. test/integration/source-conformance.test.ts tests the behavior that both sources
 * share.
 */
describe('a directory of manifests', () => {
  let root: string;
  let dir: string;
  let dataDir: string;
  let stops: AbortController[];
  let objects: Map<string, ResourceObject>;
  let puts: string[];
  let problems: readonly SourceProblem[];
  let lines: string[];

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'directory-source-'));
    dir = join(root, 'manifests');
    dataDir = join(root, 'data');
    await mkdir(dir);
    stops = [];
    lines = [];
    objects = new Map();
    puts = [];
    problems = [];
  });
  afterEach(async () => {
    for (const stop of stops) stop.abort();
    await rm(root, { recursive: true });
  });

  const open = (): LocatingSource =>
    directorySource({ dir, dataDir, logger: pino({}, { write: (line) => lines.push(line) }) });
  const start = async (stop = new AbortController()): Promise<LocatingSource> => {
    const source = open();
    objects = new Map();
    puts = [];
    stops.push(stop);
    await source.objects.start(
      {
        put: (object) => {
          objects.set(object.metadata.name, object);
          puts.push(object.metadata.name);
        },
        remove: (object) => objects.delete(object.metadata.name),
        problems: (reported) => (problems = reported),
        configMaps: NO_CONFIG_MAPS,
      },
      stop.signal,
    );
    return source;
  };
  const restart = (): Promise<ResourceSource> => {
    stops.pop()?.abort();
    return start();
  };
  const file = (name: string, folder = dir) => join(folder, name);
  const write = (name: string, text: string) => writeFile(file(name), text);
  const hasSlug = (name: string, slug: string) =>
    until(`${name} at ${slug}`, () => objectSlug(objects.get(name)) === slug);

  describe('rejects at the start', () => {
    it.for([
      ['does not exist', () => rm(dir, { recursive: true }), 'NotFound'],
      [
        'is a file; specify its directory',
        async () => {
          await rm(dir, { recursive: true });
          await writeFile(dir, '');
        },
        'Invalid',
      ],
      ['cannot write the data folder', () => writeFile(dataDir, ''), 'Forbidden'],
      [
        'fix it, or remove it to start over',
        async () => {
          await mkdir(file('state', dataDir), { recursive: true });
          await writeFile(file('state/objects.json', dataDir), '{"version":');
        },
        'Invalid',
      ],
    ] as const)('with the reason "%s"', async ([message, damage, kind]) => {
      await damage();
      await expect(start()).rejects.toMatchObject({
        name: 'SourceError',
        kind,
        message: expect.stringMatching(new RegExp(`^[^\\n]*${message}[^\\n]*$`)) as string,
      });
    });

    it('keeps temporary objects in the data folder until the next start', async () => {
      await writeFile(join(dir, 'kept.yaml'), endpoint('kept'));
      const first = new AbortController();
      const source = await start(first);
      const temporary = (name: string, slug: string) => ({
        apiVersion: GROUP_VERSION,
        kind: 'Endpoint' as const,
        metadata: { name, namespace: 'default', labels: { 'standin.dev/temporary': 'true' } },
        spec: { slug },
      });
      for (const slug of ['/a', '/b']) await source.objects.apply(temporary('brief', slug));
      await source.objects.apply(temporary('second', '/c'));
      expect(objectSlug(objects.get('brief'))).toBe('/b');
      expect(objectSlug(await source.objects.get(ref('brief')))).toBe('/b');
      await source.objects.writeStatus(ref('brief'), { url: 'x' });
      expect(objects.get('brief')?.status).toEqual({ url: 'x' });
      await source.objects.delete(ref('second'));
      expect([...objects.keys()].sort()).toEqual(['brief', 'kept']);
      // An object of the directory stays there, whatever its labels are.
      await source.objects.apply(temporary('kept', '/kept-2'));
      expect(await readdir(dir)).toEqual(['kept.yaml']);
      expect(await readFile(join(dir, 'kept.yaml'), 'utf8')).toContain('/kept-2');

      first.abort();
      await start();
      expect([...objects.keys()]).toEqual(['kept']);
    });

    it('if the manifests are in the data folder', async () => {
      dataDir = root;
      await expect(start()).rejects.toMatchObject({ kind: 'Invalid' });
    });
  });

  it('reads only .yaml, .yml and .json files, at any depth, in alphabetical order', async () => {
    dataDir = join(dir, 'data');
    await mkdir(file('sub/deep'), { recursive: true });
    for (const folder of ['data', '.git', 'node_modules/x']) {
      await mkdir(file(folder), { recursive: true });
      await write(`${folder}/no.yaml`, endpoint(`no-${folder.length}`));
    }
    await write('b.yml', endpoint('b'));
    await write(
      'a.json',
      JSON.stringify({ apiVersion: GROUP_VERSION, kind: 'Endpoint', metadata: { name: 'a' }, spec: {} }),
    );
    await write('sub/deep/c.yaml', endpoint('c'));
    for (const name of ['.b.yaml.swp', '.hidden.yaml', 'b.yaml~', '#b.yaml#', '4913', 'b.yaml.tmp', 'README.md']) {
      await write(name, endpoint('editor'));
    }
    await start();
    expect(puts).toEqual(['a', 'b', 'c']);
    expect(problems).toEqual([]);
  });

  it('orders objects by when they were first seen, across a checkout and a restart', async () => {
    await write('b.yaml', endpoint('b'));
    await start();
    await write('a.yaml', endpoint('a'));
    await until('a', () => objects.has('a'));
    const age = () =>
      [...objects.values()].sort((x, y) => (x.metadata.creationTimestamp < y.metadata.creationTimestamp ? -1 : 1));
    const before = age();
    expect(before.map(({ metadata }) => metadata.name)).toEqual(['b', 'a']);
    await utimes(file('a.yaml'), new Date(0), new Date(0));
    await restart();
    expect(age()).toEqual(before);
  });

  it('gives each object a different age', async () => {
    for (let index = 0; index < 50; index++) await write(`${index}.yaml`, endpoint(`n${index}`));
    await start();
    const ages = new Set([...objects.values()].map(({ metadata }) => Date.parse(metadata.creationTimestamp)));
    expect(ages.size).toBe(50);
  });

  it('keeps status and generation across a restart, and notices changes in between', async () => {
    await write('a.yaml', endpoint('a'));
    await write('b.yaml', endpoint('b'));
    const source = await start();
    await source.objects.writeStatus(ref('a'), { url: 'x' });
    await source.objects.writeStatus(ref('b'), { url: 'y' });
    stops.pop()?.abort();
    await write('a.yaml', endpoint('a', '/changed'));
    await rm(file('b.yaml'));
    await start();
    expect(objects.get('a')).toMatchObject({ metadata: { generation: 2 }, status: { url: 'x' } });
    await write('b.yaml', endpoint('b', '/back'));
    await hasSlug('b', '/back');
    expect(objects.get('b')?.metadata.generation).toBe(2);
    expect(objects.get('b')?.status).toBeUndefined();
  });

  it('ignores a rewrite without a change', async () => {
    await write('a.yaml', endpoint('a'));
    await start();
    await write('a.yaml', `# a comment\n${endpoint('a')}`);
    await write('z.yaml', endpoint('z'));
    await until('z', () => objects.has('z'));
    expect(puts).toEqual(['a', 'z']);
  });

  it('notices a file that was saved by renaming', async () => {
    await write('a.yaml', endpoint('a'));
    await start();
    await write('.a.yaml.new', endpoint('a', '/renamed'));
    await rename(file('.a.yaml.new'), file('a.yaml'));
    await hasSlug('a', '/renamed');
    expect(puts).toEqual(['a', 'a']);
  });

  it('does not remove the objects of a renamed file', async () => {
    await write('a.yaml', endpoint('a'));
    const source = await start();
    const before = objects.get('a');
    // A chain of renames must end before the objects of a missing file are removed. So there are several chains.
    for (let index = 0; index < 20; index++) {
      await rename(file(index === 0 ? 'a.yaml' : `a${index}.yaml`), file(`a${index + 1}.yaml`));
      await pause(index * 3);
      if (index % 4 === 3)
        await until('the new name', () => source.objects.whereIs(ref('a'))?.startsWith(`a${index + 1}.yaml`) === true);
    }
    expect(objects.get('a')).toEqual(before);
    expect(puts).toEqual(['a']);
  });

  it('waits until a file has stopped changing', async () => {
    await start();
    const text = endpoint('a');
    const reported: number[] = [];
    for (let length = 10; length <= text.length; length += 15) {
      await write('a.yaml', text.slice(0, length));
      reported.push(problems.length);
      await pause(5);
    }
    await write('a.yaml', text);
    await until('a', () => objects.has('a'));
    expect(Math.max(...reported)).toBe(0);
  });

  it.for([0, 40, 400])('does not remove the objects of a file that is empty for %i ms', async (ms) => {
    await write('a.yaml', endpoint('a'));
    await start();
    const uid = objects.get('a')?.metadata.uid;
    const removed: string[] = [];
    const remove = objects.delete.bind(objects);
    objects.delete = (name) => removed.push(name) > 0 && remove(name);
    await write('a.yaml', '');
    await pause(ms);
    await write('a.yaml', endpoint('a', '/rewritten'));
    await hasSlug('a', '/rewritten');
    expect(removed).toEqual([]);
    expect(objects.get('a')?.metadata).toMatchObject({ uid, generation: 2 });
  });

  it('removes the objects of a file that stays empty', async () => {
    await write('a.yaml', endpoint('a'));
    await start();
    await write('a.yaml', '');
    await until('the removal', () => objects.size === 0);
  });

  it('ends with the last version after rapid writes', async () => {
    await start();
    for (let index = 0; index <= 60; index++) {
      await write('a.yaml', endpoint('a', `/${index}`));
      await pause((index * 7) % 45);
    }
    await hasSlug('a', '/60');
  });

  it('reports the faulty line, keeps the last valid version, and clears the problem when the file is fixed', async () => {
    await write('a.yaml', endpoint('a'));
    await start();
    await write('a.yaml', `${endpoint('a')}  json: {\n`);
    await until('the problem', () => problems.length > 0);
    expect(problems[0]?.where).toMatch(/^a\.yaml:\d+$/);
    expect(problems[0]?.message).toMatch(
      /^not YAML: .*; 1 object\(s\) keep their last valid version until this is fixed$/,
    );
    expect(objects.has('a')).toBe(true);
    await write('a.yaml', endpoint('a', '/good'));
    await hasSlug('a', '/good');
    await until('no problem', () => problems.length === 0);
  });

  it('keeps the last version of a file that is not UTF-8, and reports the line', async () => {
    await writeFile(join(dir, 'a.yaml'), endpoint('a'));
    await start();
    await writeFile(join(dir, 'a.yaml'), Buffer.from(endpoint('a', '/caf\xe9'), 'latin1'));
    await until('the problem', () => problems.length === 1);
    expect(problems).toEqual([
      {
        where: 'a.yaml:6',
        message:
          'is not UTF-8: save the file in this encoding; 1 object(s) keep their last valid version until this is fixed',
      },
    ]);
    expect([...objects.values()].map(objectSlug)).toEqual(['/a']);
    await writeFile(join(dir, 'a.yaml'), endpoint('a', '/café'));
    await until('the new version', () => [...objects.values()].map(objectSlug)[0] === '/café');
    expect(problems).toEqual([]);
  });

  it('notices new folders and their content', async () => {
    await start();
    for (let index = 0; index < 5; index++) {
      await mkdir(file(`new-${index}/deep`), { recursive: true });
      await write(`new-${index}/deep/a.yaml`, endpoint(`n${index}`));
    }
    await until('all', () => objects.size === 5);
    await rm(file('new-3'), { recursive: true });
    await until('the removal', () => objects.size === 4);
  });

  it('keeps all objects active while the directory is missing, and reports it', async () => {
    await write('a.yaml', endpoint('a'));
    await write('b.yaml', endpoint('b'));
    await start();
    await rename(dir, `${dir}-moved`);
    await until('the problem', () => problems.length > 0);
    expect(problems[0]?.message).toBe('the directory is missing; its objects stay active until it is back');
    expect(objects.size).toBe(2);
    await mkdir(dir);
    await write('a.yaml', endpoint('a', '/new'));
    await hasSlug('a', '/new');
    await until('the removal', () => !objects.has('b'));
    await until('no problem', () => problems.length === 0);
    await write('a.yaml', endpoint('a', '/newer'));
    await hasSlug('a', '/newer');
  });

  it('keeps the count of key regenerations when an Account is removed and added again, even after a restart', async () => {
    const status = { apiKey: { regenerations: ['2026-11-21T12:00:00Z'] } };
    const account = { kind: 'Account', namespace: 'default', name: 'team' } as const;
    const text = JSON.stringify({ apiVersion: GROUP_VERSION, kind: 'Account', metadata: { name: 'team' }, spec: {} });
    await write('team.json', text);
    await write('a.yaml', endpoint('a'));
    const source = await start();
    await source.objects.writeStatus(account, { ...status, usage: { accepted: 1 } });
    await source.objects.writeStatus(ref('a'), { url: 'http://x' });
    const move = async (restarts: boolean): Promise<void> => {
      await rename(dir, `${dir}-moved`);
      await mkdir(dir);
      await until('the removal', () => objects.size === 0);
      if (restarts) await restart();
      await write('team.json', text);
      await write('a.yaml', endpoint('a'));
      await until('both', () => objects.size === 2);
      await rm(`${dir}-moved`, { recursive: true });
    };
    await move(false);
    expect(objects.get('team')).toMatchObject({ status, metadata: { generation: 2 } });
    expect(objects.get('team')?.status).toEqual(status);
    expect(objects.get('a')?.status).toBeUndefined();
    await move(true);
    expect(objects.get('team')).toMatchObject({ status, metadata: { generation: 3 } });
  });

  it('follows links to files, as in the volume of a ConfigMap', async () => {
    await mkdir(file('..v1'));
    await mkdir(file('..v2'));
    await write('..v1/a.yaml', endpoint('a', '/v1'));
    await write('..v2/a.yaml', endpoint('a', '/v2'));
    await symlink('..v1', file('..data'));
    await symlink('..data/a.yaml', file('a.yaml'));
    await start();
    await hasSlug('a', '/v1');
    await symlink('..v2', file('..data_tmp'));
    await rename(file('..data_tmp'), file('..data'));
    await hasSlug('a', '/v2');
  });

  describe('an object that the dashboard writes', () => {
    const desired = (name: string, slug: string) => ({
      apiVersion: GROUP_VERSION,
      kind: 'Endpoint' as const,
      metadata: { name, namespace: 'default' },
      spec: { slug },
    });

    it('keeps comments, the file and its mode', async () => {
      await write('two.yaml', `# first\n${endpoint('a')}---\n# second\n${endpoint('b')}`);
      const source = await start();
      const { mode } = await stat(file('two.yaml'));
      await source.objects.apply(desired('b', '/new'));
      expect(await readFile(file('two.yaml'), 'utf8')).toBe(
        `# first\n${endpoint('a')}---\n# second\n${endpoint('b', '/new')}`,
      );
      expect((await stat(file('two.yaml'))).mode).toBe(mode);
      expect(objectSlug(objects.get('b'))).toBe('/new');
      await source.objects.delete(ref('a'));
      expect(await readFile(file('two.yaml'), 'utf8')).toBe(`# second\n${endpoint('b', '/new')}`);
      await source.objects.delete(ref('b'));
      expect(await readdir(dir)).toEqual([]);
    });

    it('gets its own file when it is new, and never overwrites another', async () => {
      await write('endpoint-a.yaml', endpoint('something-else'));
      const source = await start();
      await source.objects.apply(desired('a', '/a'));
      await source.objects.apply(desired('b', '/b'));
      expect((await readdir(dir)).sort()).toEqual(['endpoint-a.yaml', 'endpoint-b.yaml', 'endpoint-default-a.yaml']);
      expect(await readFile(file('endpoint-b.yaml'), 'utf8')).toBe(
        'apiVersion: standin.dev/v1alpha1\nkind: Endpoint\nmetadata:\n  name: b\nspec:\n  slug: /b\n',
      );
    });

    it('is rejected while the file is broken, and if objects share parts', async () => {
      await write('broken.yaml', endpoint('a'));
      const item = (name: string, spec: string) =>
        `- {apiVersion: ${GROUP_VERSION}, kind: Endpoint, metadata: {name: ${name}}, spec: ${spec}}\n`;
      const list = `apiVersion: v1\nkind: List\nitems:\n${item('b', '&s {slug: /b}')}${item('c', '*s')}`;
      await write('shared.yaml', list);
      const source = await start();
      await write('broken.yaml', `${endpoint('a')}  x: [\n`);
      await until('the problem', () => problems.length > 0);
      await expect(source.objects.apply(desired('a', '/x'))).rejects.toMatchObject({
        kind: 'Invalid',
        message: 'broken.yaml is broken; fix it first',
      });
      await expect(source.objects.apply(desired('b', '/x'))).rejects.toMatchObject({
        kind: 'Invalid',
        message: expect.stringContaining('edit shared.yaml in a text editor') as string,
      });
      expect(await readFile(file('shared.yaml'), 'utf8')).toBe(list);
    });

    it('is written only after the previous write', async () => {
      const source = await start();
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => source.objects.apply(desired(`n${index % 4}`, `/${index}`))),
      );
      expect([...objects.values()].map(objectSlug).sort()).toEqual(['/16', '/17', '/18', '/19']);
    });
  });

  describe('secrets', () => {
    it('are readable only by the user, and deleted with their owner', async () => {
      await write('a.yaml', endpoint('a'));
      const source = await start();
      const owner = objects.get('a');
      if (owner === undefined) throw new Error('no owner');
      await source.secrets.create(owner, 'a-api-key', { 'api-key': 'x' });
      const path = file('secrets/default/a-api-key.json', dataDir);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await readFile(path, 'utf8')).not.toContain('"x"');
      // Checking out another branch removes the file, and switching back restores it. The key is kept.
      await rm(file('a.yaml'));
      await until('the removal', () => objects.size === 0);
      await write('a.yaml', endpoint('a'));
      await until('a', () => objects.has('a'));
      await expect(source.secrets.read('default', 'a-api-key', 'api-key')).resolves.toEqual(Buffer.from('x'));
      await source.objects.delete(ref('a'));
      await expect(source.secrets.read('default', 'a-api-key', 'api-key')).resolves.toBeUndefined();
    });

    it('are read from manifests, updated, and not overwritten', async () => {
      const secret = (value: string) =>
        `apiVersion: v1\nkind: Secret\nmetadata: {name: own}\nstringData: {api-key: ${value}}\n`;
      await write('s.yaml', `${secret('one')}---\n${endpoint('a')}`);
      const source = await start();
      const read = () =>
        source.secrets.read('default', 'own', 'api-key').then((value) => Buffer.from(value ?? []).toString());
      expect(await read()).toBe('one');
      await write('s.yaml', `${secret('two')}---\n${endpoint('a', '/later')}`);
      await hasSlug('a', '/later');
      expect(await read()).toBe('two');
      const owner = objects.get('a');
      if (owner === undefined) throw new Error('no owner');
      await expect(source.secrets.create(owner, 'own', {})).rejects.toMatchObject({ kind: 'Conflict' });
      expect(problems).toEqual([]);
    });

    it('are rejected if their names lead outside the folder', async () => {
      const source = open();
      await expect(source.secrets.read('..', 'x', 'y')).rejects.toMatchObject({ kind: 'Invalid' });
      await expect(source.secrets.read('default', '../../x', 'y')).rejects.toMatchObject({ kind: 'Invalid' });
    });
  });

  it('can be stopped at any time during its start', async () => {
    await write('a.yaml', endpoint('a'));
    for (let afterMs = 0; afterMs < 40; afterMs += 1) {
      const stop = new AbortController();
      const started = start(stop);
      await pause(afterMs);
      stop.abort();
      await started;
    }
  });

  it('writes events to the log', async () => {
    await write('a.yaml', endpoint('a'));
    const source = await start();
    const object = objects.get('a');
    if (object === undefined) throw new Error('no object');
    await source.events.record(object, { type: 'Warning', reason: 'Invalid', message: 'spec.slug: no' });
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      level: 40,
      reason: 'Invalid',
      detail: 'spec.slug: no',
      name: 'a',
    });
  });
});

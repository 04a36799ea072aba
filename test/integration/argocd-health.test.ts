import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KINDS } from '@standin/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { buildGoProgram } from '../cluster/go-program.ts';
import { runCommand } from '../cluster/run-command.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { installStandin } from '../harness/install-standin.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

const FOLDER = path.join(import.meta.dirname, '../../docs/guides/gitops/argocd');
const read = (name: string): string => readFileSync(path.join(FOLDER, name), 'utf8');

interface HealthTest {
  readonly healthStatus: { readonly status: string; readonly message: string };
  readonly inputPath: string;
}
const { tests } = parse(read('health_test.yaml')) as { readonly tests: readonly HealthTest[] };

/** Returns a value in Lua syntax. Strings are written byte by byte, because Lua 5.1 strings contain bytes, not characters. */
const luaValue = (value: unknown): string => {
  if (typeof value === 'string') return `"${[...Buffer.from(value)].map((byte) => `\\${byte}`).join('')}"`;
  if (Array.isArray(value)) return `{${value.map(luaValue).join(',')}}`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || value === null) return 'nil';
  return `{${Object.entries(value)
    .map(([key, field]) => `[${luaValue(key)}]=${luaValue(field)}`)
    .join(',')}}`;
};

/** Returns the result of health.lua for an object, in the Lua implementation that Argo CD embeds. */
const evaluateHealth = async (object: unknown): Promise<HealthTest['healthStatus']> => {
  const file = path.join(await createTempFolder('lua'), 'run.lua');
  const script = `obj = ${luaValue(object)}\nlocal hs = (function()\n${read('health.lua')}\nend)()\n`;
  await writeFile(file, `${script}io.write(hs.status, "\\n", hs.message)`);
  const { code, stdout, stderr } = await runCommand(await buildGoProgram('lua', console.log), [file]);
  expect(code, stderr + stdout).toBe(0);
  const [status = '', message = ''] = stdout.split('\n');
  return { status, message };
};

describe('the health that Argo CD shows', () => {
  it.for(tests)('of $inputPath is $healthStatus.status', async ({ healthStatus, inputPath }) => {
    expect(await evaluateHealth(parse(read(inputPath)))).toEqual(healthStatus);
  });

  it('is tested with every file in testdata', () => {
    const tried = tests.map(({ inputPath }) => path.basename(inputPath));
    expect(tried.sort()).toEqual(readdirSync(path.join(FOLDER, 'testdata')).sort());
  });
});

describe('on a cluster', () => {
  let cluster: OwnCluster;

  beforeAll(async () => {
    cluster = await startCluster();
    await installStandin(cluster);
  });
  afterAll(() => cluster.stop());

  it('the API server accepts the test data, and new objects are Progressing', async () => {
    for (const { inputPath } of tests) {
      const { metadata, ...rest } = parse(read(inputPath)) as { metadata: { name: string } };
      const input = JSON.stringify({ ...rest, metadata: { name: metadata.name, namespace: 'default' } });
      const create = ['create', '--dry-run=server', '--validate=strict', '-o', 'json', '-f', '-'];
      const { code, stdout, stderr } = await cluster.kubectl(create, { input });
      expect(code, `${inputPath}: ${stderr}`).toBe(0);
      expect(await evaluateHealth(JSON.parse(stdout)), inputPath).toMatchObject({ status: 'Progressing' });
    }
  });

  it('the commands in docs/guides/gitops.md add the script to argocd-cm for every kind', async () => {
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } }));
    const existing = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'argocd-cm', namespace: 'argocd' } };
    await cluster.apply(JSON.stringify({ ...existing, data: { url: 'https://argocd.example.com' } }));
    const commands =
      /```bash\n([\s\S]*?)```/.exec(readFileSync(path.join(FOLDER, '../../gitops.md'), 'utf8'))?.[1] ?? '';
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfigPath };
    const { code, stderr } = await runCommand('bash', ['-euc', commands], {
      env,
      cwd: path.join(FOLDER, '../../../..'),
    });
    expect(code, stderr).toBe(0);
    const { stdout } = await cluster.kubectl(['get', 'configmap', 'argocd-cm', '-n', 'argocd', '-o', 'json']);
    const { data } = JSON.parse(stdout) as { data: Record<string, string> };
    const scripts = KINDS.map((kind) => [`resource.customizations.health.standin.dev_${kind}`, read('health.lua')]);
    expect(data).toEqual({ url: 'https://argocd.example.com', ...Object.fromEntries(scripts) });
  });
});

import { createHash } from 'node:crypto';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import packageJson from '../../cli/package.json' with { type: 'json' };
import { packPlugin } from '../../cli/plugin/pack-plugin.ts';
import { findKubectl } from '../cluster/kubectl.ts';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import { startTlsUpstream } from '../e2e/tls-upstream.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/**
 * Tests `kubectl standin` as krew installs it. The plugin is packed, unpacked, and linked in a folder of the PATH, where kubectl
 * finds it.
 */

const URL_OF_RELEASE = 'https://example.com/releases/v0.1.0';
const ROOT = path.join(import.meta.dirname, '../..');

/**
 * The checks that krew runs on a manifest before the installation (ValidatePlugin in internal/index/validation/validate.go), and
 * the fields that it supports.
 */
const line = z.string().regex(/^[^\r\n]+$/);
const krewManifest = z.strictObject({
  apiVersion: z.literal('krew.googlecontainertools.github.com/v1alpha2'),
  kind: z.literal('Plugin'),
  metadata: z.strictObject({ name: z.string().regex(/^[\w-]+$/) }),
  spec: z.strictObject({
    version: z.string().regex(/^v\d+\.\d+\.\d+(-[\w.]+)?$/),
    // `kubectl krew search` truncates longer descriptions.
    shortDescription: line.max(50),
    description: z.string().min(1),
    caveats: z.string().min(1),
    platforms: z
      .array(
        z.strictObject({
          uri: z.url(),
          sha256: z.string().regex(/^[a-f0-9]{64}$/),
          bin: z.string().min(1),
          selector: z.strictObject({
            matchExpressions: z
              .array(
                z.strictObject({ key: z.enum(['os', 'arch']), operator: z.literal('In'), values: z.array(z.string()) }),
              )
              .min(1),
          }),
        }),
      )
      .min(1),
  }),
});

let archive: string;
let manifest: z.infer<typeof krewManifest>;
let folder: string;
let env: NodeJS.ProcessEnv;
let kubectlStandin: (...args: string[]) => Promise<CommandResult>;

beforeAll(async () => {
  folder = await createTempFolder('plugin');
  const packed = await packPlugin({ outDir: path.join(folder, 'release'), url: `${URL_OF_RELEASE}/` });
  archive = packed.archive;
  manifest = krewManifest.parse(parse(await readFile(packed.manifest, 'utf8')));

  const [store, bin] = [path.join(folder, 'store'), path.join(folder, 'bin')];
  await Promise.all([mkdir(store), mkdir(bin)]);
  expect((await runCommand('tar', ['-xzf', archive, '-C', store])).code).toBe(0);
  await symlink(path.join(store, manifest.spec.platforms[0]?.bin ?? ''), path.join(bin, 'kubectl-standin'));
  const kubectl = await findKubectl(console.log);
  const PATH = [bin, path.dirname(process.execPath), process.env['PATH']].join(path.delimiter);
  env = { PATH, HOME: folder };
  kubectlStandin = (...args) => runCommand(kubectl, ['standin', ...args], { cwd: ROOT, env });
}, 300_000);

describe('the archive', () => {
  it('matches the URL, digest and version in the manifest', async () => {
    const { name, spec } = { ...manifest.metadata, ...manifest };
    expect([name, spec.version]).toEqual(['standin', `v${packageJson.version}`]);
    const sha256 = createHash('sha256')
      .update(await readFile(archive))
      .digest('hex');
    for (const platform of spec.platforms) {
      expect(platform).toMatchObject({ uri: `${URL_OF_RELEASE}/${path.basename(archive)}`, sha256 });
    }
  });

  // krew unpacks no other file types and no names that contain two dots.
  it('contains only folders and regular files, and the third-party licences', async () => {
    const { stdout } = await runCommand('tar', ['-tvzf', archive]);
    const entries = stdout.trim().split('\n');
    expect(entries.length).toBeGreaterThan(20);
    expect(entries.filter((entry) => !/^[-d]/.test(entry) || entry.includes('..'))).toEqual([]);
    const licences = await runCommand('tar', ['-xzOf', archive, './lib/THIRD-PARTY-LICENCES']);
    for (const name of ['undici', '@kubernetes/client-node', 'commander', 'zod']) {
      expect(licences.stdout).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'));
    }
  });
});

describe('kubectl standin', () => {
  it('is found by kubectl and uses its own name in the help', async () => {
    expect((await kubectlStandin('--version')).stdout.trim()).toBe(packageJson.version);
    const { stdout } = await kubectlStandin('--help');
    expect(stdout).toContain('Usage: kubectl standin');
    expect(stdout).toContain('replay [options]');
  });

  it('is completed by kubectl with the script in the guide', async () => {
    const guide = await readFile(path.join(ROOT, 'docs/guides/kubectl.md'), 'utf8');
    const [, script = ''] = /```sh\n(#!\/bin\/sh\n[^`]*)```/.exec(guide) ?? [];
    await writeFile(path.join(folder, 'bin/kubectl_complete-standin'), script, { mode: 0o755 });
    const kubectl = await findKubectl(console.log);
    const complete = async (...words: string[]): Promise<string> =>
      (await runCommand(kubectl, ['__complete', 'standin', ...words], { cwd: ROOT, env })).stdout;
    expect(await complete('lo')).toMatch(/^logs\tlist captured requests/m);
    expect(await complete('logs', '--lim')).toMatch(/^--limit\t/m);
  });

  it('contains everything that its commands need', async () => {
    expect(await kubectlStandin('validate', 'crds/examples/quickstart')).toEqual({
      code: 0,
      stdout: '5 files: 0 errors, 0 warnings\n',
      stderr: '',
    });
    expect((await kubectlStandin('admin', 'migrate', '--print')).stdout).toContain(
      'CREATE TABLE IF NOT EXISTS standin.log ',
    );
    const unreachable = ['--server', 'http://127.0.0.1:9', '--token', 'x'];
    for (const command of [['logs'], ['usage'], ['replay', 'x'], ['share', 'x'], ['key', 'regenerate']]) {
      const { code, stderr } = await kubectlStandin(...command, ...unreachable);
      expect({ command, code, lines: stderr.trim().split('\n').length }).toEqual({ command, code: 1, lines: 1 });
    }
  });

  it('calls a dashboard over HTTPS with the token of the current kubeconfig', async () => {
    const dashboard = await startTlsUpstream(({ headers }, response) => {
      const isKnown = headers.authorization === 'Bearer mine';
      const problem = { code: 'refused', detail: isKnown ? 'The token arrived.' : 'No token.' };
      response.writeHead(isKnown ? 403 : 401, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify(problem));
    });
    onTestFinished(() => dashboard.close());
    const files = { ca: path.join(folder, 'ca.crt'), kubeconfig: path.join(folder, 'kubeconfig') };
    await writeFile(files.ca, dashboard.ca);
    const cluster = { name: 'c', cluster: { server: 'https://127.0.0.1:9' } };
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [cluster],
      'current-context': 'here',
      users: [{ name: 'me', user: { token: 'mine' } }],
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'me' } }],
    };
    await writeFile(files.kubeconfig, JSON.stringify(kubeconfig));
    env = { ...env, NODE_EXTRA_CA_CERTS: files.ca, KUBECONFIG: files.kubeconfig, XDG_STATE_HOME: folder };
    expect((await kubectlStandin('logs', '--server', dashboard.url)).stderr).toContain('Add --trust-server');
    const { code, stderr } = await kubectlStandin('logs', '--server', dashboard.url, '--trust-server');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('The token arrived') as unknown,
    });
  });
});

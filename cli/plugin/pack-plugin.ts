import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs, promisify } from 'node:util';
import { ownMember } from '@standin/contract';
import packageJson from '../package.json' with { type: 'json' };

const CLI = path.resolve(import.meta.dirname, '..');
const ROOT = path.dirname(CLI);
const VERSION = `v${packageJson.version}`;
const ENTRY = 'kubectl-standin.js';
/** Options of tar that make the archive reproducible: the same files always produce the same archive. */
const REPRODUCIBLE = [
  '--sort=name',
  '--mtime=@0',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=u=rwX,go=rX',
  '--format=ustar',
];

const run = promisify(execFile);

export interface PackOptions {
  /** Folder for the archive and the manifest. Created if it does not exist. */
  readonly outDir: string;
  /** URL of the folder from which krew downloads the archive. */
  readonly url: string;
}

export interface PackedPlugin {
  /** Path of the archive. */
  readonly archive: string;
  /** Path of the krew manifest, which contains the archive's digest. */
  readonly manifest: string;
}

/**
 * Packs `kubectl standin` for krew: one archive for all platforms, which needs only Node. krew unpacks only plain files, not
 * links, and Node does not strip types in `node_modules`, so all code is bundled. Requires GNU tar.
 */
export const packPlugin = async ({ outDir, url }: PackOptions): Promise<PackedPlugin> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-plugin-'));
  try {
    await fill(folder);
    await mkdir(outDir, { recursive: true });
    const name = `kubectl-standin-${VERSION}.tar.gz`;
    const archive = path.resolve(outDir, name);
    await run('tar', [...REPRODUCIBLE, '--use-compress-program=gzip -n', '-cf', archive, '-C', folder, '.']);
    const manifest = path.join(outDir, 'standin.yaml');
    const sha256 = createHash('sha256')
      .update(await readFile(archive))
      .digest('hex');
    const fields = { VERSION, URI: `${url.replace(/\/+$/, '')}/${name}`, SHA256: sha256 };
    await writeFile(manifest, fillIn(await readFile(path.join(CLI, 'plugin/krew.yaml'), 'utf8'), fields));
    return { archive, manifest };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const fill = async (folder: string): Promise<void> => {
  await bundle(path.join(folder, 'lib'));
  await cp(path.join(CLI, 'plugin', ENTRY), path.join(folder, ENTRY));
  await chmod(path.join(folder, ENTRY), 0o755);
  // The bundled code reads the migrations from a folder next to lib/.
  await cp(path.join(ROOT, 'packages/logstore/migrations'), path.join(folder, 'migrations'), { recursive: true });
  await cp(path.join(ROOT, 'LICENSE'), path.join(folder, 'LICENSE'));
  await writeFile(
    path.join(folder, 'package.json'),
    `${JSON.stringify({ type: 'module', version: packageJson.version })}\n`,
  );
};

/**
 * Bundles the commands into a folder, in a separate process with NODE_ENV=production. Without this setting, Vite replaces optional
 * packages that are not installed with code that throws, and the bundle fails.
 */
const bundle = async (outDir: string): Promise<void> => {
  const vite = path.join(path.dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js');
  const config = path.join(CLI, 'plugin/vite.config.ts');
  await run(process.execPath, [vite, 'build', '--config', config, '--outDir', outDir, '--logLevel', 'error'], {
    env: { ...process.env, NODE_ENV: 'production' },
  });
};

const fillIn = (template: string, fields: Readonly<Record<string, string>>): string =>
  template.replace(/@([A-Z0-9]+)@/g, (whole, name: string) => ownMember(fields, name) ?? whole);

const USAGE = `Usage: npm run plugin -- --url URL [--out DIR]

Builds kubectl standin for krew, as a release publishes it.

  --url URL  folder from which users will download the archive
  --out DIR  where to write the archive and the manifest (default: plugin)
`;

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: 'plugin' },
      url: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit();
  }
  if (values.url === undefined) {
    process.stderr.write(USAGE);
    process.exit(2);
  }
  const { archive, manifest } = await packPlugin({ outDir: values.out, url: values.url });
  process.stdout.write(`${archive}\n${manifest}\n`);
}

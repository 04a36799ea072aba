import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { constants, homedir, setPriority } from 'node:os';
import path from 'node:path';
import { acquireLock } from './lock-file.ts';
import { runCommand } from './run-command.ts';

/** Programs that are built from the Go modules next to this file. */
export type GoProgram =
  'cluster' | 'dns' | 'kubectl' | 'helm' | 'kubeconform' | 'lua' | 'kstatus' | 'servemux' | 'actionlint';

/** Thrown if the machine lacks a tool that must be installed manually. `message` names it and explains how to get it. */
export class MissingToolError extends Error {
  override readonly name = 'MissingToolError';
}

/** Receives progress messages, about every ten seconds while a build runs. */
export type Progress = (line: string) => void;

interface GoSource {
  /** The folder of the Go module. */
  readonly module: string;
  readonly package: string;
  /** Linker flags that set the program's version variables, or an empty string. */
  readonly versions: string;
  /** A description of the build and of its duration. */
  readonly estimate: string;
}

const PROGRAM = path.join(import.meta.dirname, 'program');
// Without the version, `kubectl version` reports v0.0.0-master+$Format and fails to parse it.
const KUBERNETES_VERSIONS = '-X k8s.io/component-base/version.gitVersion=v1.35.3';
const SOURCES: Readonly<Record<GoProgram, GoSource>> = {
  cluster: {
    module: PROGRAM,
    package: '.',
    versions: KUBERNETES_VERSIONS,
    estimate: 'Kubernetes and etcd once, about 6 minutes on two cores',
  },
  dns: {
    module: path.join(import.meta.dirname, 'dns'),
    package: '.',
    versions: '',
    estimate: 'CoreDNS once, about 2 minutes',
  },
  kubectl: {
    module: PROGRAM,
    package: 'k8s.io/kubernetes/cmd/kubectl',
    versions: KUBERNETES_VERSIONS,
    estimate: 'kubectl once, about 1 minute',
  },
  helm: {
    module: path.join(import.meta.dirname, 'tools'),
    package: 'helm.sh/helm/v3/cmd/helm',
    // Helm uses this version, which is that of the cluster program, in `.Capabilities` if it is not connected to a cluster.
    versions:
      '-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=35 ' +
      '-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=35',
    estimate: 'helm once, about 2 minutes',
  },
  kubeconform: {
    module: path.join(import.meta.dirname, 'kubeconform'),
    package: 'github.com/yannh/kubeconform/cmd/kubeconform',
    versions: '',
    estimate: 'kubeconform once, a few seconds',
  },
  lua: {
    module: path.join(import.meta.dirname, 'lua'),
    package: 'github.com/yuin/gopher-lua/cmd/glua',
    versions: '',
    estimate: 'the Lua version of Argo CD once, a few seconds',
  },
  kstatus: {
    module: path.join(import.meta.dirname, 'kstatus'),
    package: '.',
    versions: '',
    estimate: 'kstatus once, about 1 minute',
  },
  servemux: {
    module: path.join(import.meta.dirname, 'servemux'),
    package: '.',
    versions: '',
    estimate: "Go's HTTP router once, a few seconds",
  },
  actionlint: {
    module: path.join(import.meta.dirname, 'actionlint'),
    package: 'github.com/rhysd/actionlint/cmd/actionlint',
    versions: '',
    estimate: 'actionlint once, a few seconds',
  },
};
const BUILD_TIMEOUT_MS = 30 * 60_000;
const PROGRESS_INTERVAL_MS = 10_000;

/** Older versions of Go cannot download the version that go.mod requires. */
const GO_MINOR_MIN = 21;
const GO_HINT = `Go 1.${GO_MINOR_MIN} or newer is required to build the Kubernetes API server for tests: https://go.dev/dl/ (or your distribution's golang package). Without Go, tests can use your own cluster (STANDIN_TEST_KUBECONFIG=FILE) or Docker (npm test -- --containers).`;

/** Returns the output of `go version`. Throws MissingToolError if there is no usable Go. */
export const goVersion = async (): Promise<string> => {
  const { code, stdout } = await runCommand('go', ['version']).catch(() => ({ code: 1, stdout: '' }));
  const minor = /go1\.(\d+)/.exec(stdout)?.[1];
  if (code !== 0) throw new MissingToolError(`Go is not installed. ${GO_HINT}`);
  if (minor !== undefined && Number(minor) < GO_MINOR_MIN) {
    throw new MissingToolError(`${stdout.trim()} is too old. ${GO_HINT}`);
  }
  return stdout.trim();
};

/** Returns the cache folder of the tests. It is outside the checkout, so that a fresh clone on the same machine needs no build. */
export const cacheFolder = (): string =>
  path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'standin');

const binaryPath = async (name: GoProgram): Promise<string> =>
  path.join(cacheFolder(), `${name}-${await sourceHash(SOURCES[name].module)}`);

/** Returns whether the program must be built. Returns false if a build is impossible. */
export const lacksGoProgram = async (name: GoProgram): Promise<boolean> =>
  binaryPath(name).then(
    (binary) => !existsSync(binary),
    (error: unknown) => {
      if (error instanceof MissingToolError) return false;
      throw error;
    },
  );

/**
 * Returns the path of a program. If it is not cached for these sources and this Go version, builds it first, at the lowest
 * priority, so that concurrent tests take precedence. Concurrent callers share one build. Throws MissingToolError if there is no
 * usable Go, and an Error with the last lines of the compiler output if the build fails.
 */
export const buildGoProgram = async (name: GoProgram, onProgress: Progress): Promise<string> => {
  const binary = await binaryPath(name);
  if (existsSync(binary)) return binary;
  await mkdir(cacheFolder(), { recursive: true });
  // The lock only avoids a second build. The rename in `compile` alone keeps the cache consistent.
  const release = await acquireLock(`${binary}.lock`, {
    onWait: (owner) => onProgress(`waiting for the build in process ${owner}`),
    timeoutMs: BUILD_TIMEOUT_MS,
  });
  try {
    // Another process may have finished the build during the wait.
    if (!existsSync(binary)) await compile(name, binary, onProgress);
    return binary;
  } finally {
    await release();
  }
};

const sourceHash = async (module: string): Promise<string> => {
  const hash = createHash('sha256').update(await goVersion());
  const files = ['go.mod', 'go.sum', 'main.go'].map((name) => path.join(module, name));
  for (const file of files.filter((name) => existsSync(name))) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
};

const compile = async (name: GoProgram, binary: string, onProgress: Progress): Promise<void> => {
  const folder = await mkdtemp(`${binary}.build-`);
  const started = Date.now();
  const source = SOURCES[name];
  onProgress(`building ${source.estimate} …`);
  const ticker = setInterval(() => {
    onProgress(`  still building ${name}, ${Math.round((Date.now() - started) / 1000)} s`);
  }, PROGRESS_INTERVAL_MS);
  try {
    const ldflags = `-s -w ${source.versions}`;
    const output = path.join(folder, name);
    await goBuild(source, ['build', '-trimpath', '-buildvcs=false', '-ldflags', ldflags, '-o', output, source.package]);
    await rename(output, binary);
    onProgress(`built ${name} in ${Math.round((Date.now() - started) / 1000)} s; kept in ${cacheFolder()}`);
  } finally {
    clearInterval(ticker);
    await rm(folder, { recursive: true, force: true });
  }
};

const goBuild = ({ module }: GoSource, args: readonly string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn('go', args, {
      cwd: module,
      // Without cgo, the build needs no C compiler.
      env: { ...process.env, CGO_ENABLED: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: BUILD_TIMEOUT_MS,
    });
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
    const kill = (): boolean => child.kill();
    process.once('exit', kill);
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4_000)));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      process.off('exit', kill);
      if (code === 0) resolve();
      else reject(new Error(`go ${args.slice(0, 1).join(' ')} ended with ${code ?? signal ?? 'nothing'}:\n${errors}`));
    });
  });

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { GROWTH_ENTRIES, HOSTILE_FOLDERS, NOT_MEASURED } from './growth/registry.ts';
import { cyclesIn, fileGraph, folderGraph } from './suite/import-cycles.ts';
import { moduleImports } from './suite/module-imports.ts';
import { isCode, ROOT, sourceFiles, type SourceFile } from './suite/source-files.ts';

const PACKAGES = [
  ...['@standin/contract', '@standin/exchange', '@standin/logstore'],
  ...['@standin/egress', '@standin/kube', '@standin/process'],
];

/** Workspace folder → the workspaces that it may import: the table in docs/architecture.md. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'packages/contract': [],
  'packages/exchange': ['@standin/contract'],
  'packages/logstore': ['@standin/contract', '@standin/exchange'],
  'packages/engine': ['@standin/contract', '@standin/process'],
  'packages/egress': ['@standin/contract'],
  'packages/kube': ['@standin/contract'],
  'packages/process': ['@standin/contract'],
  crds: ['@standin/contract'],
  operator: ['@standin/crds', ...PACKAGES],
  gateway: PACKAGES,
  dashboard: ['@standin/crds', ...PACKAGES],
  cli: ['@standin/engine', '@standin/crds', '@standin/operator', '@standin/gateway', '@standin/dashboard', ...PACKAGES],
  test: [
    '@standin/engine',
    '@standin/crds',
    '@standin/operator',
    '@standin/gateway',
    '@standin/dashboard',
    ...PACKAGES,
  ],
};
const WORKSPACES = Object.keys(MAY_IMPORT);

/** The subfolders of each of these folders depend on each other in one direction. */
const FOLDER_BASES = WORKSPACES.filter((folder) => folder !== 'test').flatMap((folder) =>
  folder === 'dashboard' ? ['dashboard/app', 'dashboard/src'] : [`${folder}/src`],
);

const LINES_MAX = 500;
/** Generated files and plain tables, which are not read from top to bottom. */
const MAY_BE_LONG: readonly string[] = [
  'package-lock.json',
  'test/cluster/program/go.sum',
  'charts/standin/values.schema.json',
];

const files = sourceFiles();
const code = files.filter(isCode);

const workspaceOf = (file: string): string | undefined => WORKSPACES.find((folder) => file.startsWith(`${folder}/`));
const isOurs = (specifier: string): boolean => specifier === 'standin' || specifier.startsWith('@standin/');
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
/** Includes files that only tests load: `raw-upstream.testing.ts`. */
const isTestCode = (file: string): boolean =>
  file.startsWith('test/') || /\.(test|testing)\.tsx?$/.test(file) || file.includes('/testdata/');
const isRemixModule = (file: string): boolean => /^dashboard\/app\/(routes\/|routes\.|root\.|entry\.)/.test(file);
/** Runs in a checkout only: `npm run generate` writes the charts there. */
const isGenerator = (file: string): boolean => file.startsWith('cli/src/chart/');
const isConfigFile = (file: string): boolean => /\.config\.(ts|js)$/.test(file);

const imports = fileGraph(code);

/** `PATH:LINE: the line` for each matching line. */
const linesMatching = ({ path: file, text }: SourceFile, pattern: RegExp): string[] =>
  text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : []));

describe('the rules below', () => {
  // Prevents: all checks pass because a pattern finds no file.
  it('look at the code of every workspace that there is', () => {
    const present = WORKSPACES.filter((folder) => existsSync(path.join(ROOT, folder, 'package.json')));
    expect(new Set(code.map(({ path: file }) => workspaceOf(file)))).toEqual(new Set([...present, undefined]));
  });

  it('see every form of import', () => {
    const text = [
      "import a from './a.ts';",
      "import type { B } from './b.ts';",
      "export * from './c.ts';",
      "export type { D } from './d.ts';",
      "const e = await import('./e.ts');",
      "import './f.ts';",
      "// import './no.ts';",
    ].join('\n');
    const found = moduleImports('x.ts', text).map(({ specifier, isTypeOnly }) => `${specifier} ${isTypeOnly}`);
    expect(found).toEqual([
      './a.ts false',
      './b.ts true',
      './c.ts false',
      './d.ts true',
      './e.ts false',
      './f.ts false',
    ]);
  });

  it('see cycles between files, and between folders whose files form none', () => {
    const graphOf = (importOf: Readonly<Record<string, string>>) =>
      fileGraph(Object.entries(importOf).map(([file, specifier]) => ({ path: file, text: `import '${specifier}';` })));
    const circle = graphOf({ 'x/a.ts': './b.ts', 'x/b.ts': '../y/c.ts', 'y/c.ts': '../x/a.ts', 'y/d.ts': './c.ts' });
    expect(cyclesIn(circle)).toEqual([['x/a.ts', 'x/b.ts', 'y/c.ts']]);
    const line = graphOf({
      'dashboard/app/a/1.ts': '~/b/2.ts',
      'dashboard/app/b/2.ts': '',
      'dashboard/app/b/3.ts': '../a/1.ts',
    });
    expect(cyclesIn(line)).toEqual([]);
    expect(cyclesIn(folderGraph(line, 'dashboard/app'))).toEqual([['a', 'b']]);
  });
});

describe('dependencies', () => {
  // Prevents: a gateway that needs the operator's code to build, or a contract with I/O in it, because of one convenient import after
  // another.
  it('go between workspaces only in the directions of docs/architecture.md', () => {
    const violations = code.flatMap(({ path: file, text }) => {
      const allowed = MAY_IMPORT[workspaceOf(file) ?? ''] ?? [];
      return moduleImports(file, text)
        .filter(({ specifier }) => isOurs(specifier) && !allowed.includes(packageOf(specifier)))
        .map(({ specifier }) => `${file} imports ${specifier}`);
    });
    expect(violations).toEqual([]);
  });

  // Prevents: imports that bypass the rule above without a package name, and a package's index.ts that is no longer its public API.
  it('do not leave a workspace by a relative path', () => {
    const violations = code.flatMap(({ path: file, text }) => {
      const workspace = workspaceOf(file);
      // The harness also loads generators and start scripts, which are not part of an API.
      if (workspace === undefined || workspace === 'test') return [];
      return moduleImports(file, text)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .filter(({ specifier }) => !path.posix.join(path.posix.dirname(file), specifier).startsWith(`${workspace}/`))
        .map(({ specifier }) => `${file} imports ${specifier}`);
    });
    expect(violations).toEqual([]);
  });

  // Prevents: two folders that can only be understood, tested and moved together.
  it('go between the folders of a workspace in one direction', () => {
    // A test composes parts that its subject knows only by an interface.
    const shipped = new Map([...imports].filter(([file]) => !isTestCode(file)));
    const cycles = FOLDER_BASES.flatMap((base) =>
      cyclesIn(folderGraph(shipped, base)).map((folders) => `${base}: ${folders.join(', ')}`),
    );
    expect(cycles).toEqual([]);
  });

  // Prevents: files that split one concern, and names that are undefined while modules load.
  it('go between files in one direction', () => {
    expect(cyclesIn(imports)).toEqual([]);
  });

  // Prevents: a package that works in this checkout, where all packages are hoisted, but fails in an image with only its own dependencies.
  it('are declared in the package.json of the workspace that imports them', () => {
    const declared = (
      folder: string,
      field: 'dependencies' | 'devDependencies' | 'peerDependencies',
    ): readonly string[] => {
      const manifest = JSON.parse(readFileSync(path.join(ROOT, folder, 'package.json'), 'utf8')) as {
        name: string;
        dependencies?: Record<string, string>;
        devDependencies?: Record<string, string>;
        peerDependencies?: Record<string, string>;
      };
      return [manifest.name, ...Object.keys(manifest[field] ?? {})];
    };
    const development = declared('.', 'devDependencies');
    const violations = code.flatMap(({ path: file, text }) => {
      const workspace = workspaceOf(file);
      if (workspace === undefined) return [];
      const known = [
        ...declared(workspace, 'dependencies'),
        ...declared(workspace, 'peerDependencies'),
        ...(isTestCode(file) || isGenerator(file) || isConfigFile(file)
          ? [...development, ...declared(workspace, 'devDependencies')]
          : []),
      ];
      return moduleImports(file, text)
        .filter(({ specifier }) => !specifier.startsWith('.') && !isBuiltin(specifier))
        .filter(({ specifier }) => !known.includes(packageOf(specifier)))
        .map(({ specifier }) => `${file} imports ${specifier}`);
    });
    expect(violations).toEqual([]);
  });
});

describe('files', () => {
  // Prevents: a single file that collects everything and that no reviewer reads completely.
  it(`have at most ${LINES_MAX} lines`, () => {
    const violations = files
      .filter(({ path: file }) => /\.(ts|tsx|js|go|sum|json|yaml)$/.test(file) && !MAY_BE_LONG.includes(file))
      .filter(
        ({ path: file }) =>
          !/^(crds\/manifests|charts\/.*\/(golden|crds))\/|\/testdata\/|^charts\/standin-crds\/templates\//.test(file),
      )
      .map(({ path: file, text }) => ({ file, lines: text.split('\n').length }))
      .filter(({ lines }) => lines > LINES_MAX)
      .map(({ file, lines }) => `${file}: ${lines} lines`);
    expect(violations).toEqual([]);
  });

  // Prevents: two spellings of one word, and names that differ only in case, which breaks checkouts on macOS and Windows.
  it('have names in kebab-case', () => {
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/;
    const violations = code
      .map(({ path: file }) => file)
      // Remix derives routes from these names.
      .filter((file) => !file.startsWith('dashboard/app/routes/'))
      .filter((file) => !file.split('/').every((part) => kebab.test(part.replace(/^\./, ''))));
    expect(violations).toEqual([]);
  });

  // Prevents: a stage whose input, output and invariants only its author knows.
  it('of a stage begin with a README of 5 to 15 lines', () => {
    const stages = ['operator/src', 'gateway/src'].flatMap((folder) =>
      readdirSync(path.join(ROOT, folder), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => `${folder}/${entry.name}/README.md`),
    );
    const violations = stages.flatMap((readme) => {
      if (!existsSync(path.join(ROOT, readme))) return [`${readme} is missing`];
      const lines = readFileSync(path.join(ROOT, readme), 'utf8').trimEnd().split('\n').length;
      return lines >= 5 && lines <= 15 ? [] : [`${readme}: ${lines} lines`];
    });
    expect(violations).toEqual([]);
  });

  // Prevents: a checkout that works on one machine only, and a lockfile that directs everyone to one particular mirror.
  it('name no folder of a machine and no host of a package registry', () => {
    const machine = /(^|[\s'"`=(:])(\/root\/|\/home\/[a-z]|\/Users\/[a-zA-Z]|\/work\/[a-z]|C:\\Users)/;
    const registry = /https?:\/\/[^\s/'"]*(registry|artifactory|nexus|mirror|goproxy|proxy\.golang)/;
    const violations = files
      .filter(({ path: file }) => file !== 'test/architecture.test.ts')
      .flatMap((file) => [...linesMatching(file, machine), ...linesMatching(file, registry)]);
    expect(violations).toEqual([]);
  });
});

describe('code', () => {
  // Prevents: a test that passes against a mock of the code whose contract changed. Tests inject ports, clocks and ids instead.
  it('mocks no module of ours', () => {
    const violations = code.flatMap((file) =>
      linesMatching(file, /\bvi\.(do)?[mM]ock\(\s*(import\(\s*)?['"`](\.|@?standin)/),
    );
    expect(violations).toEqual([]);
  });

  // Prevents: an export with a different name in each file that imports it. Config files and Remix's modules require default exports.
  it('has no default exports', () => {
    const violations = code
      .filter(({ path: file }) => !isConfigFile(file) && !isRemixModule(file))
      .flatMap((file) => linesMatching(file, /^export default\b|^export \{.*\bas default\b/));
    expect(violations).toEqual([]);
  });

  // Prevents: a move to React Router that affects every component (ADR 004). The process and the build also use Remix.
  it('of the dashboard takes Remix from routes, root, entries and lib/remix.ts only', () => {
    const mayImport = (file: string): boolean =>
      isRemixModule(file) || file === 'dashboard/app/lib/remix.ts' || !file.startsWith('dashboard/app/');
    const violations = code.flatMap(({ path: file, text }) =>
      moduleImports(file, text)
        .filter(({ specifier }) => specifier.startsWith('@remix-run/') && !mayImport(file))
        .map(({ specifier }) => `${file} imports ${specifier}`),
    );
    expect(violations).toEqual([]);
  });

  // Prevents: server code, and the packages behind it, in the code that browsers load. Remix removes *.server.ts and loaders from it.
  it('of the dashboard does I/O and parses in *.server.ts, loaders and actions only', () => {
    const isServerOnly = (file: string): boolean => isRemixModule(file) || /\.(server|test)\.tsx?$/.test(file);
    const violations = code
      .filter(({ path: file }) => file.startsWith('dashboard/app/') && !isServerOnly(file))
      .flatMap(({ path: file, text }) =>
        moduleImports(file, text)
          .filter(({ isTypeOnly }) => !isTypeOnly)
          .filter(
            ({ specifier }) =>
              isBuiltin(specifier) ||
              /\.server\.ts$/.test(specifier) ||
              packageOf(specifier) === '@standin/kube' ||
              ['@standin/crds', '@standin/exchange', '@standin/logstore', 'zod', 'yaml', 'pino'].includes(specifier),
          )
          .map(({ specifier }) => `${file} imports ${specifier}`),
      );
    expect(violations).toEqual([]);
  });

  // Prevents: a new command that prints text from a manifest, a caller or a server, and a terminal that interprets it.
  it('of the CLI prints through terminal.ts only', () => {
    const printers = ['cli/src/terminal.ts', 'cli/src/stderr-logger.ts'];
    const violations = code
      .filter(({ path: file }) => file.startsWith('cli/src/') && !isTestCode(file) && !printers.includes(file))
      .flatMap((file) =>
        linesMatching(
          file,
          /\bconsole\.|\bprocess\.std(out|err)\b|\{.*\bstd(out|err)\b.*\} = process|\bpino\.destination\b/,
        ),
      );
    expect(violations).toEqual([]);
  });

  // Prevents: a setting that docs/configuration.md does not list and whose misspellings are never reported. A process that passes the whole
  // environment to a child process reads nothing.
  it('reads the environment in main.ts and settings.ts only', () => {
    const mayRead = /(^|\/)(main|settings)\.ts$/;
    const violations = code
      .filter(({ path: file }) => !isTestCode(file) && !isConfigFile(file) && !mayRead.test(file))
      .filter(({ path: file }) => !file.startsWith('cli/bin/'))
      .flatMap((file) => linesMatching(file, /(?<!\.\.\.)\bprocess\.env\b/))
      // A comment may name the environment.
      .filter((line) => !/: (\/\/|\*)/.test(line));
    expect(violations).toEqual([]);
  });

  // Prevents: another parser that takes quadratic time, so that one captured body stalls a process.
  it('that reads hostile input has an entry in test/growth, or a reason not to', () => {
    const named =
      /^export (?:async )?(?:const|function\*?|class) ((?:parse|read|decode|scan|lex|tokeni|split|format|redact|diff|match)\w*)/gm;
    const classes = /^export class (\w+(?:Scanner|Skipper|Reader|Parser|Splitter|Lexer|Decoder))\b/gm;
    const parsers = code
      .filter(({ path: file }) => HOSTILE_FOLDERS.some((folder) => file.startsWith(`${folder}/`)) && !isTestCode(file))
      .flatMap(({ path: file, text }) =>
        [...text.matchAll(named), ...text.matchAll(classes)].map(([, name = '']) => `${file}#${name}`),
      );
    const entries = new Set(GROWTH_ENTRIES.map(({ of }) => of));
    const excluded = new Set(Object.values(NOT_MEASURED).flat());
    expect(parsers.filter((parser) => !entries.has(parser) && !excluded.has(parser))).toEqual([]);
    // Detects a renamed function whose entry still has the old name.
    const isExported = (parser: string): boolean => {
      const [file, name = ''] = parser.split('#');
      const source = code.find((candidate) => candidate.path === file)?.text ?? '';
      return new RegExp(`^export (?:async )?(?:const|function\\*?|class) ${name}\\b`, 'm').test(source);
    };
    expect([...entries, ...excluded].filter((parser) => !isExported(parser))).toEqual([]);
  });
});

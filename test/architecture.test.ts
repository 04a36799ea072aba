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
  ...['@standin/egress', '@standin/kube', '@standin/process', '@standin/responses', '@standin/signatures'],
];

/** Maps each workspace folder to the workspaces that it may import, as in docs/internals/architecture.md. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'packages/contract': [],
  'packages/exchange': ['@standin/contract'],
  'packages/logstore': ['@standin/contract', '@standin/exchange'],
  'packages/engine': ['@standin/contract', '@standin/process'],
  'packages/egress': ['@standin/contract'],
  'packages/kube': ['@standin/contract'],
  'packages/process': ['@standin/contract'],
  'packages/responses': ['@standin/contract', '@standin/exchange'],
  'packages/signatures': ['@standin/contract'],
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

/** Between the subfolders of each of these folders, dependencies go in one direction only. */
const FOLDER_BASES = WORKSPACES.filter((folder) => folder !== 'test').flatMap((folder) =>
  folder === 'dashboard' ? ['dashboard/app', 'dashboard/src'] : [`${folder}/src`],
);

const files = sourceFiles();
const code = files.filter(isCode);

const workspaceName = (file: string): string | undefined => WORKSPACES.find((folder) => file.startsWith(`${folder}/`));
const isStandinPackage = (specifier: string): boolean => specifier === 'standin' || specifier.startsWith('@standin/');
const packageName = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
/** Returns whether only tests load a file, such as `raw-upstream.testing.ts`. */
const isTestCode = (file: string): boolean =>
  file.startsWith('test/') || /\.(test|testing)\.tsx?$/.test(file) || file.includes('/testdata/');
const isRemixModule = (file: string): boolean => /^dashboard\/app\/(routes\/|routes\.|root\.|entry\.)/.test(file);
/** Returns whether a file runs only in a checkout, where `npm run generate` writes the charts and the docs. */
const isGenerator = (file: string): boolean => /^(charts|docs)\/generate\//.test(file);
const isReporter = (file: string): boolean => file === 'test/suite/results-reporter.ts';
const isConfigFile = (file: string): boolean => /(\.|\.vitepress\/)config\.(ts|js)$/.test(file);

const imports = fileGraph(code);

/** Returns `PATH:LINE: TEXT` for each matching line. */
const linesMatching = ({ path: file, text }: SourceFile, pattern: RegExp): string[] =>
  text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : []));

const SENSITIVE = String.raw`\b\w*(?:digest|signature|token|secret|hmac|key|expected|claimed)\w*\b(?:\[\w+\]|\.toString\([^)]*\))?`;
/** Matches comparisons of digests, tokens and keys with anything but `undefined`, literals and lengths. */
const UNSAFE_COMPARISON = new RegExp(
  String.raw`${SENSITIVE}\s*[!=]==?(?!=|\s*(?:undefined\b|['\d]))|[!=]==?\s*${SENSITIVE}(?!['.])|\.(?:equals|compare|localeCompare)\(`,
  'i',
);

describe('the checks in this file', () => {
  // Without this test, all checks could pass because a pattern matches no files.
  it('cover the code of every workspace', () => {
    const present = WORKSPACES.filter((folder) => existsSync(path.join(ROOT, folder, 'package.json')));
    expect(new Set(code.map(({ path: file }) => workspaceName(file)))).toEqual(new Set([...present, undefined]));
  });

  it('find every form of import', () => {
    const text = [
      "import a from './a.ts';",
      "import type { B } from './b.ts';",
      "export * from './c.ts';",
      "export type { D } from './d.ts';",
      "const e = await import('./e.ts');",
      "import './f.ts';",
      "type G = import('./g.ts').G;",
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
      './g.ts true',
    ]);
  });

  it('find comparisons that are not safe against timing attacks', () => {
    const unsafe = [
      ...[
        'digest === expected',
        'if (text !== hmacText)',
        "a.toString('hex') == claimedDigest",
        'digest.equals(other)',
      ],
      ...["digest.toString('hex') === text", 'Buffer.compare(a, b)', 'digests[0] === found', 'secret !== header[1]'],
    ];
    const safe = [
      ...['digest === undefined', "token === ''", "claim.kind === 'token'", 'valid.length === digests.length'],
      ...['timingSafeEqual(digest, expected)', 'secretIndex ??= index', 'const key = (secret) => secret'],
    ];
    const found = [...unsafe, ...safe].filter((text) => UNSAFE_COMPARISON.test(text));
    expect(found).toEqual(unsafe);
  });

  it('find cycles between files, and cycles between folders whose files have none', () => {
    const importGraph = (imports: Readonly<Record<string, string>>) =>
      fileGraph(Object.entries(imports).map(([file, specifier]) => ({ path: file, text: `import '${specifier}';` })));
    const withFileCycle = importGraph({
      'x/a.ts': './b.ts',
      'x/b.ts': '../y/c.ts',
      'y/c.ts': '../x/a.ts',
      'y/d.ts': './c.ts',
    });
    expect(cyclesIn(withFileCycle)).toEqual([['x/a.ts', 'x/b.ts', 'y/c.ts']]);
    const withFolderCycle = importGraph({
      'dashboard/app/a/1.ts': '~/b/2.ts',
      'dashboard/app/b/2.ts': '',
      'dashboard/app/b/3.ts': '../a/1.ts',
    });
    expect(cyclesIn(withFolderCycle)).toEqual([]);
    expect(cyclesIn(folderGraph(withFolderCycle, 'dashboard/app'))).toEqual([['a', 'b']]);
  });
});

describe('dependencies', () => {
  // Without this test, convenient imports could gradually make the gateway depend on the operator's code, or the contract on
  // packages with I/O.
  it('between workspaces follow docs/internals/architecture.md', () => {
    const violations = code.flatMap(({ path: file, text }) => {
      const allowed = MAY_IMPORT[isGenerator(file) ? 'test' : (workspaceName(file) ?? '')] ?? [];
      return moduleImports(file, text)
        .filter(({ specifier }) => isStandinPackage(specifier) && !allowed.includes(packageName(specifier)))
        .map(({ specifier }) => `${file} imports ${specifier}`);
    });
    expect(violations).toEqual([]);
  });

  // Without this test, relative imports could bypass the test above, and the public API in a package's index.ts.
  it('on other workspaces do not use relative paths', () => {
    const violations = code.flatMap(({ path: file, text }) => {
      const workspace = workspaceName(file);
      // Tests also load generators and start scripts, which are not part of an API.
      if (workspace === undefined || workspace === 'test') return [];
      return moduleImports(file, text)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .filter(({ specifier }) => !path.posix.join(path.posix.dirname(file), specifier).startsWith(`${workspace}/`))
        .map(({ specifier }) => `${file} imports ${specifier}`);
    });
    expect(violations).toEqual([]);
  });

  // Folders in a cycle cannot be understood, tested or moved on their own.
  it('between the folders of a workspace have no cycles', () => {
    // Tests are excluded, because they combine parts that know each other only through interfaces.
    const shipped = new Map([...imports].filter(([file]) => !isTestCode(file)));
    const cycles = FOLDER_BASES.flatMap((base) =>
      cyclesIn(folderGraph(shipped, base)).map((folders) => `${base}: ${folders.join(', ')}`),
    );
    expect(cycles).toEqual([]);
  });

  // In a cycle, one concern is split across files, and imported names can be undefined while the modules load.
  it('between files have no cycles', () => {
    expect(cyclesIn(imports)).toEqual([]);
  });

  // Without this test, a package could work in this checkout, where all packages are hoisted, but fail in an image with only its
  // own dependencies.
  it('are declared in the package.json of the importing workspace', () => {
    const declared = (
      folder: string,
      field: 'dependencies' | 'devDependencies' | 'optionalDependencies',
    ): readonly string[] => {
      const manifest = JSON.parse(readFileSync(path.join(ROOT, folder, 'package.json'), 'utf8')) as {
        name: string;
        dependencies?: Record<string, string>;
        devDependencies?: Record<string, string>;
        optionalDependencies?: Record<string, string>;
      };
      return [manifest.name, ...Object.keys(manifest[field] ?? {})];
    };
    const development = declared('.', 'devDependencies');
    const violations = code.flatMap(({ path: file, text }) => {
      const workspace = workspaceName(file);
      if (workspace === undefined) return [];
      const known = [
        ...declared(workspace, 'dependencies'),
        ...declared(workspace, 'optionalDependencies'),
        ...(isTestCode(file) || isConfigFile(file) ? [...development, ...declared(workspace, 'devDependencies')] : []),
      ];
      return moduleImports(file, text)
        .filter(({ specifier }) => !specifier.startsWith('.') && !isBuiltin(specifier))
        .filter(({ specifier }) => !known.includes(packageName(specifier)))
        .map(({ specifier }) => `${file} imports ${specifier}`);
    });
    expect(violations).toEqual([]);
  });
});

describe('files', () => {
  // In kebab-case, each word has one spelling, and no two names differ only in case. Such names break checkouts on macOS and
  // Windows.
  it('have names in kebab-case', () => {
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/;
    const violations = code
      .map(({ path: file }) => file)
      // Remix derives routes from the file names in this folder.
      .filter((file) => !file.startsWith('dashboard/app/routes/'))
      .filter((file) => !file.split('/').every((part) => kebab.test(part.replace(/^\./, ''))));
    expect(violations).toEqual([]);
  });

  // The README documents the input, output and invariants of a stage, which is a folder of the operator or the gateway.
  it('in each stage include a README of 5 to 15 lines', () => {
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

  // Without this test, a checkout could work on only one machine, or a lockfile could make every checkout download from one mirror.
  it('contain no machine-specific folders and no package registry hosts', () => {
    const machine = /(^|[\s'"`=(:])(\/root\/|\/home\/[a-z]|\/Users\/[a-zA-Z]|\/work\/[a-z]|C:\\Users)/;
    const registry = /https?:\/\/[^\s/'"]*(registry|artifactory|nexus|mirror|goproxy|proxy\.golang)/;
    const violations = files
      .filter(({ path: file }) => file !== 'test/architecture.test.ts')
      .flatMap((file) => [...linesMatching(file, machine), ...linesMatching(file, registry)]);
    expect(violations).toEqual([]);
  });
});

describe('code', () => {
  // Without this test, a test could pass with a mock of code whose contract has changed. Tests inject ports, clocks and ids
  // instead.
  it('mocks no Standin modules', () => {
    const violations = code.flatMap((file) =>
      linesMatching(file, /\bvi\.(do)?[mM]ock\(\s*(import\(\s*)?['"`](\.|@?standin)/),
    );
    expect(violations).toEqual([]);
  });

  // A default export can have a different name in each file that imports it. Config files, Remix modules and
  // vitest's reporters require default exports.
  it('has no default exports', () => {
    const violations = code
      .filter(({ path: file }) => !isConfigFile(file) && !isRemixModule(file) && !isReporter(file))
      .flatMap((file) => linesMatching(file, /^export default\b|^export \{.*\bas default\b/));
    expect(violations).toEqual([]);
  });

  // With this rule, a move to React Router (ADR 004) does not affect every component. Files outside dashboard/app, such as the
  // server, may import Remix.
  it('in the dashboard imports Remix only in routes, root, entries and remix.ts', () => {
    const mayImport = (file: string): boolean =>
      isRemixModule(file) || file === 'dashboard/app/remix.ts' || !file.startsWith('dashboard/app/');
    const violations = code.flatMap(({ path: file, text }) =>
      moduleImports(file, text)
        .filter(({ specifier }) => specifier.startsWith('@remix-run/') && !mayImport(file))
        .map(({ specifier }) => `${file} imports ${specifier}`),
    );
    expect(violations).toEqual([]);
  });

  // Without this test, browsers could load server code and its packages. Remix keeps *.server.ts, loaders and actions out of
  // browser code.
  it('in the dashboard does I/O and parsing only in src, *.server.ts, loaders and actions', () => {
    const isServerOnly = (file: string): boolean => isRemixModule(file) || /\.(server|test)\.tsx?$/.test(file);
    const texts = new Map(code.map(({ path: file, text }) => [file, text]));
    const isApp = (file: string): boolean => file.startsWith('dashboard/app/');
    const loaded = new Set([...texts.keys()].filter((file) => isApp(file) && !isServerOnly(file)));
    const violations: string[] = [];
    // The loop also visits the modules that it adds, which are the modules of src that these files need at run time.
    for (const file of loaded) {
      for (const { specifier, isTypeOnly } of moduleImports(file, texts.get(file) ?? '')) {
        if (isTypeOnly) continue;
        const target = specifier.startsWith('.') ? path.posix.join(path.posix.dirname(file), specifier) : '';
        if (target.startsWith('dashboard/src/')) loaded.add(target);
        const isForServers =
          isBuiltin(specifier) ||
          /\.server\.ts$/.test(specifier) ||
          packageName(specifier) === '@standin/kube' ||
          ['@standin/crds', '@standin/exchange', '@standin/logstore', 'zod', 'yaml', 'pino'].includes(specifier);
        if (isForServers) violations.push(`${file} imports ${specifier}`);
      }
    }
    expect(violations).toEqual([]);
  });

  // Without this rule, the process could not be understood, tested and bundled without its pages.
  it('in dashboard/src imports nothing from the pages', () => {
    const violations = [...imports]
      .filter(([file]) => file.startsWith('dashboard/src/'))
      .flatMap(([file, targets]) =>
        [...targets]
          .filter((target) => target.startsWith('dashboard/app/'))
          .map((target) => `${file} imports ${target}`),
      );
    expect(violations).toEqual([]);
  });

  // Without this test, a new command could print control characters from a manifest, a caller or a server to the terminal.
  it('in the CLI prints only through terminal.ts', () => {
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

  // Without this test, docs/reference/configuration.md could omit a setting, and misspellings of the setting would not be reported. Passing
  // the whole environment to a child process is allowed, because no setting is read.
  it('reads the environment only in main.ts and settings.ts', () => {
    const mayRead = /(^|\/)(main|settings)\.ts$/;
    const violations = code
      .filter(({ path: file }) => !isTestCode(file) && !isConfigFile(file) && !mayRead.test(file))
      .filter(({ path: file }) => !file.startsWith('cli/bin/'))
      .flatMap((file) => linesMatching(file, /(?<!\.\.\.)\bprocess\.env\b/))
      // Comments may mention the environment.
      .filter((line) => !/: (\/\/|\*)/.test(line));
    expect(violations).toEqual([]);
  });

  // Other comparisons end at the first byte that differs. From the time that they take, a caller could guess a digest byte by byte.
  it('of signatures compares digests only with timingSafeEqual', () => {
    const shipped = code.filter(({ path: file }) => file.startsWith('packages/signatures/src/') && !isTestCode(file));
    expect(shipped.flatMap((file) => linesMatching(file, UNSAFE_COMPARISON))).toEqual([]);
    expect(shipped.flatMap((file) => linesMatching(file, /\btimingSafeEqual\(/))).toHaveLength(1);
  });

  // Without this test, a new parser could take quadratic time, and one captured body could block a process.
  it('that reads hostile input has an entry in test/growth or a documented exception', () => {
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
    // Finds entries of functions that have been renamed or removed.
    const isExported = (parser: string): boolean => {
      const [file, name = ''] = parser.split('#');
      const source = code.find((candidate) => candidate.path === file)?.text ?? '';
      return new RegExp(`^export (?:async )?(?:const|function\\*?|class) ${name}\\b`, 'm').test(source);
    };
    expect([...entries, ...excluded].filter((parser) => !isExported(parser))).toEqual([]);
  });
});

import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { validateManifests } from '@standin/operator';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../cli/src/create-program.ts';
import { LOCAL_COMMANDS } from '../cli/src/local-commands.ts';
import { headingSlug } from '../docs/generate/heading-slug.ts';
import { operatorSettings, translateSettings } from '../operator/src/settings.ts';
import { ROOT, sourceFiles } from './suite/source-files.ts';

const SETTINGS = translateSettings(operatorSettings.parse({ egress: { allowPrivate: true } }));

const FENCE = /^( *)(```+)([a-z]*)\n(.*?)^\1\2$/gms;
const pages = sourceFiles().filter(({ path: file }) => file.endsWith('.md'));
const docs = pages.filter(({ path: file }) => file.startsWith('docs/') || file === 'README.md');

const withoutCode = (text: string): string => text.replaceAll(FENCE, '').replaceAll(/<!--.*?-->/gs, '');
const codeBlocks = (text: string, ...languages: readonly string[]): string[] =>
  [...text.matchAll(FENCE)]
    .filter(([, , , language = '']) => languages.includes(language))
    .map(([, indent = '', , , block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));

const FIGURE = /\d ?(?:ms|µs|s|[kMG]i?B|%|×|(?:requests|rows)(?:\/s| a second))(?!\w)|× ?\d/;
/** Words and units of measured figures. Other figures are settings and limits, such as a timeout of 30 s. */
const MEASURED =
  /\b(?:takes? (?!longer|effect|part)|took|measured|medians? (?:of|is|was)|p50|p95|p99|slowest|times (?:as|that))|\d ?(?:requests|rows)\/s|\d ?×|× ?\d/;
const COMMAND = /`[^`]*(?:npm (?:run|test|ci)|npx vitest|\.test\.ts)[^`]*`/;
/** Pages on which every figure is measured. */
const CLAIMS: readonly string[] = ['README.md', 'docs/proof.md'];

/** Returns the paragraphs, list items and table rows with a measured figure whose section names no command. */
const figuresWithoutCommand = (file: string, text: string): string[] =>
  withoutCode(text)
    .split(/^(?=#+ )/m)
    .filter((section) => !COMMAND.test(section))
    .flatMap((section) => section.split(/\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) ?)/))
    .filter((block) => {
      const prose = block.replaceAll(/`[^`]*`/g, 'code');
      return FIGURE.test(prose) && (CLAIMS.includes(file) || MEASURED.test(prose));
    });

/** Returns the anchors of a page. A heading that occurs again has a number at its end. */
const headingAnchors = (text: string): ReadonlySet<string> => {
  const seen = new Map<string, number>();
  const anchors = [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const slug = headingSlug(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return new Set(anchors);
};

describe('Markdown files', () => {
  const anchors = new Map(pages.map(({ path: file, text }) => [file, headingAnchors(text)]));

  it('have links to files and headings that exist', () => {
    const dead = pages.flatMap(({ path: file, text }) =>
      [
        ...withoutCode(text)
          .replaceAll(/`[^`\n]*`/g, '')
          .matchAll(/\]\(([^)\s]+)\)/g),
      ]
        .map(([, target = '']) => target)
        .filter((target) => !/^[a-z]+:/.test(target))
        .filter((target) => {
          const [link = '', anchor] = target.split('#');
          const linked = link === '' ? file : path.posix.join(path.posix.dirname(file), link);
          if (!existsSync(path.join(ROOT, linked))) return true;
          return anchor !== undefined && anchors.get(linked)?.has(anchor) !== true;
        })
        .map((target) => `${file}: ${target}`),
    );
    expect(dead).toEqual([]);
  });

  // A cell that holds a paragraph belongs in a list.
  it('have at most 30 words in a cell of a table', () => {
    const long = pages.flatMap(({ path: file, text }) =>
      withoutCode(text)
        .split('\n')
        .filter((line) => line.startsWith('|'))
        .flatMap((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
        .filter((cell) => cell.split(/\s+/).length > 30)
        .map((cell) => `${file}: ${cell}`),
    );
    expect(long).toEqual([]);
  });

  it('are mentioned in code and configuration under names that exist', () => {
    const dead = sourceFiles().flatMap(({ path: file, text }) =>
      [...text.matchAll(/(?<![\w./-])(?:\.\.\/)*(docs\/[\w./-]+\.(?:md|svg|png|lua))/g)]
        .map(([, name = '']) => name)
        .filter((name) => !existsSync(path.join(ROOT, name)))
        .map((name) => `${file}: ${name}`),
    );
    expect(dead).toEqual([]);
  });
});

describe('docs', () => {
  it('lists each page in an index', () => {
    const indexes = pages.filter(({ path: file }) => file.startsWith('docs/') && file.endsWith('/README.md'));
    const listed = indexes.flatMap(({ path: file, text }) =>
      [...text.matchAll(/\]\(([^)#]+\.md)\)/g)].map(([, link = '']) => path.posix.join(path.posix.dirname(file), link)),
    );
    const all = globSync('docs/**/*.md', { cwd: ROOT }).filter((file) => file !== 'docs/README.md');
    expect(all.filter((file) => !listed.includes(file))).toEqual([]);
  });

  // A page with long sentences is hard to read, above all in a second language.
  it.each(docs)('has at most 25 words in a sentence on average: $path', ({ text }) => {
    const prose = withoutCode(text)
      .replaceAll(/^\s*(\||#).*$/gm, '\n')
      .replaceAll(/\]\([^)]*\)/g, ']')
      .replaceAll(/`[^`]*`/g, 'code');
    const sentences = prose
      .split(/(?<=[.!?:])\s+|\n\s*\n|\n\s*(?:[-*]|\d+\.) /)
      .map((sentence) => sentence.trim().split(/\s+/).filter(Boolean).length)
      .filter((words) => words > 2);
    const words = sentences.reduce((sum, count) => sum + count, 0);
    expect(words / Math.max(1, sentences.length)).toBeLessThanOrEqual(25);
  });

  it('has a source for each cell of the comparison', () => {
    const text = docs.find(({ path: file }) => file === 'docs/comparison.md')?.text ?? '';
    const [header = [], , ...rows] = text
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => line.split('|').map((cell) => cell.trim()));
    const tools = header.slice(3, -1);
    const [, comment = ''] = /<!-- (.*?)\n-->/s.exec(text) ?? [];
    const [, ...sources] = comment
      .split('\n\n')
      .map((block) => block.split('\n').map((line) => line.split(/: (?=\S)/)[0]));
    expect(rows.length).toBeGreaterThan(0);
    expect(sources).toEqual(rows.map(([, row]) => [row, ...tools.map((tool) => `- ${tool}`)]));
  });

  const ofPeople = docs.filter(
    ({ path: file, text }) => !file.startsWith('docs/internals/adr/') && !text.includes('<!-- Generated'),
  );

  it('finds figures without a command, and no settings', () => {
    const unproven = (text: string): string[] => figuresWithoutCommand('page.md', text);
    expect(unproven('# A\n\nA request took 4 ms.\n\n# B\n\nRun `npm run bench`.')).toHaveLength(1);
    expect(unproven('# A\n\n| server | 5,000 requests/s |\n\nText.')).toHaveLength(1);
    expect(unproven('# A\n\nIt is 5.8 × as fast.')).toHaveLength(1);
    expect(unproven('# A\n\nA request took 4 ms.\n\nTo measure it, run `npm run bench -- fresh`.')).toEqual([]);
    expect(unproven('# A\n\n- The limit is 64 KiB.\n- If it takes longer than 20 s, it ends.')).toEqual([]);
    expect(figuresWithoutCommand('README.md', '# A\n\nA change is live in 33 ms.')).toHaveLength(1);
  });

  // A figure that readers cannot measure again is only a claim.
  it.each(ofPeople)('names the command that measures each figure: $path', ({ path: file, text }) => {
    expect(figuresWithoutCommand(file, text)).toEqual([]);
  });

  const manifests = docs.flatMap(({ path: file, text }) =>
    codeBlocks(text, 'yaml')
      .filter((block) => block.includes('apiVersion: standin.dev/'))
      .map((block) => ({ file, block })),
  );
  it.each(manifests)('has valid manifests: $file', ({ file, block }) => {
    const findings = validateManifests([{ name: file, text: block }], SETTINGS, { missingReferences: 'warning' });
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  const program = createProgram({ name: 'standin', colour: false, ...LOCAL_COMMANDS });
  const commands = docs.flatMap(({ path: file, text }) => {
    const lines = codeBlocks(text, 'console', 'bash')
      .flatMap((block) => block.replaceAll(/\\\n/g, ' ').split('\n'))
      .filter((line) => !/^ *#/.test(line));
    return lines.flatMap((line) =>
      [...line.matchAll(/(?:^\$? ?|[(|] ?|\bnpx |\bkubectl )standin ((?:"[^"]*"|'[^']*'|[^|&#)"'])*)/g)].map(
        ([, args = '']) => ({
          file,
          command: args.trim(),
        }),
      ),
    );
  });

  it.each(commands)('has commands and options that exist: $file: standin $command', ({ command }) => {
    const words = command.replaceAll(/"[^"]*"|'[^']*'/g, 'X').split(/\s+/);
    let found = program;
    for (const word of words) found = found.commands.find((one) => one.name() === word) ?? found;
    const known = [found, program].flatMap(({ options }) => options.flatMap(({ short, long }) => [short, long]));
    const unknown = words
      .filter((word) => /^--?[a-z]/.test(word))
      .filter((word) => ![...known, '--help'].includes(word.split('=')[0]));
    expect({ name: found === program, unknown }).toEqual({ name: false, unknown: [] });
  });
});

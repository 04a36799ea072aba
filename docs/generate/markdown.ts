import path from 'node:path';

/** A comment on each generated page. */
export const GENERATED = '<!-- Generated from the code by `npm run generate`. -->';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** Returns a Markdown table. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

/** Escapes characters that Markdown would interpret. */
export const plain = (text: string): string => text.replaceAll(/[\\`*_<>[\]]/g, '\\$&');

/** Turns the names of pages, such as docs/reference/errors.md, into links. `file` is the page that contains the text. */
export const linked = (text: string, file: string): string =>
  text.replaceAll(/docs\/([\w/-]+)\.md/g, (name) => {
    const target = path.posix.relative(path.posix.dirname(file), name);
    return `[${path.posix.basename(name)}](${target})`;
  });

import path from 'node:path';

/** A comment on each generated page. */
export const GENERATED = '<!-- Generated from the code by `npm run generate`. -->';

/** Returns a list item: its name, facts about it in parentheses, and a description that becomes whole sentences. */
export const item = (name: string, facts: readonly string[], description: readonly string[]): string => {
  const known = facts.filter(Boolean).join('; ');
  const text = description.map((part) => (/[.:!?]$/.test(part) ? part : `${part}.`)).join(' ');
  return `- **${name}**${known === '' ? '' : ` (${known})`}: ${text.replaceAll('\n', ' ')}`;
};

/** Escapes characters that Markdown would interpret. */
export const plain = (text: string): string => text.replaceAll(/[\\`*_<>[\]]/g, '\\$&');

/** Turns the names of pages, such as docs/reference/errors.md, into links. `file` is the page that contains the text. */
export const linked = (text: string, file: string): string =>
  text.replaceAll(/docs\/([\w/-]+)\.md/g, (name) => {
    const target = path.posix.relative(path.posix.dirname(file), name);
    return `[${path.posix.basename(name)}](${target})`;
  });

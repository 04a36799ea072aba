import { readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig, type DefaultTheme, type MarkdownOptions } from 'vitepress';
import { headingSlug } from '../generate/heading-slug.ts';

const DOCS = path.resolve(import.meta.dirname, '..');

const ICON = readFileSync(path.join(DOCS, '../dashboard/public/favicon.svg'), 'utf8');

/** Returns the sidebar: the headings and links of the index page, docs/README.md. */
const sidebar = (): DefaultTheme.SidebarItem[] => {
  const index = readFileSync(path.join(DOCS, 'README.md'), 'utf8');
  const [, ...sections] = index.split(/^## /m);
  return sections.map((section) => ({
    text: section.split('\n', 1)[0] ?? '',
    items: [...section.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm)].map(([, text = '', link = '']) => ({
      text,
      link: `/${link.replace(/README\.md$/, '')}`,
    })),
  }));
};

type MarkdownIt = Parameters<NonNullable<MarkdownOptions['config']>>[0];

/**
 * Adapts links that are written for readers of the repository. README.md is the index of its folder. A file that is
 * outside the documentation, or is not Markdown, has no page on the site, so its link becomes text.
 */
const adaptLinks = (markdown: MarkdownIt): void => {
  markdown.core.ruler.push('links-of-the-repository', ({ tokens, env }) => {
    const { path: page } = env as { readonly path: string };
    for (const { children } of tokens) {
      let isText = false;
      for (const token of children ?? []) {
        const href = token.attrGet('href') ?? '';
        if (token.type === 'link_open' && !/^([a-z]+:|#)/.test(href)) {
          const file = path.resolve(path.dirname(page), href.split('#')[0] ?? '');
          isText = !file.startsWith(`${DOCS}/`) || !file.endsWith('.md');
          if (!isText) token.attrSet('href', href.replace(/README\.md(?=#|$)/, 'index.md'));
        }
        if (isText && (token.type === 'link_open' || token.type === 'link_close')) {
          isText = token.type === 'link_open';
          token.type = 'text';
          token.content = '';
        }
      }
    }
  });
};

/** Keeps Vue from reading braces in text as its own templates. */
const escapeBraces = ({ renderer }: MarkdownIt): void => {
  for (const rule of ['text', 'code_inline'] as const) {
    const render = renderer.rules[rule];
    renderer.rules[rule] = (...args) => render?.(...args).replaceAll('{{', '&#123;&#123;') ?? '';
  }
};

/** The documentation site: `npm run docs`. The pages are the Markdown files of this folder. A dead link fails the build. */
export default defineConfig({
  title: 'Standin',
  description: 'HTTP endpoints that mock or forward, and record every accepted request.',
  outDir: path.join(DOCS, '.vitepress/build'),
  cacheDir: path.join(DOCS, '../node_modules/.cache/vitepress'),
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  cleanUrls: true,
  lastUpdated: false,
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  markdown: {
    anchor: { slugify: headingSlug },
    config: (markdown) => {
      adaptLinks(markdown);
      escapeBraces(markdown);
    },
  },
  themeConfig: {
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
  },
});

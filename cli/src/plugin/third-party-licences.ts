import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const packageSchema = z.object({ name: z.string(), version: z.string(), license: z.string().optional() });
const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

/** `…/node_modules/@scope/name`, or undefined for a file of our own. Rollup marks what it adds to a CommonJS module with a null byte. */
const packageFolder = (file: string): string | undefined =>
  /[^\0]*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0];

/** What the licences of the packages ask for whose code is in a bundle of these files: their names, and their texts. */
export const thirdPartyLicences = async (files: Iterable<string>): Promise<string> => {
  const folders = new Set([...files].map(packageFolder).filter((folder) => folder !== undefined));
  const sections = await Promise.all(
    [...folders].map(async (folder) => {
      const { name, version, license } = packageSchema.parse(
        JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')),
      );
      const names = (await readdir(folder)).filter((entry) => LICENCE_FILE.test(entry)).sort();
      const texts = await Promise.all(names.map((entry) => readFile(path.join(folder, entry), 'utf8')));
      return [`${name} ${version} (${license ?? 'see below'})`, ...texts.map((text) => text.trim())].join('\n\n');
    }),
  );
  return `${sections.sort().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
};

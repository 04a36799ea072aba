import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const packageSchema = z.object({ name: z.string(), version: z.string(), license: z.string().optional() });
const LICENCE_FILE = /licen[cs]e|copying|notice/i;
const README = /^readme/i;
/** Matches the start of the licence text in a README, for packages that do not contain it elsewhere. */
const LICENCE_TEXT = /^.*\b(copyright \(c\)|permission is hereby granted|redistribution and use)/im;

/**
 * Returns a package folder such as `…/node_modules/@scope/name`, or undefined for the project's own files. Rollup marks code that
 * it adds to a CommonJS module with a null byte.
 */
const packageFolder = (file: string): string | undefined =>
  /[^\0]*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0];

/** Returns the licence texts in a package, including those for vendored code in its folders. */
const licenceTexts = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !path.relative(folder, entry.parentPath).includes('node_modules'))
    .map((entry) => path.join(entry.parentPath, entry.name));
  const licences = files.filter((file) => LICENCE_FILE.test(path.basename(file)) && !/\.[cm]?[jt]sx?$/.test(file));
  if (licences.length > 0) return Promise.all(licences.sort().map((file) => readFile(file, 'utf8')));
  const readme = files.find((file) => path.dirname(file) === folder && README.test(path.basename(file)));
  const text = readme === undefined ? '' : await readFile(readme, 'utf8');
  const start = text.search(LICENCE_TEXT);
  return start < 0 ? [] : [text.slice(start)];
};

/** Returns the names and licence texts of all packages whose code is in a bundle of these files, as their licences require. */
export const thirdPartyLicences = async (files: Iterable<string>): Promise<string> => {
  const folders = new Set(
    [...files].map((file) => packageFolder(path.resolve(file))).filter((folder) => folder !== undefined),
  );
  const sections = await Promise.all(
    [...folders].map(async (folder) => {
      const { name, version, license } = packageSchema.parse(
        JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')),
      );
      const texts = await licenceTexts(folder);
      return [`${name} ${version} (${license ?? 'see below'})`, ...texts.map((text) => text.trim())].join('\n\n');
    }),
  );
  return `${sections.sort().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
};

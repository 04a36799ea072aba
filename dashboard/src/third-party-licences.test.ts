import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { thirdPartyLicences } from './third-party-licences.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'standin-test-licences-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Writes a package. Returns the path of its bundled file. */
const install = async (name: string, files: Readonly<Record<string, string>>): Promise<string> => {
  const folder = path.join(root, 'node_modules', name);
  const all = { 'package.json': JSON.stringify({ name, version: '1.2.3', license: 'MIT' }), ...files };
  for (const [file, text] of Object.entries(all)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
  }
  return path.join(folder, 'dist/index.js');
};

describe('a bundle’s licences', () => {
  it.for(['LICENSE', 'LICENCE.txt', 'license.md', 'MIT-LICENSE', 'COPYING', 'NOTICE.md', 'CopyrightNotice.txt'])(
    'include the text of a package’s %s file',
    async (file) => {
      const bundled = await install('a', { [file]: `the text in ${file}\n`, 'README.md': 'Copyright (c) elsewhere' });
      const licences = await thirdPartyLicences([bundled]);
      expect(licences).toContain(`a 1.2.3 (MIT)\n\nthe text in ${file}`);
      expect(licences).not.toContain('elsewhere');
      await rm(path.join(root, 'node_modules/a'), { recursive: true });
    },
  );

  it('include licence text that appears only in the README', async () => {
    const readme =
      '# b\n\nHow to use b.\n\n## License\n\nCopyright (c) 2020 B\n\nPermission is hereby granted, free of charge';
    const licences = await thirdPartyLicences([await install('b', { 'README.md': readme })]);
    expect(licences).toBe('b 1.2.3 (MIT)\n\nCopyright (c) 2020 B\n\nPermission is hereby granted, free of charge\n');
  });

  it('include the texts of vendored code, but not of dependencies', async () => {
    const bundled = await install('@c/d', {
      LICENSE: 'text of d',
      'lib/vendor/LICENSE': 'text of the vendor',
      'lib/license-check.js': 'code',
      'node_modules/e/LICENSE': 'text of e',
    });
    const licences = await thirdPartyLicences([bundled]);
    expect(licences).toBe('@c/d 1.2.3 (MIT)\n\ntext of d\n\ntext of the vendor\n');
  });

  it('list each package once, and exclude files of the project', async () => {
    const bundled = await install('f', { LICENSE: 'text of f' });
    const files = [bundled, path.join(path.dirname(bundled), 'other.js'), path.relative('.', bundled)];
    const licences = await thirdPartyLicences([
      ...files,
      `\0${bundled}?commonjs-module`,
      path.join(root, 'src/own.js'),
    ]);
    expect(licences).toBe('f 1.2.3 (MIT)\n\ntext of f\n');
  });
});

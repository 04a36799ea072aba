import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** Writes files to a folder that is deleted after the test. Returns the path of the first file. */
export const writeContract = (files: Readonly<Record<string, unknown>>): string => {
  const folder = mkdtempSync(path.join(tmpdir(), 'standin-contract-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const names = Object.entries(files).map(([name, content]) => {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  });
  return names[0] ?? '';
};

import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorMessage, isMissingFile, type LogRow } from '@standin/contract';
import { decodeRow, LOG_COLUMNS, RowBinaryReader } from '@standin/logstore';
import { replaceFile } from '@standin/process/replace-file';
import { z } from 'zod';
import type { Damage } from './read-segment.ts';

const description = z.object({
  kind: z.enum(['row', 'damage']),
  /** The reason why the bytes are in quarantine. */
  reason: z.string(),
  /** The time when the bytes were added, in RFC 3339 format. */
  at: z.iso.datetime(),
  /** For a row, the number of `LOG_COLUMNS` that the row has. */
  columnCount: z.int().optional(),
  /** For damage, the segment and the position in that segment. */
  segment: z.string().optional(),
  offset: z.int().optional(),
});

/** A row, or damaged bytes of a segment, in quarantine. */
export interface Quarantined extends Readonly<z.infer<typeof description>> {
  /** The file that contains the bytes. */
  readonly file: string;
  /** Undefined if the file cannot be read. */
  readonly bytes: number | undefined;
  /** The decoded row, or undefined if it cannot be decoded. */
  readonly row: LogRow | undefined;
  /** Why a part of the entry cannot be read. */
  readonly problem?: string;
}

type Project = Pick<LogRow, 'projectUid' | 'namespace'>;

/** Relative to the spool folder. */
const FOLDER = 'quarantine';
const BYTES_SUFFIX = '.bin';
const DESCRIPTION_SUFFIX = '.json';

/**
 * A spool's folder for rows and records that cannot be delivered because of their content. Standin never removes files from it.
 */
export class Quarantine {
  readonly #folder: string;
  /** The project of the row in each file. Undefined if the file contains damaged bytes or a row that cannot be decoded. */
  readonly #projects = new Map<string, Project | undefined>();

  constructor(spoolDir: string) {
    this.#folder = path.join(spoolDir, FOLDER);
  }

  /** The number of files that contain rows or damaged bytes. */
  get count(): number {
    return this.#projects.size;
  }

  /** The namespaces of the rows' projects, by the uid of the project. Undefined stands for bytes whose project is unknown. */
  get namespaces(): ReadonlyMap<string | undefined, string> {
    return new Map(Array.from(this.#projects.values(), (project) => [project?.projectUid, project?.namespace ?? '']));
  }

  /** Finds the existing files. */
  async open(): Promise<void> {
    const names = await filesIn(this.#folder);
    for (const name of this.#projects.keys()) if (!names.includes(name)) this.#projects.delete(name);
    for (const name of names) {
      if (this.#projects.has(name)) continue;
      const { row } = await readEntry(path.join(this.#folder, name));
      this.#projects.set(name, projectIn(row));
    }
  }

  /** Resolves when the row is on disk. Adding the same row again changes nothing. */
  addRow({ row, columnCount, reason }: { row: Buffer; columnCount: number; reason: string }): Promise<void> {
    return this.#add(row, { kind: 'row', reason, columnCount });
  }

  addDamage({ kind, offset, bytes }: Damage, segment: string): Promise<void> {
    const reason = kind === 'header' ? 'the segment header is damaged' : 'a record is damaged';
    return this.#add(bytes, { kind: 'damage', reason, segment, offset });
  }

  async #add(bytes: Buffer, about: Omit<z.infer<typeof description>, 'at'>): Promise<void> {
    const name = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    if ((await filesIn(this.#folder)).includes(`${name}${BYTES_SUFFIX}`)) return;
    const text = JSON.stringify({ ...about, at: new Date().toISOString() });
    await replaceFile(path.join(this.#folder, `${name}${DESCRIPTION_SUFFIX}`), text, { mode: 0o600 });
    await replaceFile(path.join(this.#folder, `${name}${BYTES_SUFFIX}`), bytes, { mode: 0o600 });
    this.#projects.set(`${name}${BYTES_SUFFIX}`, projectIn(decodeCurrentRow(about, bytes)));
  }
}

/**
 * Returns the quarantine entries in a spool folder, oldest first. An entry that cannot be read is listed with the problem. Without its
 * description, it counts as damage since it was written.
 */
export const readQuarantine = async (spoolDir: string): Promise<Quarantined[]> => {
  const folder = path.join(spoolDir, FOLDER);
  const found = await Promise.all((await filesIn(folder)).map((name) => readEntry(path.join(folder, name))));
  return found.sort((one, other) => (one.at < other.at ? -1 : 1));
};

const readEntry = async (file: string): Promise<Quarantined> => {
  const [bytes, text] = await Promise.allSettled([
    readFile(file),
    readFile(file.replace(/\.bin$/, DESCRIPTION_SUFFIX), 'utf8').then((json) => description.parse(JSON.parse(json))),
  ]);
  const problems = [
    ...(bytes.status === 'rejected' ? [`cannot read the file: ${readProblem(bytes.reason)}`] : []),
    ...(text.status === 'rejected' ? [`cannot read the description: ${readProblem(text.reason)}`] : []),
  ];
  const about = text.status === 'fulfilled' ? text.value : await withoutDescription(file);
  return {
    ...about,
    file,
    bytes: bytes.status === 'fulfilled' ? bytes.value.length : undefined,
    row: bytes.status === 'fulfilled' ? decodeCurrentRow(about, bytes.value) : undefined,
    ...(problems.length > 0 && { problem: problems.join('; ') }),
  };
};

const withoutDescription = async (file: string): Promise<z.infer<typeof description>> => {
  const at = await stat(file).then(
    ({ mtime }) => mtime,
    () => new Date(0),
  );
  return { kind: 'damage', reason: 'unknown', at: at.toISOString() };
};

const readProblem = (error: unknown): string =>
  error instanceof z.ZodError ? 'it has an unknown format' : errorMessage(error);

const decodeCurrentRow = (
  { kind, columnCount }: Pick<z.infer<typeof description>, 'kind' | 'columnCount'>,
  bytes: Buffer,
): LogRow | undefined => {
  if (kind !== 'row' || columnCount !== LOG_COLUMNS.length) return undefined;
  try {
    return decodeRow(new RowBinaryReader(bytes));
  } catch {
    return undefined;
  }
};

/** Without the rest of the row, which may be large. */
const projectIn = (row: LogRow | undefined): Project | undefined =>
  row && { projectUid: row.projectUid, namespace: row.namespace };

const filesIn = async (folder: string): Promise<string[]> => {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith(BYTES_SUFFIX));
  } catch (error) {
    if (isMissingFile(error)) return [];
    throw error;
  }
};

import type { InsertHead } from './check-statement.ts';

/** A statement for the engine. The URL parameters of ClickHouse's HTTP interface become SQL in front of the query. */
export interface EngineStatement {
  readonly query: string;
  readonly database: string | undefined;
  readonly settings: readonly (readonly [name: string, value: string])[];
  /** Values in the HTTP interface's encoding, which uses TSV escapes. */
  readonly params: readonly (readonly [name: string, value: string])[];
  /** Whether the statement may only read, as with GET. It may still change settings. */
  readonly readOnly: boolean;
}

const quote = (text: string): string => `'${text.replace(/[\\']/g, '\\$&').replaceAll('\0', '\\0')}'`;
const quoteName = (name: string): string => `\`${name.replace(/[\\`]/g, '\\$&')}\``;

const settingName = /^[A-Za-z_][A-Za-z0-9_]*$/;

export class StatementError extends Error {
  override readonly name = 'StatementError';
}

const assignments = (prefix: string, pairs: EngineStatement['settings']): string[] =>
  pairs.map(([name, value]) => {
    if (!settingName.test(name)) throw new StatementError(`Unknown setting ${JSON.stringify(name)}`);
    return `${prefix}${name} = ${quote(value)}`;
  });

/**
 * Returns the query, preceded by SQL that sets its database, settings and parameters. Each statement needs a connection that no
 * other statement uses, because chdb keeps settings and parameters for the lifetime of a connection. Parameters are set in SQL,
 * because chdb shares parameters that are passed to `queryBind` between connections.
 */
export const engineText = (statement: EngineStatement): string => {
  const changes = [
    ...assignments('', statement.settings),
    ...assignments('param_', statement.params),
    ...(statement.readOnly ? ['readonly = 2'] : []),
  ];
  return [
    ...(statement.database === undefined ? [] : [`USE ${quoteName(statement.database)}; `]),
    ...(changes.length === 0 ? [] : [`SET ${changes.join(', ')}; `]),
    statement.query,
  ].join('');
};

export const isInsert = (query: string): boolean => /^\s*INSERT\s/i.test(query);

/** Returns the insert as a statement that reads its data from a file, which is the only chdb input that preserves binary data. */
export const insertFromFile = (query: string, { start, fileAt, end }: InsertHead, path: string): string =>
  `${query.slice(start, fileAt)}FROM INFILE ${quote(path)} COMPRESSION 'none' ${query.slice(fileAt, end)}`;

/** Returns the text after an insert's format. The data begins on the next line or after the space. */
export const dataIn = (query: string, { end }: Pick<InsertHead, 'end'>): string => {
  const rest = query.slice(end);
  return /^[\s;]*$/.test(rest) ? '' : rest.replace(/^[ \t\f\v]*(\r?\n)?/, '');
};

export const namedFormat = (query: string): string | undefined =>
  /\sFORMAT\s+([A-Za-z0-9_]+)[\s;]*$/i.exec(query)?.[1] ?? undefined;

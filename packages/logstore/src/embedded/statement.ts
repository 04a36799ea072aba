import type { InsertHead } from './check-statement.ts';

/** The text that goes to the engine: what ClickHouse's HTTP interface takes from the URL becomes SQL in front of the query. */
export interface EngineStatement {
  readonly query: string;
  readonly database: string | undefined;
  readonly settings: readonly (readonly [name: string, value: string])[];
  /** Values as the HTTP interface takes them: in TSV's escaping. */
  readonly params: readonly (readonly [name: string, value: string])[];
  /** As a GET: reads only, but may still change settings. */
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
 * One text, for one connection of its own: settings and parameters of chdb live as long as the connection, and only
 * parameters that are set like this, not those of its `queryBind`, are apart from those of other connections.
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

/** The same insert, reading its data from a file: the only way into chdb that keeps binary data as it is. */
export const insertFromFile = (query: string, { start, fileAt, end }: InsertHead, path: string): string =>
  `${query.slice(start, fileAt)}FROM INFILE ${quote(path)} COMPRESSION 'none' ${query.slice(fileAt, end)}`;

/** What stands behind an insert's format: its data begins on the next line, or behind the space. */
export const dataIn = (query: string, { end }: Pick<InsertHead, 'end'>): string => {
  const rest = query.slice(end);
  return /^[\s;]*$/.test(rest) ? '' : rest.replace(/^[ \t\f\v]*(\r?\n)?/, '');
};

/** What the query says, else `undefined`. */
export const formatOf = (query: string): string | undefined =>
  /\sFORMAT\s+([A-Za-z0-9_]+)[\s;]*$/i.exec(query)?.[1] ?? undefined;

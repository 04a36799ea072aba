import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { isMissingFile } from '@standin/contract';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import type { ClickHouseSettings } from '@clickhouse/client';
import { INSERT_MARK_HEADER, INSERT_WAIT_MS, INSERTS_PATH } from '@standin/contract/insert-mark';
import { toLogStoreError } from './log-store-error.ts';

export interface ClickHouseAddress {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /**
   * A folder with the files `username` and `password`, such as a mounted Secret, which replace the user name and the password. They
   * are read for each call, so a changed password needs no restart. Without the file `username`, `username` is used.
   */
  readonly loginDir?: string | undefined;
  readonly database: string;
  /** The longest time to wait for a response, in milliseconds. The default is longer than the time limit of any read. */
  readonly timeoutMs?: number | undefined;
}

interface Statement {
  readonly sql: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly settings?: ClickHouseSettings;
  /** The rows of an insert. `sql` must then end with their FORMAT. */
  readonly body?: Buffer;
  /** If `false`, the statement runs in the database `default`, for example because it creates the log's database. */
  readonly inDatabase?: boolean;
}

interface Answer {
  readonly bytes: Buffer;
  /** Identifies the inserts that ended before the statement ran. Only the embedded engine returns this mark. See `INSERTS_PATH`. */
  readonly insertMark: string | undefined;
}

/** The calls that the log store makes, through one HTTP client for both the embedded engine and a server. */
export interface ClickHouse {
  /** Runs a statement and returns the whole response. `operation` completes the sentence "Could not …". */
  run(operation: string, statement: Statement): Promise<Buffer>;
  /** Works like `run`, and also returns the mark that a reader needs to wait for the next insert. */
  ask(operation: string, statement: Statement): Promise<Answer>;
  /**
   * Resolves after the embedded engine has finished an insert after `mark`. Rejects if the engine is unavailable or hangs, or
   * when `signal` aborts.
   */
  nextInsert(mark: string, signal: AbortSignal): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Longer than `max_execution_time` of any read, so that the server's own error arrives first. */
const REQUEST_TIMEOUT_MS = 35_000;
/**
 * Servers before ClickHouse 23.11 close idle connections after 3 s, and later ones after 10 s or more. The client must close them
 * first.
 */
const IDLE_SOCKET_TTL_MS = 2_500;
/** Maximum number of connections of one log store. Further queries wait. */
export const LOG_CONNECTIONS_MAX = 10;

/** The status of a wait that ended without an insert. */
const NOTHING_YET = 204;
const INSERT_WAIT_MS_MAX = INSERT_WAIT_MS + 3_000;

const newClient = (address: ClickHouseAddress, database: string) =>
  createClient({
    url: address.url,
    username: address.username,
    password: address.password,
    database,
    application: 'standin',
    request_timeout: address.timeoutMs ?? REQUEST_TIMEOUT_MS,
    max_open_connections: LOG_CONNECTIONS_MAX,
    // A busy event loop fires timers late (clickhouse-js #294), so stale sockets are also removed before each request.
    keep_alive: { enabled: true, idle_socket_ttl: IDLE_SOCKET_TTL_MS, eagerly_destroy_stale_sockets: true },
    // The response begins after the statement has ended, so that an exception becomes a status and never appears at the end of a
    // 200 response.
    clickhouse_settings: { wait_end_of_query: 1 },
    // All failures are thrown. The client's own log lines would quote statements and parameters.
    log: { level: ClickHouseLogLevel.OFF },
  });

interface Login {
  readonly username: string;
  readonly password: string;
}

/**
 * Returns the login for the next call. While a Secret is being replaced, the two files may come from different versions, which
 * ClickHouse rejects once. Rejects if the password cannot be read.
 */
const readLogin = async ({ loginDir, username, password }: ClickHouseAddress): Promise<Login> => {
  if (loginDir === undefined) return { username, password };
  const read = async (name: string): Promise<string> =>
    (await readFile(path.join(loginDir, name), 'utf8')).replace(/\r?\n$/, '');
  const [ownName, ownPassword] = await Promise.all([read('username').catch(orMissing(username)), read('password')]);
  return { username: ownName, password: ownPassword };
};

const orMissing =
  (text: string) =>
  (error: unknown): string => {
    if (isMissingFile(error)) return text;
    throw error;
  };

export const connectClickHouse = (address: ClickHouseAddress): ClickHouse => {
  const client = newClient(address, address.database);
  const outside = newClient(address, 'default');
  const ask: ClickHouse['ask'] = async (operation, { sql, params = {}, settings = {}, body, inDatabase = true }) => {
    try {
      const { stream, response_headers: headers } = await (inDatabase ? client : outside).exec({
        query: sql,
        query_params: { ...params },
        clickhouse_settings: settings,
        auth: await readLogin(address),
        ...(body && { values: Readable.from([body], { objectMode: false }) }),
      });
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      const mark = headers[INSERT_MARK_HEADER];
      return { bytes: Buffer.concat(chunks), insertMark: typeof mark === 'string' ? mark : undefined };
    } catch (error) {
      throw toLogStoreError(operation, error);
    }
  };
  return {
    ask,
    run: async (operation, statement) => (await ask(operation, statement)).bytes,
    async nextInsert(mark, signal) {
      const url = new URL(INSERTS_PATH, address.url);
      url.searchParams.set('after', mark);
      for (let status = NOTHING_YET; status === NOTHING_YET;) {
        const { username, password } = await readLogin(address);
        const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
        const inTime = AbortSignal.any([signal, AbortSignal.timeout(INSERT_WAIT_MS_MAX)]);
        const response = await fetch(url, { headers: { authorization }, signal: inTime });
        await response.body?.cancel();
        ({ status } = response);
        if (!response.ok) throw new Error(`${url.pathname} returned status ${status}`);
      }
    },
    async ping() {
      // A query needs credentials. `/ping` needs none, so it succeeds for any user, even on a different engine on the
      // same port.
      await ask('reach ClickHouse', { sql: 'SELECT 1', inDatabase: false });
    },
    async close() {
      await Promise.all([client.close(), outside.close()]);
    },
  };
};

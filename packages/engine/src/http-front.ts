import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import path from 'node:path';
import { PassThrough, Transform } from 'node:stream';
import type { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { finished, pipeline } from 'node:stream/promises';
import { createGunzip, gzipSync } from 'node:zlib';
import { INSERT_MARK_HEADER, INSERT_WAIT_MS, INSERTS_PATH } from '@standin/contract/insert-mark';
import { refuseOthers, requestCredentials } from './credentials.ts';
import type { Credentials } from './engine-process.ts';
import type { Engine, EngineResult } from './engine.ts';
import { engineException } from './engine-exception.ts';
import { sendException } from './send-exception.ts';
import { checkStatement, type InsertHead } from './check-statement.ts';
import type { InsertCounter } from './insert-counter.ts';
import { dataIn, insertFromFile, namedFormat } from './statement.ts';
import type { EngineStatement } from './statement.ts';

/**
 * The subset of ClickHouse's HTTP interface (https://clickhouse.com/docs/interfaces/http) that `@clickhouse/client` and curl use:
 * `/ping`; `POST /` with the query in the body, or with the query in `?query=` and an insert's data in the body; `param_…`,
 * settings and `database` in the URL; gzip both ways; one user's name and password; exceptions with their code, text and status.
 *
 * Not supported: sessions, multipart parameters, progress headers, several users, and statements that leave the engine
 * (`check-statement.ts`). In addition, readers can wait for the next insert (`insert-counter.ts`).
 */

/**
 * The maximum size of an insert's body in bytes, decompressed. With the default limits, a gateway's batch has about 20 MiB at most,
 * and 30 MiB of texts of its bodies.
 */
const INSERT_BYTES_MAX = 256 * 1024 * 1024;
/** The maximum size of a query's text in bytes, decompressed. If an insert has its data in the text, the data counts. */
const QUERY_BYTES_MAX = 16 * 1024 * 1024;
/** ClickHouse's `http_max_uri_size`. */
const HEAD_BYTES_MAX = 1024 * 1024;
/** ClickHouse's `keep_alive_timeout` in 26.7. */
const KEEP_ALIVE_MS = 30_000;

/** URL parameters that are not engine settings. */
const NO_SETTINGS: ReadonlySet<string> = new Set([
  ...['query', 'query_id', 'database', 'default_format', 'user', 'password', 'role', 'quota_key'],
  ...['wait_end_of_query', 'buffer_size', 'compress', 'decompress', 'stacktrace', 'client_protocol_version'],
  ...['send_progress_in_http_headers', 'http_headers_progress_interval_ms'],
]);

/** The clients that have access. */
export interface FrontAccess {
  /**
   * If true, programs on other machines also have access, under any name of this machine. If false, only programs on this machine
   * do.
   */
  readonly fromElsewhere: boolean;
  /** The only user. */
  readonly credentials: Credentials;
}

/**
 * Returns the reason to refuse a request from a page in a browser. A browser marks its requests with Origin or Sec-Fetch-Site.
 * Without `fromElsewhere`, a Host other than a loopback address is also refused, because DNS rebinding leads to such a Host.
 */
const refusalReason = ({ headers }: IncomingMessage, { fromElsewhere }: FrontAccess): string | undefined => {
  const host = (headers.host ?? '').replace(/:\d+$/, '');
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    return 'The embedded engine does not respond to pages in a browser.';
  }
  return fromElsewhere || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host)
    ? undefined
    : 'The embedded engine only responds to programs on this machine that use a loopback address.';
};

const limitBytes = (max: number): Transform => {
  let total = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      total += chunk.length;
      if (total > max) callback(engineException(229, 'QUERY_IS_TOO_LARGE', `the body is larger than ${max} bytes`));
      else callback(null, chunk);
    },
  });
};

/** Writes the decompressed body to `target`, up to a limit. Rejects if the client disconnects. */
const receiveBody = async (request: IncomingMessage, bytesMax: number, target: Writable): Promise<void> => {
  const limiter = limitBytes(bytesMax);
  if (request.headers['content-encoding'] === 'gzip') await pipeline(request, createGunzip(), limiter, target);
  else await pipeline(request, limiter, target);
};

const readQuery = async (request: IncomingMessage): Promise<string> => {
  const whole = new PassThrough();
  const [bytes] = await Promise.all([buffer(whole), receiveBody(request, QUERY_BYTES_MAX, whole)]);
  if (!isUtf8(bytes)) {
    const advice = "send an insert's binary data in the body and the query in ?query=";
    throw engineException(36, 'BAD_ARGUMENTS', `the query is not valid UTF-8; ${advice}`);
  }
  return bytes.toString('utf8');
};

const engineStatement = (request: IncomingMessage, search: URLSearchParams, query: string): EngineStatement => {
  if (search.has('session_id')) {
    throw engineException(48, 'NOT_IMPLEMENTED', 'sessions are not supported by the embedded engine');
  }
  const header = request.headers['x-clickhouse-database'];
  const pairs = [...search];
  return {
    query,
    database: search.get('database') ?? (typeof header === 'string' ? header : undefined),
    settings: pairs.filter(([name]) => !NO_SETTINGS.has(name) && !name.startsWith('param_')),
    params: pairs
      .filter(([name]) => name.startsWith('param_'))
      .map(([name, value]) => [name.slice('param_'.length), value]),
    readOnly: request.method === 'GET',
  };
};

/**
 * An insert and the place of its data: the text after the format in `query`, followed by the request's body if `hasBody` is set.
 */
interface InsertData {
  readonly query: string;
  readonly head: InsertHead;
  readonly hasBody: boolean;
}

/** Passes the data to the engine in a file, so that it never becomes part of the SQL. */
const insert = async (
  engine: Engine,
  request: IncomingMessage,
  search: URLSearchParams,
  { query, head, hasBody }: InsertData,
): Promise<EngineResult> => {
  const file = path.join(engine.temporaryDirectory, `${randomUUID()}.insert`);
  try {
    const target = createWriteStream(file, { mode: 0o600 });
    target.write(dataIn(query, head));
    if (hasBody) await receiveBody(request, INSERT_BYTES_MAX, target);
    else await finished(target.end());
    const sql = insertFromFile(query, head, file);
    return await engine.run('insert', engineStatement(request, search, sql), 'TabSeparated');
  } finally {
    await rm(file, { force: true });
  }
};

const sendResult = (
  response: ServerResponse,
  result: EngineResult,
  { format, gzip }: { readonly format: string; readonly gzip: boolean },
): void => {
  const summary = {
    read_rows: String(result.rowsRead),
    read_bytes: String(result.bytesRead),
    elapsed_ns: String(Math.round(result.elapsed * 1e9)),
  };
  response.setHeader('X-ClickHouse-Summary', JSON.stringify(summary));
  response.setHeader('X-ClickHouse-Format', format);
  response.setHeader(
    'Content-Type',
    /^JSON/.test(format) ? 'application/json; charset=UTF-8' : 'application/octet-stream',
  );
  if (gzip) response.setHeader('Content-Encoding', 'gzip');
  response.end(gzip ? gzipSync(result.bytes) : result.bytes);
};

const runQuery = async (
  engine: Engine,
  request: IncomingMessage,
  response: ServerResponse,
  search: URLSearchParams,
) => {
  const inUrl = search.get('query') ?? '';
  const isPost = request.method === 'POST';
  const first = inUrl === '' ? undefined : checkStatement(inUrl, engine.rules);
  if (first?.insert !== undefined && isPost) {
    const data = { query: inUrl, head: first.insert, hasBody: true };
    sendResult(response, await insert(engine, request, search, data), { format: 'TabSeparated', gzip: false });
    return;
  }
  if (request.headers['content-type']?.startsWith('multipart/') === true) {
    throw engineException(48, 'NOT_IMPLEMENTED', 'multipart parameters are not supported by the embedded engine');
  }
  const inBody = isPost ? await readQuery(request) : '';
  const query = inUrl === '' ? inBody : `${inUrl}\n${inBody}`;
  const checked = checkStatement(query, engine.rules);
  if (!checked.isRead && !isPost) {
    throw engineException(
      164,
      'READONLY',
      'Cannot execute query in readonly mode; use POST for statements that change something',
    );
  }
  const defaultFormat = search.get('default_format') ?? 'TabSeparated';
  const head = checked.insert;
  const result =
    head === undefined
      ? await engine.run('other', engineStatement(request, search, checked.text), defaultFormat)
      : await insert(engine, request, search, { query, head, hasBody: false });
  const gzip =
    search.get('enable_http_compression') === '1' && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  sendResult(response, result, { format: namedFormat(checked.text) ?? defaultFormat, gzip });
};

/**
 * Responds with 200 when an insert has followed the mark, with 204 if no insert follows in time, and with 503 if too many programs
 * are waiting.
 */
const awaitInsert = (inserts: InsertCounter, search: URLSearchParams, response: ServerResponse): void => {
  const timer = setTimeout(() => response.writeHead(204).end(), INSERT_WAIT_MS);
  const onInsert = (): void => {
    clearTimeout(timer);
    // Has no effect after the 204 response.
    response.end();
  };
  const leave = inserts.whenPast(search.get('after') ?? '', onInsert);
  response.on('close', () => {
    clearTimeout(timer);
    leave?.();
  });
  if (leave === undefined) response.writeHead(503).end('Too many programs are already waiting for the next insert.\n');
};

const respond = async (
  engine: Engine,
  access: FrontAccess,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const refusal = refusalReason(request, access);
  if (refusal !== undefined) {
    response.writeHead(403).end(`${refusal}\n`);
    return;
  }
  if (pathname === '/ping' || (pathname === '/' && request.method === 'GET' && !searchParams.has('query'))) {
    response.end('Ok.\n');
    return;
  }
  const { inserts } = engine;
  const isWait = pathname === INSERTS_PATH && request.method === 'GET' && inserts !== undefined;
  if (!isWait && (pathname !== '/' || (request.method !== 'POST' && request.method !== 'GET'))) {
    response.writeHead(404).end('Not found. Send queries to POST / or GET /?query=.\n');
    return;
  }
  response.setHeader('X-ClickHouse-Query-Id', searchParams.get('query_id') ?? randomUUID());
  response.setHeader('X-ClickHouse-Timezone', 'UTC');
  response.setHeader('X-ClickHouse-Server-Display-Name', 'standin-embedded');
  try {
    const stranger = refuseOthers(requestCredentials(request, searchParams), access.credentials);
    if (stranger !== undefined) throw stranger;
    if (isWait) {
      awaitInsert(inserts, searchParams, response);
      return;
    }
    if (inserts !== undefined) response.setHeader(INSERT_MARK_HEADER, inserts.mark());
    await runQuery(engine, request, response, searchParams);
  } catch (error) {
    sendException(request, response, engine.version, error);
  }
};

/** Creates the server without listening. */
export const createHttpFront = (engine: Engine, access: FrontAccess): Server =>
  createServer({ maxHeaderSize: HEAD_BYTES_MAX, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    // A client that disconnects must not stop the server.
    response.on('error', () => response.destroy());
    respond(engine, access, request, response).catch(() => response.destroy());
  });

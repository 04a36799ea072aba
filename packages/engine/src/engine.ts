import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { errorMessage } from '@standin/contract/error-message';
import { Session, type SessionOptions } from 'chdb';
import type { StatementRules } from './check-statement.ts';
import { writeEngineConfig } from './engine-config.ts';
import { EngineException } from './engine-exception.ts';
import { EngineStartError } from './engine-process.ts';
import { createGate } from './concurrency-limit.ts';
import { ignoreInGit } from './ignore-in-git.ts';
import { createInsertCounter, type InsertCounter } from './insert-counter.ts';
import { engineText, isInsert } from './statement.ts';
import type { EngineStatement } from './statement.ts';

export interface EngineResult {
  readonly bytes: Uint8Array;
  readonly rowsRead: number;
  readonly bytesRead: number;
  /** In seconds. */
  readonly elapsed: number;
}

export interface Engine {
  readonly version: string;
  /** The rules for `checkStatement`. */
  readonly rules: StatementRules;
  /** The folder for the bodies of inserts, which the engine reads. Emptied at startup. */
  readonly temporaryDirectory: string;
  /** Counts inserts, so that readers can wait for the next one. Undefined if rows can also arrive by means other than `run`. */
  readonly inserts?: InsertCounter | undefined;
  /**
   * Runs a statement. `format` applies to a query that does not name one. Rejects with an `EngineException`, with a `GateFullError`
   * if too many statements are waiting, or with a `StatementError` for an invalid setting name.
   */
  run(lane: Lane, statement: EngineStatement, format: string): Promise<EngineResult>;
  close(): void;
}

/** Inserts have their own queue, so that slow reads never hold up delivery. */
type Lane = 'insert' | 'other';

/**
 * The sum of this limit and `OTHERS_RUNNING_MAX` must be less than `THREADPOOL_SIZE`, because the HTTP front needs threads for its
 * own files.
 */
const INSERTS_RUNNING_MAX = 4;
const OTHERS_RUNNING_MAX = 8;
const WAITING_MAX = 200;

const toException = (error: unknown): EngineException => {
  const message = errorMessage(error);
  const code = /Code: (\d+)/.exec(message)?.[1];
  return code === undefined
    ? new EngineException(1001, `Code: 1001. DB::Exception: ${message} (STD_EXCEPTION)`, { cause: error })
    : new EngineException(Number(code), message, { cause: error });
};

/**
 * Returns the id of the process that holds the folder. The engine records this id in a file in the folder and keeps that file
 * locked.
 */
const holderPid = async (directory: string): Promise<string | undefined> => {
  const status = await readFile(path.join(directory, 'status'), 'utf8').catch(() => '');
  return /^PID: (\d+)/m.exec(status)?.[1];
};

const openSession = async (directory: string, options: SessionOptions): Promise<Session> => {
  try {
    return new Session(directory, options);
  } catch (error) {
    // The engine writes its own message (code 76 if the folder is locked) only to stderr.
    const holder = await holderPid(directory);
    const inUse = holder !== undefined && isAlive(Number(holder));
    throw new EngineStartError(
      inUse
        ? `the ClickHouse data in ${directory} is in use by process ${holder}; stop that process or choose another data folder`
        : `the ClickHouse engine cannot open ${directory}: ${errorMessage(error)}`,
      { cause: error, inUse },
    );
  }
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

const readTableFunctions = (session: Session): ReadonlySet<string> =>
  new Set(session.query('SELECT lower(name) FROM system.table_functions', 'TSVRaw').trim().split('\n'));

/** Opens ClickHouse on a folder. Only one process at a time can do this, because the engine locks the folder. */
export const openEngine = async (dataDir: string, configFile?: string): Promise<Engine> => {
  const root = path.resolve(dataDir);
  if (/[*?{}[\]]/.test(root)) {
    throw new EngineStartError(`the data folder path must not contain * ? { } [ or ], but ${root} does`);
  }
  const directory = path.join(root, 'engine');
  const temporaryDirectory = path.join(root, 'tmp');
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new EngineStartError(`cannot create the data folder ${directory}: ${String(error)}`, { cause: error });
  }
  await ignoreInGit(root, ['config', 'curl.conf', 'engine', 'tmp']);
  const config = await writeEngineConfig(path.join(root, 'config'), configFile);
  const options = { connectionArgs: [`--config-file=${config}`] };
  // Holds the lock and keeps the engine running between statements.
  const keeper = await openSession(directory, options);
  await rm(temporaryDirectory, { recursive: true, force: true });
  await mkdir(temporaryDirectory, { mode: 0o700 });

  const lanes = {
    insert: createGate(INSERTS_RUNNING_MAX, WAITING_MAX),
    other: createGate(OTHERS_RUNNING_MAX, WAITING_MAX),
  };

  // With the user's configuration file, the engine may be part of a cluster with other servers that also insert.
  const inserts = configFile === undefined ? createInsertCounter() : undefined;
  const runNow = async (text: string, format: string): Promise<EngineResult> => {
    // Opening a connection takes 0.3 ms and isolates the settings of each statement.
    const session = new Session(directory, options);
    try {
      const result = await session.queryAsync(text, { format });
      return {
        bytes: result.bytes(),
        rowsRead: result.rowsRead,
        bytesRead: result.bytesRead,
        elapsed: result.elapsed,
      };
    } catch (error) {
      throw toException(error);
    } finally {
      session.close();
    }
  };

  return {
    version: keeper.query('SELECT version()', 'TSVRaw').trim(),
    rules: { tableFunctions: readTableFunctions(keeper), hasClusters: configFile !== undefined },
    temporaryDirectory,
    inserts,
    run: async (lane, statement, format) => {
      try {
        return await lanes[lane].run(() => runNow(engineText(statement), format));
      } finally {
        // A failed insert may have inserted some of its rows.
        if (isInsert(statement.query)) inserts?.count();
      }
    },
    close: () => keeper.close(),
  };
};

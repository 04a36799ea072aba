import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { Session, type SessionOptions } from 'chdb';
import type { StatementRules } from './check-statement.ts';
import { writeEngineConfig } from './engine-config.ts';
import { EngineException } from './engine-exception.ts';
import { EngineStartError } from './engine-process.ts';
import { createGate } from './gate.ts';
import { ignoreInGit } from './ignore-in-git.ts';
import { createInsertCounter, type InsertCounter } from './insert-counter.ts';
import { engineText, isInsert } from './statement.ts';
import type { EngineStatement } from './statement.ts';

export interface EngineResult {
  readonly bytes: Uint8Array;
  readonly rowsRead: number;
  readonly bytesRead: number;
  /** Seconds. */
  readonly elapsed: number;
}

export interface Engine {
  readonly version: string;
  /** What `checkStatement` goes by. */
  readonly rules: StatementRules;
  /** Where bodies of inserts wait for the engine to read them. Emptied at start. */
  readonly temporaryDirectory: string;
  /** Undefined where rows can also arrive another way than by `run`. */
  readonly inserts?: InsertCounter | undefined;
  /** `format` is that of a query that names none. Rejects with an `EngineException`. */
  run(lane: Lane, statement: EngineStatement, format: string): Promise<EngineResult>;
  close(): void;
}

/** Inserts and everything else queue apart, so that slow reads never hold up delivery. */
type Lane = 'insert' | 'other';

/** Together with room for the front's own files: less than THREADPOOL_SIZE. */
const INSERTS_RUNNING_MAX = 4;
const OTHERS_RUNNING_MAX = 8;
const WAITING_MAX = 200;

const toException = (error: unknown): EngineException => {
  const message = error instanceof Error ? error.message : String(error);
  const code = /Code: (\d+)/.exec(message)?.[1];
  return code === undefined
    ? new EngineException(1001, `Code: 1001. DB::Exception: ${message} (STD_EXCEPTION)`, { cause: error })
    : new EngineException(Number(code), message, { cause: error });
};

/** The engine notes its process in a file of the folder, which it keeps locked. */
const holderOf = async (directory: string): Promise<string | undefined> => {
  const status = await readFile(path.join(directory, 'status'), 'utf8').catch(() => '');
  return /^PID: (\d+)/m.exec(status)?.[1];
};

const openSession = async (directory: string, options: SessionOptions): Promise<Session> => {
  try {
    return new Session(directory, options);
  } catch (error) {
    // The engine's own words (code 76, when the folder is locked) go to stderr only.
    const holder = await holderOf(directory);
    const inUse = holder !== undefined && isAlive(Number(holder));
    throw new EngineStartError(
      inUse
        ? `the ClickHouse data in ${directory} is in use by process ${holder}: stop it, or choose another data folder`
        : `the ClickHouse engine cannot open ${directory}: ${error instanceof Error ? error.message : String(error)}`,
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

/** Opens ClickHouse over a folder. One process at a time can: the engine locks it. */
export const openEngine = async (dataDir: string, configFile?: string): Promise<Engine> => {
  const root = path.resolve(dataDir);
  if (/[*?{}[\]]/.test(root)) {
    throw new EngineStartError(`the data folder's path must not contain any of * ? { } [ ], which ${root} does`);
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
  // Holds the lock, and keeps the engine running between statements.
  const keeper = await openSession(directory, options);
  await rm(temporaryDirectory, { recursive: true, force: true });
  await mkdir(temporaryDirectory, { mode: 0o700 });

  const lanes = {
    insert: createGate(INSERTS_RUNNING_MAX, WAITING_MAX),
    other: createGate(OTHERS_RUNNING_MAX, WAITING_MAX),
  };

  // A configuration of its own may make the engine part of a cluster, whose other servers insert, too.
  const inserts = configFile === undefined ? createInsertCounter() : undefined;
  const runNow = async (text: string, format: string): Promise<EngineResult> => {
    // A connection takes 0.3 ms, and nothing that one statement sets is seen by another.
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
        // One that failed may have inserted some of its rows.
        if (isInsert(statement.query)) inserts?.count();
      }
    },
    close: () => keeper.close(),
  };
};

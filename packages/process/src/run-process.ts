import process from 'node:process';
import {
  LOG_FORMAT,
  parseSettings,
  SettingsError,
  type ProcessSettingsSchema,
  type ParsedSettings,
} from '@standin/contract';
import { pino, type Logger } from 'pino';

/** A process that has started. */
export interface Running {
  /** Called once, on the first SIGTERM or SIGINT. The process exits when the promise resolves. */
  stop(): Promise<void>;
  /** After this time, the process exits even if `stop` has not resolved. Undefined if `stop` has its own limit. */
  readonly stopMsMax?: number;
  /** Rejects if an error ends the process. The error is already in the log. */
  readonly ended?: Promise<void>;
}

export interface ProcessDefinition<S extends ProcessSettingsSchema> {
  /** For example `operator`. Included in each line of the log, as `component`. */
  readonly name: string;
  readonly settings: S;
  readonly start: (settings: ParsedSettings<S>, logger: Logger) => Promise<Running>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Runs a cluster process with settings from the environment (docs/reference/configuration.md) until SIGTERM or SIGINT. Exits with 0 after an
 * orderly stop. Exits with 1 if the settings cannot be used, if starting or stopping fails, if `Running.ended` rejects, or if it
 * receives a signal while it is starting or stopping.
 */
export const runProcess = async <S extends ProcessSettingsSchema>(
  { name, settings: schema, start }: ProcessDefinition<S>,
  env: Environment,
): Promise<void> => {
  const settings = readSettings(schema, env);
  const logger = pino({ ...LOG_FORMAT, base: { component: name }, level: settings.logLevel });
  const fail = (error: unknown, message: string): never => {
    logger.fatal({ err: error }, message);
    process.exit(1);
  };
  let running: Running | undefined = undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    logger.info({ signal }, 'signal received');
    // The handler must exit by itself, because for the first process in a container, the kernel ignores a signal without a handler.
    if (running === undefined) process.exit(1);
    for (const again of STOP_SIGNALS) process.off(again, onSignal).once(again, () => process.exit(1));
    const { stopMsMax } = running;
    if (stopMsMax !== undefined)
      setTimeout(
        () => fail(new Error(`not stopped after ${stopMsMax} ms`), 'could not stop the process'),
        stopMsMax,
      ).unref();
    running.stop().then(
      () => process.exit(0),
      (error: unknown) => fail(error, 'could not stop the process'),
    );
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  running = await start(settings, logger).catch((error: unknown) => fail(error, 'could not start the process'));
  running.ended?.catch(() => process.exit(1));
};

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const readSettings = <S extends ProcessSettingsSchema>(schema: S, env: Environment): ParsedSettings<S> => {
  try {
    return parseSettings(schema, env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
};

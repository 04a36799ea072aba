import { parseSettings, printableJson, SettingsError } from '@standin/contract';
import { pino } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { runGateway } from './gateway.ts';
import { gatewaySettings, type GatewaySettings } from './settings.ts';

/** `node gateway/src/main.ts`: settings from the environment, until SIGTERM or SIGINT. */
const readSettings = (): GatewaySettings => {
  try {
    return parseSettings(gatewaySettings, process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
};

const settings = readSettings();
const logger = pino({ name: 'gateway', level: settings.logLevel, hooks: { streamWrite: printableJson } });
const registry = new Registry();
// Measuring the event loop takes half a percent of a core, so `standin dev` does not do it.
collectDefaultMetrics({ register: registry });
const gateway = await runGateway({ settings, logger, registry });

const stop = (signal: NodeJS.Signals): void => {
  logger.info({ signal }, 'signal received');
  // A second signal ends the process immediately.
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => process.exit(1));
  gateway.stop().then(
    () => process.exit(0),
    (error: unknown) => {
      logger.fatal({ err: error }, 'stop failed');
      process.exit(1);
    },
  );
};
process.once('SIGTERM', stop).once('SIGINT', stop);

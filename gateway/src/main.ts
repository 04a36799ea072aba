import { collectProcessMetrics } from '@standin/process/process-metrics';
import { runProcess } from '@standin/process/run-process';
import { Registry } from 'prom-client';
import { runGateway } from './gateway.ts';
import { warmUp } from './respond/warm-up.ts';
import { gatewaySettings } from './settings.ts';

/** Runs the gateway in a cluster: `node gateway/src/main.ts`. */
await runProcess(
  {
    name: 'gateway',
    settings: gatewaySettings,
    start: async (settings, logger) => {
      await warmUp();
      const registry = new Registry();
      // Measuring the event loop delay takes half a percent of a CPU core, so `standin dev` does not collect these metrics.
      collectProcessMetrics(registry, 'gateway');
      return runGateway({ settings, logger, registry });
    },
  },
  process.env,
);

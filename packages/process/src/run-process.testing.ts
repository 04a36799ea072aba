import { once } from 'node:events';
import process from 'node:process';
import { z } from 'zod';
import { runProcess } from './run-process.ts';

/** `run-process.test.ts` starts this file as a process. The settings determine how the process behaves. */
const settings = z.object({
  start: z.enum(['works', 'fails', 'hangs']).default('works'),
  stop: z.enum(['works', 'fails', 'hangs']).default('works'),
  stopMsMax: z.coerce.number().default(60_000),
  end: z.enum(['never', 'fails']).default('never'),
  logLevel: z.string().default('info'),
});

await runProcess(
  {
    name: 'example',
    settings,
    start: async ({ start, stop, stopMsMax, end }, logger) => {
      if (start === 'fails') throw new Error('no port');
      // Keeps the process alive.
      const work = setInterval(() => undefined, 60_000);
      if (start === 'hangs') {
        logger.info('starting');
        await once(process, 'never');
      }
      // Wait until `runProcess` has the result.
      setImmediate(() => logger.info('started \u202e'));
      return {
        stopMsMax,
        stop: async () => {
          logger.info('stopping');
          if (stop === 'fails') throw new Error('no end');
          if (stop === 'hangs') await once(process, 'never');
          clearInterval(work);
        },
        ...(end === 'fails' && { ended: Promise.reject(new Error('fatal')) }),
      };
    },
  },
  process.env,
);

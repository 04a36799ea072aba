import { once } from 'node:events';
import process from 'node:process';
import { z } from 'zod';
import { runProcess } from './run-process.ts';

/** A process for `run-process.test.ts`. */
const settings = z.object({
  start: z.enum(['works', 'fails']).default('works'),
  stop: z.enum(['works', 'fails', 'hangs']).default('works'),
  stopMsMax: z.coerce.number().default(60_000),
  end: z.enum(['never', 'fails']).default('never'),
  logLevel: z.string().default('info'),
});

await runProcess(
  {
    name: 'example',
    settings,
    start: ({ start, stop, stopMsMax, end }, logger) => {
      if (start === 'fails') return Promise.reject(new Error('no port'));
      // Keeps the process alive.
      const work = setInterval(() => undefined, 60_000);
      logger.info('started \u202e');
      return Promise.resolve({
        stopMsMax,
        stop: async () => {
          logger.info('stopping');
          if (stop === 'fails') throw new Error('no end');
          if (stop === 'hangs') await once(process, 'never');
          clearInterval(work);
        },
        ...(end === 'fails' && { ended: Promise.reject(new Error('fatal')) }),
      });
    },
  },
  process.env,
);

import { registerHooks } from 'node:module';

/**
 * This module is loaded into a gateway under test (`node --import`). The gateway counts refused requests until it receives SIGUSR2, and
 * again after the next one.
 */
registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/gateway/src/observe/count-refusal.ts')) return loaded;
    const source = `
      import { countRefusal as count } from '${url}?counted';
      let isCounting = true;
      process.on('SIGUSR2', () => { isCounting = !isCounting; });
      export const countRefusal = (...refused) => isCounting ? count(...refused) : undefined;`;
    return { ...loaded, source };
  },
});

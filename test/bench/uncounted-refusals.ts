import { registerHooks } from 'node:module';

/** This module is loaded into a gateway under test (`node --import`), which then does not count refused requests. */
registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/gateway/src/observe/count-refusal.ts')) return loaded;
    return { ...loaded, source: 'export const countRefusal = () => undefined;' };
  },
});

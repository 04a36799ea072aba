import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import process from 'node:process';

/**
 * This module is loaded into a gateway under test (`node --import`). While the file whose path is in TEST_EARLIER_FILE exists, a
 * gateway that starts is one of the version before `spec.responses`: its configuration schema has no such field, and it does not
 * announce the feature.
 */

const CONTRACT = '/packages/contract/src/config-objects.ts';
const CHANGES = [
  [/^ *responses: z\.array\(responseConfig\).*\n/m, ''],
  [/\.omit\(\{ responses: true \}\)/, ''],
  [/^(export const CONFIG_FEATURES = )\[[^\]]*\]/m, "$1['path-parameters']"],
] as const;

const change = (source: string): string =>
  CHANGES.reduce((text, [pattern, replacement]) => {
    if (text.search(pattern) === -1) throw new Error(`${CONTRACT} does not contain ${String(pattern)}`);
    return text.replace(pattern, replacement);
  }, source);

if (existsSync(process.env['TEST_EARLIER_FILE'] ?? ''))
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(CONTRACT)) return loaded;
      const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      return { ...loaded, source: change(source) };
    },
  });

import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import process from 'node:process';

/**
 * This module is loaded into a process under test (`node --import`). While the file whose path is in TEST_EARLIER_FILE exists, a
 * gateway or an operator that starts is one of a version without `spec.responses`: its schemas have no such field, and a gateway does
 * not announce the feature. No commit is such a version: operators withhold Endpoints with unknown fields only since a later one.
 */

type Change = readonly [pattern: RegExp, replacement: string];
const CHANGES: Readonly<Record<string, readonly Change[]>> = {
  '/packages/contract/src/config-objects.ts': [
    [/^ *responses: z\.array\(responseConfig\).*\n/m, ''],
    [/^ *\.omit\(\{ responses: true \}\)\n/m, ''],
    [/^(export const CONFIG_FEATURES = )\[[^\]]*\]/m, "$1['path-parameters']"],
  ],
  '/crds/src/v1alpha1/endpoint.ts': [[/^ *responses: responses\n *\.optional\(\)\n *\.describe\(\n.*\n *\),\n/m, '']],
};

const change = (source: string, file: string): string =>
  (CHANGES[file] ?? []).reduce((text, [pattern, replacement]) => {
    if (text.search(pattern) === -1) throw new Error(`${file} does not contain ${String(pattern)}`);
    return text.replace(pattern, replacement);
  }, source);

if (existsSync(process.env['TEST_EARLIER_FILE'] ?? ''))
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      const file = Object.keys(CHANGES).find((name) => url.endsWith(name));
      if (file === undefined) return loaded;
      const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      return { ...loaded, source: change(source, file) };
    },
  });

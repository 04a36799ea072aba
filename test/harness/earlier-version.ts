import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import process from 'node:process';

/**
 * This module is loaded into a process under test (`node --import`). While the file whose path is in TEST_EARLIER_FILE exists, a
 * gateway or an operator that starts is one of the version before `spec.responses`, `spec.metrics` and rate limits: its schemas have
 * no such fields, and a gateway does not announce the features.
 */

type Change = readonly [pattern: RegExp, replacement: string];
const CHANGES: Readonly<Record<string, readonly Change[]>> = {
  '/packages/contract/src/config-objects.ts': [
    [/^ *requestsPerSecond: z\..*\n/m, ''],
    [/^ *responses: z\.array\(responseConfig\).*\n/m, ''],
    [/^ *\.omit\(\{ responses: true \}\)\n/m, ''],
    [/^ *metrics: z\.literal\('Enabled'\).*\n/m, ''],
    [/^(export const CONFIG_FEATURES = )\[[^\]]*\]/m, "$1['path-parameters']"],
  ],
  '/gateway/src/config/disk-copy.ts': [[/^ *requestsPerSecond: z\..*\n/m, '']],
  '/packages/contract/src/config-stream.ts': [[/, 'project-metrics'\]/, ']']],
  '/crds/src/v1alpha1/project.ts': [
    [/^ *metrics: z\n *\.enum\(.*\n *\.optional\(\)\n *\.describe\(\n.*\n *\),\n/m, ''],
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

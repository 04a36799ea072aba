import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import process from 'node:process';

/**
 * This module is loaded into a process under test (`node --import`). While the file whose path is in TEST_EARLIER_FILE exists, an
 * operator or a gateway that starts belongs to a version without `spec.responses`: its schemas have no such field. Otherwise,
 * `spec.responses` is a feature that its version has added.
 */

type Change = readonly [pattern: RegExp, replacement: string];
type Changes = Readonly<Record<string, readonly Change[]>>;

const EARLIER: Changes = {
  '/packages/contract/src/config-objects.ts': [
    [/^ *responses: z\.array\(responseConfig\).*\n/m, ''],
    [/^ *\.omit\(\{ responses: true \}\)\n/m, ''],
  ],
  '/crds/src/v1alpha1/endpoint.ts': [[/^ *responses: responses\n *\.optional\(\)\n *\.describe\(\n.*\n *\),\n/m, '']],
};
const LATER: Changes = {
  '/packages/contract/src/config-objects.ts': [
    [/^(export const CONFIG_FEATURES.* = )\{\}/m, '$1{ responses: ({ responses }) => responses !== undefined }'],
  ],
};
const CHANGES = existsSync(process.env['TEST_EARLIER_FILE'] ?? '') ? EARLIER : LATER;

const change = (source: string, file: string): string =>
  (CHANGES[file] ?? []).reduce((text, [pattern, replacement]) => {
    if (text.search(pattern) === -1) throw new Error(`${file} does not contain ${String(pattern)}`);
    return text.replace(pattern, replacement);
  }, source);

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const file = Object.keys(CHANGES).find((name) => url.endsWith(name));
    if (file === undefined) return loaded;
    const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
    return { ...loaded, source: change(source, file) };
  },
});

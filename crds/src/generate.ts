import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { API_GROUP, KINDS, RESOURCES } from '@standin/contract';
import { stringify } from 'yaml';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { DEFINITIONS } from './kinds.ts';

const HEADER = '# Generated from crds/src by `npm run generate`; edit the zod schemas there.\n';

/** Path below the repository → content, of each CRD. `npm run check` compares them with what is committed. */
export const generateManifests = (): Map<string, string> =>
  new Map(
    KINDS.map((kind) => [
      `crds/manifests/${API_GROUP}_${RESOURCES[kind].plural}.yaml`,
      HEADER +
        stringify(customResourceDefinition(DEFINITIONS[kind]), {
          aliasDuplicateObjects: false,
          lineWidth: 120,
          version: '1.1',
        }),
    ]),
  );

if (import.meta.main) {
  for (const [path, content] of generateManifests()) {
    const file = join(import.meta.dirname, '../..', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

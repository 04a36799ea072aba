import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { API_GROUP, KINDS, RESOURCES } from '@standin/contract';
import { stringify } from 'yaml';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { DEFINITIONS } from './kinds.ts';

const HEADER = '# Generated from crds/src by `npm run generate`; edit the zod schemas there.\n';

/** The output folders for kubectl, and for Helm, which reads only files inside a chart. */
export const MANIFEST_FOLDERS = ['crds/manifests', 'charts/standin/charts/standin-crds/files'] as const;

/**
 * Returns the content of each CRD file by path below the repository root. `npm run check` compares the content with the committed
 * files.
 */
export const generateManifests = (): Map<string, string> =>
  new Map(
    KINDS.flatMap((kind) => {
      const content =
        HEADER +
        stringify(customResourceDefinition(DEFINITIONS[kind]), {
          aliasDuplicateObjects: false,
          lineWidth: 120,
          version: '1.1',
        });
      return MANIFEST_FOLDERS.map(
        (folder) => [`${folder}/${API_GROUP}_${RESOURCES[kind].plural}.yaml`, content] as const,
      );
    }),
  );

if (import.meta.main) {
  for (const [path, content] of generateManifests()) {
    const file = join(import.meta.dirname, '../..', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

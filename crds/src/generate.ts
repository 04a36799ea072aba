import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { API_GROUP, KINDS, RESOURCES } from '@standin/contract';
import { stringify } from 'yaml';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { DEFINITIONS } from './kinds.ts';

const HEADER = '# Generated from crds/src by `npm run generate`; edit the zod schemas there.\n';

/** Path below the repository root → content, for each CRD. `npm run check` compares them with the committed files. */
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

/** The charts that contain the CRDs as templates, so that `helm upgrade` installs new versions, and the values that guard them. */
const CHARTS = [
  { folder: 'charts/standin/templates/crds', only: '.Values.crds.enabled', keep: '.Values.crds.keep' },
  { folder: 'charts/standin-crds/templates', only: undefined, keep: '.Values.keep' },
] as const;

/** Makes Helm keep a CRD when the release is uninstalled: deleting a CRD deletes all objects of its kind. */
const keptIf = (keep: string): string =>
  `  annotations:\n    {{- if ${keep} }}\n    helm.sh/resource-policy: keep\n    {{- end }}\n`;

/** The same CRDs as templates of the charts: path below the repository root → content. */
export const generateChartTemplates = (): Map<string, string> =>
  new Map(
    CHARTS.flatMap(({ folder, only, keep }) =>
      [...generateManifests()].map(([path, content]) => {
        if (content.includes('{{')) throw new Error(`${path} contains {{, which Helm would interpret as a template`);
        const template = content.replace('  annotations:\n', keptIf(keep));
        const guarded = only === undefined ? template : `{{- if ${only} }}\n${template}{{- end }}\n`;
        return [`${folder}/${basename(path)}`, guarded];
      }),
    ),
  );

if (import.meta.main) {
  for (const [path, content] of [...generateManifests(), ...generateChartTemplates()]) {
    const file = join(import.meta.dirname, '../..', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

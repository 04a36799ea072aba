import { GROUP_VERSION, type DesiredObject, type ResourceObject } from '@standin/contract';
import type { ProjectSpec } from '@standin/crds';
import { toObjectName } from '../../src/resources/object-name.ts';
import { savedLine } from '../ui/text-lines.ts';

/** The values of a project form. Each is named after its path in the object. */
export interface ProjectValues {
  readonly 'spec.displayName': string;
  readonly 'metadata.name': string;
  /** `namespace/name`. A project is in the same namespace as its account. */
  readonly 'spec.accountRef': string;
  readonly 'spec.retentionDays': string;
  /** `Enabled`, or empty if the project has no metrics of its own. */
  readonly 'spec.metrics': string;
  readonly 'spec.uri': string;
}

export const PROJECT_FIELDS = [
  'spec.displayName',
  'metadata.name',
  'spec.accountRef',
  'spec.retentionDays',
  'spec.metrics',
  'spec.uri',
] as const satisfies readonly (keyof ProjectValues)[];

export const readProjectValues = (form: FormData): ProjectValues => {
  const text = (name: keyof ProjectValues): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  return {
    'spec.displayName': text('spec.displayName'),
    'metadata.name': text('metadata.name'),
    'spec.accountRef': text('spec.accountRef'),
    'spec.retentionDays': text('spec.retentionDays'),
    'spec.metrics': text('spec.metrics'),
    'spec.uri': text('spec.uri'),
  };
};

/** Converts whole numbers. Any other text is returned unchanged, so that the schema reports the error. */
export const numberOrText = (text: string): number | string => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);

/** Returns the fields of a spec that the form does not show. */
const othersIn = (spec: unknown): object => {
  const shown = new Set<string>(PROJECT_FIELDS.map((field) => field.replace('spec.', '')));
  return Object.fromEntries(Object.entries(spec ?? {}).filter(([field]) => !shown.has(field)));
};

/** Returns the field for an unchecked box: `Disabled` if it is in the spec, otherwise no field. */
const withoutMetrics = (spec: unknown): Partial<ProjectSpec> => {
  const { metrics } = (spec ?? {}) as Partial<ProjectSpec>;
  return metrics === 'Disabled' ? { metrics } : {};
};

/**
 * Converts the form to an object. Omits empty fields. An existing object keeps its name, its namespace, and what the form does not
 * show.
 */
export const toProject = (values: ProjectValues, before?: DesiredObject): DesiredObject => {
  const [namespace = '', account = ''] = values['spec.accountRef'].split('/');
  const { 'spec.displayName': displayName, 'spec.retentionDays': retentionDays } = values;
  const { 'spec.metrics': metrics, 'spec.uri': uri } = values;
  const { displayName: savedName, accountRef } = (before?.spec ?? {}) as Partial<ProjectSpec>;
  const name = values['metadata.name'] === '' ? toObjectName(displayName) : values['metadata.name'];
  return {
    apiVersion: GROUP_VERSION,
    kind: 'Project',
    metadata: before?.metadata ?? { name, namespace },
    spec: {
      ...othersIn(before?.spec),
      ...(displayName !== '' && { displayName: savedLine(displayName, savedName) }),
      accountRef: accountRef?.name === account ? accountRef : { name: account },
      ...(uri !== '' && { uri }),
      ...(retentionDays !== '' && { retentionDays: numberOrText(retentionDays) }),
      ...(metrics === '' ? withoutMetrics(before?.spec) : { metrics }),
    },
  };
};

/** Converts an object to form values. Uses the spec as written, without default values. */
export const toProjectValues = ({ metadata: { namespace, name }, spec }: ResourceObject): ProjectValues => {
  const { displayName = '', accountRef, retentionDays, metrics, uri = '' } = (spec ?? {}) as Partial<ProjectSpec>;
  return {
    'spec.displayName': displayName,
    'metadata.name': name,
    'spec.accountRef': `${namespace}/${accountRef?.name ?? ''}`,
    'spec.retentionDays': String(retentionDays ?? ''),
    'spec.metrics': metrics === 'Enabled' ? metrics : '',
    'spec.uri': uri,
  };
};

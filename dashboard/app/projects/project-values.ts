import { GROUP_VERSION, type DesiredObject, type ResourceObject } from '@standin/contract';
import type { ProjectSpec } from '@standin/crds';
import { objectNameOf } from '../lib/object-name.ts';

/** A project's form, as text. Field names are the object's paths. */
export interface ProjectValues {
  readonly 'spec.displayName': string;
  readonly 'metadata.name': string;
  /** `namespace/name`: a project lies in its account's namespace. */
  readonly 'spec.accountRef': string;
  readonly 'spec.retentionDays': string;
  readonly 'spec.uri': string;
}

export const PROJECT_FIELDS = [
  'spec.displayName',
  'metadata.name',
  'spec.accountRef',
  'spec.retentionDays',
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
    'spec.uri': text('spec.uri'),
  };
};

/** What is no whole number stays text, for the schema to refuse in its own words. */
export const numberOrText = (text: string): number | string => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);

/** `metadata`: what an object that exists has; its name and namespace stay. An empty field is a field that is not there. */
export const toProject = (values: ProjectValues, metadata?: DesiredObject['metadata']): DesiredObject => {
  const [namespace = '', account = ''] = values['spec.accountRef'].split('/');
  const { 'spec.displayName': displayName, 'spec.retentionDays': retentionDays, 'spec.uri': uri } = values;
  const name = values['metadata.name'] === '' ? objectNameOf(displayName) : values['metadata.name'];
  return {
    apiVersion: GROUP_VERSION,
    kind: 'Project',
    metadata: metadata ?? { name, namespace },
    spec: {
      ...(displayName !== '' && { displayName }),
      accountRef: { name: account },
      ...(uri !== '' && { uri }),
      ...(retentionDays !== '' && { retentionDays: numberOrText(retentionDays) }),
    },
  };
};

/** From the spec as it was written, so that what a default fills in stays out of it. */
export const projectValuesOf = ({ metadata: { namespace, name }, spec }: ResourceObject): ProjectValues => {
  const { displayName = '', accountRef, retentionDays, uri = '' } = (spec ?? {}) as Partial<ProjectSpec>;
  return {
    'spec.displayName': displayName,
    'metadata.name': name,
    'spec.accountRef': `${namespace}/${accountRef?.name ?? ''}`,
    'spec.retentionDays': String(retentionDays ?? ''),
    'spec.uri': uri,
  };
};

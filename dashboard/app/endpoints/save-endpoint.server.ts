import type { DesiredObject, ResourceObject } from '@standin/contract';
import { parseObject, type Problem } from '@standin/crds';
import type { Backend, ExpectedGeneration } from '../../src/backend.ts';
import { desiredOf } from '../../src/resources/manifest-yaml.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { endpointSpec } from '../../src/resources/specs.ts';
import { errorsOf, type FormErrors } from '../ui/form-errors.ts';
import {
  checkForm,
  expectedGeneration,
  managedForm,
  refusedForm,
  saveForm,
  type SavedForm,
} from '../ui/save-form.server.ts';
import { endpointFields, readEndpointValues, toEndpoint, type EndpointValues } from './endpoint-values.ts';

/** The submitted values, the object that they describe, and the generation that the object must have when it is saved. */
export interface EndpointDraft {
  readonly values: EndpointValues;
  readonly object: DesiredObject;
  readonly expected: ExpectedGeneration;
}

/** Reads a submitted form. `before` is the endpoint that is being edited, or undefined for a new endpoint. */
export const draftOf = (form: FormData, params: ProjectName, before: ResourceObject | undefined): EndpointDraft => {
  const values = readEndpointValues(form);
  const { json, responses } = before === undefined ? {} : endpointSpec(before);
  const existing = before && { metadata: desiredOf(before).metadata, body: json?.body, responses };
  return {
    values,
    object: toEndpoint(values, { ...params, ...existing }),
    expected: before === undefined ? 'absent' : expectedGeneration(form),
  };
};

/**
 * Writes the draft, or only validates it if `dryRun` is true. If a GitOps tool manages the endpoint (`before`), returns that as an
 * error.
 */
export const applyDraft = async (
  { resources }: Backend,
  { values, object, expected }: EndpointDraft,
  before: ResourceObject | undefined,
  dryRun: boolean,
): Promise<SavedForm> => {
  const managed = managedForm(before);
  if (managed !== undefined) return managed;
  const toErrors = (problems: readonly Problem[]): FormErrors => errorsOf(problems, endpointFields(values));
  // The API server cannot validate an object without a name. If the display name is missing too, omit the problem with the name,
  // because the name is derived from the display name.
  if (object.metadata.name === '') {
    const parsed = parseObject(object);
    const problems = parsed.ok ? [] : parsed.problems;
    const asksForTitle = problems.some(({ path }) => path === 'spec.displayName');
    return refusedForm(toErrors(asksForTitle ? problems.filter(({ path }) => path !== 'metadata.name') : problems));
  }
  return dryRun
    ? checkForm(resources.check(object, expected), toErrors)
    : saveForm(resources.apply(object, expected), toErrors);
};

import type { DesiredObject, ResourceObject } from '@standin/contract';
import { parseObject, type Problem } from '@standin/crds';
import type { Backend, ExpectedVersion } from '../../src/backend.ts';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { toDesired } from '../../src/resources/manifest-yaml.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { toFormErrors, type FormErrors } from '../ui/form-errors.ts';
import {
  checkForm,
  expectedVersion,
  managedForm,
  refusedForm,
  saveForm,
  type SavedForm,
} from '../ui/save-form.server.ts';
import { endpointFields, readEndpointValues, toEndpoint, type EndpointValues } from './endpoint-values.ts';
import { editedIndex, editList, LIST_EDIT, readListEdit, type ListEdit } from './list-edit.ts';
import { newResponse, responseFieldPath, type ResponseValues } from './response-values.ts';

/** The submitted values, the object that they describe, and the version that the object must have when it is saved. */
export interface EndpointDraft {
  readonly values: EndpointValues;
  readonly object: DesiredObject;
  readonly expected: ExpectedVersion;
  /** True if the user pressed a button that changes the list of responses, which works like this only without JavaScript. */
  readonly isListEdit: boolean;
}

/** The name of the field with the endpoint that a new endpoint copies. What the form does not show is copied from it. */
const COPY_OF = 'copyOf';

/** Returns the endpoint that a form for a new endpoint copies, if any. Rejects with `NotFound` or `SourceError`. */
export const copiedBy = async (
  backend: Backend,
  params: ProjectName,
  fields: FormData | URLSearchParams,
): Promise<ResourceObject | undefined> => {
  const endpoint = fields.get(COPY_OF);
  return typeof endpoint === 'string' && endpoint !== '' ? getEndpoint(backend, { ...params, endpoint }) : undefined;
};

/**
 * Reads a submitted form. `before` is the endpoint that is being edited, or undefined for a new endpoint. `copied` is the endpoint
 * that a new endpoint copies.
 */
export const readDraft = (
  form: FormData,
  params: ProjectName,
  before: ResourceObject | undefined,
  copied?: ResourceObject,
): EndpointDraft => {
  const submitted = readEndpointValues(form);
  const edit = readListEdit(form.get(LIST_EDIT));
  const values = edit === undefined ? submitted : { ...submitted, responses: editResponses(submitted.responses, edit) };
  const existing = before && { metadata: toDesired(before).metadata, spec: before.spec };
  const base = existing ?? (copied && { spec: copied.spec });
  return {
    values,
    object: toEndpoint(values, { ...params, ...base }),
    expected: before === undefined ? 'absent' : expectedVersion(form),
    isListEdit: edit !== undefined,
  };
};

/** Without JavaScript, one response is open at a time, or none. */
const editResponses = (responses: readonly ResponseValues[], edit: ListEdit): ResponseValues[] => {
  const opens = edit.kind === 'add' || edit.kind === 'duplicate' || edit.kind === 'open';
  const open = opens ? editedIndex(edit, responses.length) : -1;
  return editList(responses, edit, (copied) => newResponse(responses, copied)).map((response, index) => ({
    ...response,
    open: index === open ? 'true' : '',
  }));
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
  const toErrors = (problems: readonly Problem[]): FormErrors =>
    toFormErrors(
      problems.map(({ path, message }) => ({ path: responseFieldPath(values.responses, path), message })),
      endpointFields(values),
    );
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

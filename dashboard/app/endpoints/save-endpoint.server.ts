import { SourceError, type DesiredObject, type ResourceObject } from '@standin/contract';
import { parseObject } from '@standin/crds';
import type { ProjectName } from '../../src/resources/names.ts';
import type { Backend, ExpectedGeneration } from '../../src/backend.ts';
import { refusalOf } from '../../src/pages/failures.ts';
import { errorsOf, NO_ERRORS, type FormErrors } from '../ui/form-errors.ts';
import { desiredOf } from '../../src/resources/manifest-yaml.ts';
import { ownerOf, ownershipReason } from '../../src/resources/ownership.ts';
import { endpointSpec } from '../../src/resources/specs.ts';
import { expectedGeneration } from '../projects/save-project.server.ts';
import { endpointFields, readEndpointValues, toEndpoint, type EndpointValues } from './endpoint-values.ts';

/** The contents of a form, as the object that it would become. */
export interface EndpointDraft {
  readonly values: EndpointValues;
  readonly object: DesiredObject;
  readonly expected: ExpectedGeneration;
}

/** `before`: the endpoint that is being edited. */
export const draftOf = (form: FormData, params: ProjectName, before: ResourceObject | undefined): EndpointDraft => {
  const values = readEndpointValues(form);
  const existing = before && { metadata: desiredOf(before).metadata, body: endpointSpec(before).json?.body };
  return {
    values,
    object: toEndpoint(values, { ...params, ...existing }),
    expected: before === undefined ? 'absent' : expectedGeneration(form),
  };
};

export interface CheckedDraft {
  readonly errors: FormErrors;
  readonly object: ResourceObject | undefined;
  /** Another user changed the endpoint since it was read. */
  readonly isConflict: boolean;
}

/** Writes the draft, or only validates it. */
export const applyDraft = async (
  { resources }: Backend,
  { values, object, expected }: EndpointDraft,
  before: ResourceObject | undefined,
  dryRun: boolean,
): Promise<CheckedDraft> => {
  const refused = (errors: FormErrors): CheckedDraft => ({ errors, object: undefined, isConflict: false });
  const owner = before && ownerOf(before);
  if (owner !== undefined) return refused({ fields: {}, form: [ownershipReason(owner)] });
  // Without a name there is nothing to validate. If the display name is missing as well, only that is reported.
  if (object.metadata.name === '') {
    const parsed = parseObject(object);
    const problems = parsed.ok ? [] : parsed.problems;
    const asksForTitle = problems.some(({ path }) => path === 'spec.displayName');
    const shown = asksForTitle ? problems.filter(({ path }) => path !== 'metadata.name') : problems;
    return refused(errorsOf(shown, endpointFields(values)));
  }
  try {
    const result = dryRun
      ? { ok: false as const, problems: await resources.check(object, expected) }
      : await resources.apply(object, expected);
    return result.ok
      ? { errors: NO_ERRORS, object: result.object, isConflict: false }
      : refused(errorsOf(result.problems, endpointFields(values)));
  } catch (error) {
    const isConflict = error instanceof SourceError && error.kind === 'Conflict';
    return { ...refused({ fields: {}, form: [refusalOf(error)] }), isConflict };
  }
};

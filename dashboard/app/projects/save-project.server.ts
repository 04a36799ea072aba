import type { ResourceObject } from '@standin/contract';
import type { Backend, ExpectedVersion } from '../../src/backend.ts';
import { toDesired } from '../../src/resources/manifest-yaml.ts';
import { toFormErrors } from '../ui/form-errors.ts';
import { managedForm, refusedForm, saveForm, type SavedForm } from '../ui/save-form.server.ts';
import { PROJECT_FIELDS, toProject, type ProjectValues } from './project-values.ts';

/** Creates a project, or replaces the spec of `edited.before`. */
export const saveProject = async (
  { resources }: Backend,
  values: ProjectValues,
  edited?: { readonly before: ResourceObject; readonly expected: ExpectedVersion },
): Promise<SavedForm> => {
  const managed = managedForm(edited?.before);
  if (managed !== undefined) return managed;
  const object = toProject(values, edited && toDesired(edited.before));
  if (object.metadata.name === '')
    return refusedForm({
      fields: {
        'spec.displayName': [
          values['spec.displayName'] === ''
            ? 'Enter a name, or an object name below.'
            : 'No object name can be derived from this name. Enter an object name below.',
        ],
      },
      form: [],
    });
  return saveForm(resources.apply(object, edited?.expected ?? 'absent'), (problems) =>
    toFormErrors(problems, PROJECT_FIELDS),
  );
};

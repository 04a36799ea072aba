import { createHash } from 'node:crypto';
import type { ObjectRef, ResourceObject } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { Backend } from '../../src/backend.ts';
import type { DashboardContext } from '../../src/dashboard-context.ts';
import { defaultNamespace, type LineProblem } from '../../src/resources/edited-manifest.ts';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { hiddenAnnotations, objectYaml } from '../../src/resources/manifest-yaml.ts';
import type { EndpointName } from '../../src/resources/names.ts';
import { NO_ERRORS } from '../ui/form-errors.ts';
import { managedForm, saveForm, type SavedForm } from '../ui/save-form.server.ts';

/** The text of an endpoint that users edit. */
export interface OpenedManifest {
  readonly object: ResourceObject;
  readonly yaml: string;
  /** True if the text is the one in the object's file, with its comments. */
  readonly isFile: boolean;
  /**
   * Changes with the text, and if the object is deleted and created again. In a file, comments can change without a new generation,
   * and in a cluster, labels can.
   */
  readonly revision: string;
}

const textRevision = ({ metadata: { uid } }: ResourceObject, text: string): string =>
  createHash('sha256').update(`${uid} ${text}`).digest('base64url');

const endpointRef = ({ namespace, endpoint }: EndpointName): ObjectRef => ({
  kind: 'Endpoint',
  namespace,
  name: endpoint,
});

/** Rejects with `NotFound` or `SourceError`. */
export const openManifest = async (backend: Backend, names: EndpointName): Promise<OpenedManifest> => {
  const object = await getEndpoint(backend, names);
  const inFile = await backend.resources.readText?.(endpointRef(names));
  const yaml = inFile ?? objectYaml(object, backend.mode);
  return { object, yaml, isFile: inFile !== undefined, revision: textRevision(object, yaml) };
};

export interface SavedManifest extends Pick<SavedForm, 'object' | 'isConflict'> {
  readonly problems: readonly LineProblem[];
}

/** Browsers submit text with CRLF. */
export const submittedText = (form: FormData): string => {
  const text = form.get('yaml');
  return typeof text === 'string' ? text.replaceAll('\r\n', '\n') : '';
};

const OUTDATED: LineProblem = { line: undefined, message: 'The endpoint changed while you were editing.' };
const refused = (problems: readonly LineProblem[]): SavedManifest => ({
  object: undefined,
  isConflict: false,
  problems,
});

/** Writes the text that a user has edited, based on `revision`. Rejects with `NotFound` or an unexpected error. */
export const saveManifest = async (
  { backend, workers }: Pick<DashboardContext, 'backend' | 'workers'>,
  names: EndpointName,
  { text, revision }: { readonly text: string; readonly revision: string },
): Promise<SavedManifest> => {
  const before = await openManifest(backend, names);
  const managed = managedForm(before.object);
  if (managed !== undefined) return refused(managed.errors.form.map((message) => ({ line: undefined, message })));
  if (before.revision !== revision) return { ...refused([OUTDATED]), isConflict: true };
  const ref = endpointRef(names);
  const namespaceDefault = defaultNamespace(backend.mode === 'local', ref);
  const read = await workers.run('readManifest', { text, ref, namespaceDefault }, [text]);
  if (!read.ok) return refused(read.problems);
  const { metadata } = read.object;
  const annotations = { ...(before.isFile ? {} : hiddenAnnotations(before.object)), ...metadata.annotations };
  const object =
    Object.keys(annotations).length === 0 ? read.object : { ...read.object, metadata: { ...metadata, annotations } };
  let problems: readonly Problem[] = [];
  const saved = await saveForm(
    backend.resources.apply(
      object,
      before.object.metadata,
      before.isFile ? { before: before.yaml, after: text } : undefined,
    ),
    (found) => {
      problems = found;
      return NO_ERRORS;
    },
  );
  const located = problems.length === 0 ? [] : await workers.run('locateProblems', { text, problems }, [text]);
  const others = saved.errors.form.map((message) => ({ line: undefined, message }));
  return { object: saved.object, isConflict: saved.isConflict, problems: [...located, ...others] };
};

import { DEFAULT_NAMESPACE, isRecord, type DesiredObject, type ObjectRef } from '@standin/contract';
import { parseManifest, pathSteps, type Manifest, type Problem } from '@standin/crds';

/** A problem with a text, and its line. The line is undefined if the problem is not at a place in the text. */
export interface LineProblem {
  readonly line: number | undefined;
  /** A sentence that begins with the path of the field, if there is one. */
  readonly message: string;
}

export interface EditedManifestInput {
  readonly text: string;
  /** The object that the text must describe. */
  readonly ref: ObjectRef;
  /** The namespace that the text means if it names none: in a file, the default one. */
  readonly namespaceDefault: string;
}

export type EditedManifest =
  | { readonly ok: true; readonly object: DesiredObject }
  | { readonly ok: false; readonly problems: readonly LineProblem[] };

const EDITABLE_METADATA = ['name', 'namespace', 'labels', 'annotations'];
const EDITABLE_ROOT = ['apiVersion', 'kind', 'metadata', 'spec'];

/**
 * Reads the text of an object that a user has edited. Refuses what an edit cannot change: the kind, the name, the namespace, and
 * what the API server or the operator writes. The spec is not validated.
 */
export const readEditedManifest = ({ text, ref, namespaceDefault }: EditedManifestInput): EditedManifest => {
  const manifest = parseManifest(text);
  const [document, second] = manifest.documents;
  if (manifest.problems.length > 0)
    return refused(manifest.problems.map(({ line, message }) => ({ line, message: `Not YAML: ${message}` })));
  if (document === undefined || !isRecord(document.value))
    return refused([{ line: 1, message: `The text must contain the ${ref.kind} ${ref.name}.` }]);
  if (second !== undefined)
    return refused([{ line: second.line, message: 'The text must contain only one object. Remove the others.' }]);
  const problems = [
    ...rootProblems(document.value, ref),
    ...metadataProblems(document.value['metadata'], ref, namespaceDefault),
  ];
  if (problems.length > 0) return refused(withLines(manifest, problems));
  const { apiVersion, metadata, spec } = document.value;
  const { labels, annotations } = isRecord(metadata) ? metadata : {};
  return {
    ok: true,
    object: {
      apiVersion: String(apiVersion),
      kind: ref.kind,
      metadata: {
        name: ref.name,
        namespace: ref.namespace,
        ...(isTextMap(labels) && { labels }),
        ...(isTextMap(annotations) && { annotations }),
      },
      spec,
    },
  };
};

/** Adds the line of its field to each problem with the only object of a text. */
export const problemLines = (text: string, problems: readonly Problem[]): readonly LineProblem[] =>
  withLines(parseManifest(text), problems);

const withLines = ({ documents: [document] }: Manifest, problems: readonly Problem[]): LineProblem[] =>
  problems
    .map(({ path, message }) => ({
      line: path === '' ? undefined : document?.fieldLine(pathSteps(path)),
      message: path === '' ? message : `${path}: ${message}`,
    }))
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0));

const refused = (problems: readonly LineProblem[]): EditedManifest => ({ ok: false, problems });

const isTextMap = (value: unknown): value is Readonly<Record<string, string>> =>
  isRecord(value) && Object.values(value).every((item) => typeof item === 'string');

const rootProblems = (object: Readonly<Record<string, unknown>>, { kind }: ObjectRef): Problem[] => [
  ...(object['kind'] === kind
    ? []
    : [{ path: 'kind', message: `must be ${kind}. The kind of an object cannot be changed` }]),
  ...Object.keys(object)
    .filter((field) => !EDITABLE_ROOT.includes(field))
    .map((field) => ({
      path: field,
      message: field === 'status' ? 'is written by the operator. Remove it' : 'is not a field of an object. Remove it',
    })),
];

const metadataProblems = (metadata: unknown, ref: ObjectRef, namespaceDefault: string): Problem[] => {
  if (!isRecord(metadata)) return [{ path: 'metadata', message: 'must be a mapping with a name' }];
  const { name, namespace = namespaceDefault } = metadata;
  const maps = (['labels', 'annotations'] as const).filter(
    (field) => ![undefined, null].includes(metadata[field] as null),
  );
  return [
    ...(name === ref.name
      ? []
      : [{ path: 'metadata.name', message: `must be ${ref.name}. An object cannot be renamed. Duplicate it instead` }]),
    ...(namespace === ref.namespace
      ? []
      : [
          {
            path: 'metadata.namespace',
            message: `must be ${ref.namespace}. An object cannot be moved to another namespace`,
          },
        ]),
    ...maps
      .filter((field) => !isTextMap(metadata[field]))
      .map((field) => ({
        path: `metadata.${field}`,
        message: 'must be a map of strings to strings. Put numbers and booleans in quotes',
      })),
    ...Object.keys(metadata)
      .filter((field) => !EDITABLE_METADATA.includes(field))
      .map((field) => ({ path: `metadata.${field}`, message: 'cannot be changed here. Remove it' })),
  ];
};

/** A text without a namespace means this one. */
export const defaultNamespace = (isFile: boolean, { namespace }: ObjectRef): string =>
  isFile ? DEFAULT_NAMESPACE : namespace;

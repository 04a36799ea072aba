import { DEFAULT_NAMESPACE, FairMap, type DesiredObject, type ResourceObject } from '@standin/contract';
import { writeYaml } from '@standin/crds';
import { Document } from 'yaml';
import type { DashboardMode } from '../backend.ts';

/** The annotation in which kubectl keeps a copy of the manifest. Applying the manifest creates the annotation again. */
const HIDDEN_ANNOTATIONS = new Set(['kubectl.kubernetes.io/last-applied-configuration']);

/** Returns an object as a user would write it, without status, managed fields and other fields that the API server adds. */
export const toDesired = ({ apiVersion, kind, metadata, spec }: ResourceObject): DesiredObject => ({
  apiVersion,
  kind,
  metadata: {
    name: metadata.name,
    namespace: metadata.namespace,
    ...(metadata.labels !== undefined && { labels: metadata.labels }),
    ...(metadata.annotations !== undefined && { annotations: metadata.annotations }),
  },
  spec,
});

const visible = (annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> | undefined => {
  const shown = Object.entries(annotations).filter(([name]) => !HIDDEN_ANNOTATIONS.has(name));
  return shown.length === 0 ? undefined : Object.fromEntries(shown);
};

/** Returns the annotations that `manifestYaml` leaves out. An edit of its text keeps them. */
export const hiddenAnnotations = ({
  metadata: { annotations = {} },
}: Pick<ResourceObject, 'metadata'>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(annotations).filter(([name]) => HIDDEN_ANNOTATIONS.has(name)));

/**
 * Returns YAML for `kubectl apply -f -`. It contains no control characters, so it can be pasted into a terminal. In local mode,
 * omits the default namespace, like the files that `standin dev` writes.
 */
export const manifestYaml = ({ metadata, ...object }: DesiredObject, mode: DashboardMode): string => {
  const { apiVersion, kind, spec } = object;
  const { name, namespace, labels, annotations } = metadata;
  const shown = visible(annotations);
  const manifest = {
    apiVersion,
    kind,
    metadata: {
      name,
      ...((mode === 'cluster' || namespace !== DEFAULT_NAMESPACE) && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(shown !== undefined && { annotations: shown }),
    },
    spec,
  };
  const document = new Document(manifest, { version: '1.1', aliasDuplicateObjects: false });
  // Without this, `yaml` searches the document for tags, which it does not have.
  if (document.directives !== undefined) document.directives.tags = {};
  return writeYaml(document, { blockQuote: 'literal' });
};

/** The YAML of the last objects. Pages are rendered again for each change in a namespace, and formatting a large object takes 50 ms. */
const texts = new FairMap<string>(8);

/** Returns the YAML of a stored object. */
export const objectYaml = (object: ResourceObject, mode: DashboardMode): string => {
  const { namespace, uid, resourceVersion } = object.metadata;
  const key = `${uid} ${resourceVersion} ${mode}`;
  const known = texts.get(key);
  if (known !== undefined) return known;
  const text = manifestYaml(toDesired(object), mode);
  texts.set(key, text, namespace);
  return text;
};

/**
 * Returns a command that passes a manifest to kubectl. The shell ends the text at the first line that equals the delimiter. Quoting
 * the delimiter prevents the shell from expanding `$` and backticks.
 */
export const kubectlCommand = (verb: 'apply' | 'create', yaml: string, delimiter = 'STANDIN_MANIFEST'): string => {
  const lines = new Set(yaml.split('\n'));
  let unused = delimiter;
  while (lines.has(unused)) unused += '_';
  return `kubectl ${verb} -f - <<'${unused}'\n${yaml}${unused}\n`;
};

import {
  API_GROUP,
  CONFIG_KINDS,
  DEFAULT_NAMESPACE,
  didYouMean,
  GROUP_VERSION,
  KINDS,
  isConfigKind,
  isRecord,
  listText,
  nearestName,
  UPSTREAM_CA_LABEL,
  type ConfigMapObject,
  type OperationKind,
  type Kind,
  type ObjectMeta,
  type SourceProblem,
} from '@standin/contract';
import { parseManifest, parseObject, pathSteps, type ManifestDocument } from '@standin/crds';
import { caConfigMap, hasCaLabel } from './ca-config-map.ts';

/** An object as written in its file, without the fields that the source itself keeps (uid, generation, …). */
export interface ManifestObject {
  readonly key: string;
  readonly where: string;
  readonly kind: Kind;
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'labels' | 'annotations'>;
  readonly spec: unknown;
  /** Top-level fields that no kind has. They are kept so that the translator can report them. */
  readonly unknownFields: Readonly<Record<string, unknown>>;
}

export interface ManifestSecret {
  readonly key: string;
  readonly where: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  readonly data: ReadonlyMap<string, Buffer>;
}

/** A ConfigMap with certificates of authorities. */
export interface ManifestConfigMap {
  readonly key: string;
  readonly where: string;
  readonly configMap: ConfigMapObject;
}

export interface ManifestContent {
  readonly objects: readonly ManifestObject[];
  readonly secrets: readonly ManifestSecret[];
  readonly configMaps: readonly ManifestConfigMap[];
  readonly problems: readonly SourceProblem[];
  /** Whether part of the file cannot be read, so that the objects in it are unknown. The first problem is then about this part. */
  readonly broken: boolean;
}

export const EMPTY_CONTENT: ManifestContent = { objects: [], secrets: [], configMaps: [], problems: [], broken: false };

export const manifestKey = (ref: { kind: string; namespace: string; name: string }): string =>
  `${ref.kind}/${ref.namespace}/${ref.name}`;

type Fields = Readonly<Record<string, unknown>>;

/** Returns a map of strings, or undefined if the value is not one. Reads a null value as empty text, as the API server does. */
const readTextMap = (value: unknown): Readonly<Record<string, string>> | undefined => {
  if (!isRecord(value)) return undefined;
  const texts = Object.entries(value).map(([name, text]) => [name, text ?? ''] as const);
  return texts.every((entry): entry is readonly [string, string] => typeof entry[1] === 'string')
    ? Object.fromEntries(texts)
    : undefined;
};

/** The affected field, and a sentence that describes what to change. */
interface Fault {
  readonly path: readonly string[];
  readonly message: string;
  /** Whether the document is complete, but of a kind that does not belong here. */
  readonly isForeign?: true;
}

/** Returned instead of a value that has at least one fault. */
type Faults = readonly Fault[];

const isFaulty = (value: object): value is Faults => Array.isArray(value);

const readMetadata = (metadata: unknown): ManifestObject['metadata'] | Faults => {
  if (!isRecord(metadata)) return [{ path: ['metadata'], message: 'metadata must be a mapping with a name' }];
  const { name } = metadata;
  // kubectl reads an empty namespace as none.
  const namespace = metadata['namespace'] === '' ? DEFAULT_NAMESPACE : (metadata['namespace'] ?? DEFAULT_NAMESPACE);
  const labels = readTextMap(metadata['labels'] ?? {});
  const annotations = readTextMap(metadata['annotations'] ?? {});
  const faults: Fault[] = [];
  const note = (field: string, message: string): void => {
    faults.push({ path: ['metadata', field], message: `metadata.${field} ${message}` });
  };
  if (typeof name !== 'string' || name === '') note('name', 'must be text; put a number in quotes');
  if (typeof namespace !== 'string') note('namespace', 'must be text; put a number in quotes');
  const notTexts = 'must be a map of strings to strings; put numbers and booleans in quotes';
  if (labels === undefined) note('labels', notTexts);
  if (annotations === undefined) note('annotations', notTexts);
  if (typeof name !== 'string' || typeof namespace !== 'string' || faults.length > 0) return faults;
  return {
    name,
    namespace,
    ...(labels !== undefined && isRecord(metadata['labels']) && { labels }),
    ...(annotations !== undefined && isRecord(metadata['annotations']) && { annotations }),
  };
};

const readSecret = (value: Fields, where: string): ManifestSecret | Faults => {
  const metadata = readMetadata(value['metadata']);
  const faults: Fault[] = isFaulty(metadata) ? [...metadata] : [];
  const entries = new Map<string, Buffer>();
  for (const [field, encoding] of [
    ['data', 'base64'],
    ['stringData', 'utf8'],
  ] as const) {
    const map = readTextMap(value[field] ?? {});
    if (map === undefined)
      faults.push({
        path: [field],
        message: `${field} of a Secret must be a map of strings to strings; put numbers in quotes`,
      });
    for (const [key, text] of Object.entries(map ?? {})) entries.set(key, Buffer.from(text, encoding));
  }
  if (isFaulty(metadata) || faults.length > 0) return faults;
  const { labels, annotations } = metadata;
  return { key: manifestKey({ kind: 'Secret', ...metadata }), where, labels, annotations, data: entries };
};

const readConfigMap = (value: Fields, where: string): ManifestConfigMap | Faults => {
  const metadata = readMetadata(value['metadata']);
  const data = readTextMap(value['data'] ?? {});
  const binaryData = readTextMap(value['binaryData'] ?? {});
  const notTexts = 'of a ConfigMap must be a map of strings to strings; put numbers in quotes';
  const faults: Fault[] = isFaulty(metadata) ? [...metadata] : [];
  if (data === undefined) faults.push({ path: ['data'], message: `data ${notTexts}` });
  if (binaryData === undefined) faults.push({ path: ['binaryData'], message: `binaryData ${notTexts}` });
  if (isFaulty(metadata) || data === undefined || binaryData === undefined) return faults;
  const { namespace, name } = metadata;
  const key = manifestKey({ kind: 'ConfigMap', namespace, name });
  return { key, where, configMap: caConfigMap({ namespace, name, data, binaryData }) };
};

/** The known top-level fields. A status in a manifest is ignored, because it was probably copied from `kubectl get -o yaml`. */
const ROOT_FIELDS = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);

const readObject = (value: Fields, where: string, kinds: readonly Kind[]): ManifestObject | Faults => {
  const { apiVersion, kind, metadata: rawMetadata, spec } = value;
  const known = KINDS.find((candidate) => candidate === kind);
  if (apiVersion !== GROUP_VERSION) {
    const isOurs = typeof apiVersion === 'string' ? isOwnGroup(apiVersion) : known !== undefined;
    if (isOurs) return [{ path: ['apiVersion'], message: `apiVersion must be ${GROUP_VERSION}` }];
    const advice =
      known === undefined
        ? kind === 'ConfigMap'
          ? `Standin reads only ConfigMaps with the label ${UPSTREAM_CA_LABEL}: "true"`
          : `Standin reads ${listText([...kinds, 'Secret'])} objects`
        : `a ${known} of Standin has the apiVersion ${GROUP_VERSION}`;
    const message = `${describe(apiVersion, kind)} is not a Standin kind; ${advice}`;
    return [{ path: ['kind'], message, isForeign: true }];
  }
  if (known === undefined) {
    const near = typeof kind === 'string' ? didYouMean(kind, kinds) : '';
    return [
      { path: ['kind'], message: `unknown ${describe(apiVersion, kind)}; the kinds are ${listText(kinds)}${near}` },
    ];
  }
  if (!kinds.includes(known)) return [{ path: ['kind'], message: misplaced(known), isForeign: true }];
  const metadata = readMetadata(rawMetadata);
  if (isFaulty(metadata)) return [...metadata, ...specFaults(value)];
  const unknownFields = Object.fromEntries(Object.entries(value).filter(([field]) => !ROOT_FIELDS.has(field)));
  return { key: manifestKey({ kind: known, ...metadata }), where, kind: known, metadata, spec, unknownFields };
};

/** Other groups have kinds of the same names. A misspelled group is probably meant to be ours. */
const isOwnGroup = (apiVersion: string): boolean => {
  const [group = ''] = apiVersion.split('/', 1);
  return group === API_GROUP || nearestName(group, [API_GROUP]) !== undefined;
};

/** Returns the errors of an object in its spec, which are otherwise found when it is translated. */
const specFaults = (value: Fields): Faults => {
  const parsed = parseObject(value);
  if (parsed.ok || value['spec'] === undefined) return [];
  const inSpec = parsed.problems.filter(({ path }) => path.startsWith('spec'));
  return inSpec.map(({ path, message }) => ({ path: pathSteps(path).map(String), message: `${path}: ${message}` }));
};

/** The commands that create the one-time operations. */
const OPERATION_COMMANDS: Readonly<Record<OperationKind, string>> = {
  Replay: 'standin replay',
  Share: 'standin share',
  KeyRegeneration: 'standin key regenerate',
  Purge: 'standin purge',
  Expectation: 'standin expect',
};

const misplaced = (kind: Kind): string =>
  isConfigKind(kind)
    ? `a ${kind} is a manifest: put it in the manifest directory`
    : `a ${kind} is a one-time operation, not a manifest: use ${OPERATION_COMMANDS[kind]}, or the dashboard`;

const describe = (apiVersion: unknown, kind: unknown): string => {
  const name = typeof kind === 'string' && kind !== '' ? `kind "${kind}"` : 'object without a kind';
  return typeof apiVersion === 'string' ? `${name} (${apiVersion})` : `${name} and apiVersion`;
};

const isSecret = (value: Fields): boolean => value['apiVersion'] === 'v1' && value['kind'] === 'Secret';

const isCaConfigMap = ({ apiVersion, kind, metadata }: Fields): boolean => {
  const labels = isRecord(metadata) && isRecord(metadata['labels']) ? metadata['labels'] : undefined;
  return apiVersion === 'v1' && kind === 'ConfigMap' && hasCaLabel(labels);
};

/**
 * Parses a manifest file. Never throws. An invalid document is reported as a problem and does not affect the other documents. The
 * file is then broken, unless the document is of another kind: the object that the document is meant to be is not known.
 */
export const readManifest = (text: string, file: string, kinds: readonly Kind[] = CONFIG_KINDS): ManifestContent => {
  const manifest = parseManifest(text);
  const objects: ManifestObject[] = [];
  const secrets: ManifestSecret[] = [];
  const configMaps: ManifestConfigMap[] = [];
  const breaking: SourceProblem[] = manifest.problems.map(({ line, message }) => ({
    where: `${file}:${line}`,
    message: `not YAML: ${message}`,
  }));
  const foreign: SourceProblem[] = [];
  const note = ({ path, message, isForeign }: Fault, document: ManifestDocument): void => {
    (isForeign === true ? foreign : breaking).push({ where: `${file}:${document.fieldLine(path)}`, message });
  };
  for (const document of manifest.documents) {
    const { value, line } = document;
    const where = `${file}:${line}`;
    if (!isRecord(value)) {
      note({ path: [], message: 'must be a mapping with apiVersion, kind, metadata and spec' }, document);
      continue;
    }
    const read = isSecret(value)
      ? readSecret(value, where)
      : isCaConfigMap(value)
        ? readConfigMap(value, where)
        : readObject(value, where, kinds);
    if (isFaulty(read)) for (const fault of read) note(fault, document);
    else if ('data' in read) secrets.push(read);
    else if ('configMap' in read) configMaps.push(read);
    else objects.push(read);
  }
  return { objects, secrets, configMaps, problems: [...breaking, ...foreign], broken: breaking.length > 0 };
};

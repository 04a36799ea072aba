import { createHash } from 'node:crypto';
import {
  API_GROUP,
  API_KEY_DATA_KEY,
  isRecord,
  RESOURCES,
  type ConditionReason,
  type ConfigMapObject,
  type ConfigObject,
  type Kind,
  type LabelledSecret,
  type ResourceObject,
} from '@standin/contract';
import {
  parseManifest,
  parseObject,
  pathSteps,
  type ManifestDocument,
  type ManifestProblem,
  type Problem,
} from '@standin/crds';
import { z } from 'zod';
import { apiKeyProblem, apiKeySha256 } from '../keys/api-key.ts';
import { caConfigMap, hasCaLabel } from '../sources/ca-config-map.ts';
import { labelledSecret } from '../sources/labelled-secret.ts';
import { translate, type KeyState, type TranslateSettings, type Verdict } from '../translate/index.ts';
import { secretStates } from './secrets-in-files.ts';

export interface ManifestFile {
  /** The file's name in the findings. */
  readonly name: string;
  readonly text: string;
  /** Why the file cannot be read. Then the text is empty. */
  readonly problem?: ManifestProblem;
}

export interface ManifestFinding {
  readonly file: string;
  /** Starts at 1. */
  readonly line: number;
  /** For example, `Endpoint default/create-order`. Empty if no object was recognized. */
  readonly object: string;
  /** For example, `spec.json.headers[0].name`. Empty if the finding is about the whole object. */
  readonly path: string;
  readonly message: string;
  /** `error` means that the operator would not serve the object. */
  readonly severity: 'error' | 'warning';
}

export interface ValidateOptions {
  /**
   * `warning` is for files that contain only some of the cluster's objects, so that a missing Account or Project may exist there.
   * Default: `error`.
   */
  readonly missingReferences?: ManifestFinding['severity'];
}

/**
 * Without a cluster, finds the problems that the API server and the operator would report for manifests. Orders the problems by
 * file and line. The files must contain all objects to which others refer (see `missingReferences`). Conflicts are decided as if
 * the files were applied in the given order.
 */
export const validateManifests = (
  files: readonly ManifestFile[],
  settings: TranslateSettings,
  options: ValidateOptions = {},
): ManifestFinding[] => translateManifests(files, settings, options).findings;

/** Like `validateManifests`, but also returns the configuration that the operator would send to the gateways. */
export const translateManifests = (
  files: readonly ManifestFile[],
  settings: TranslateSettings,
  { missingReferences = 'error' }: ValidateOptions = {},
): { readonly findings: ManifestFinding[]; readonly configs: readonly ConfigObject[] } => {
  const findings: ManifestFinding[] = [];
  const seen = new Map<string, LocatedObject>();
  const keys = new Map<string, KeyState>();
  const secrets = new Map<string, LabelledSecret>();
  const configMaps = new Map<string, ConfigMapObject | undefined>();
  for (const located of readFiles(files, findings)) collect(located, { seen, keys, secrets, configMaps, findings });

  const objects = [...seen.values()].map(({ object }) => object);
  const world = {
    objects,
    keys: accountKeys(objects, keys),
    secrets: secretStates(objects, secrets, settings),
    configMaps: knownConfigMaps(objects, configMaps),
  };
  const { verdicts, objects: configs } = translate(world, settings);
  for (const verdict of verdicts) {
    const located = seen.get(verdict.uid);
    if (located !== undefined) findings.push(...verdictFindings(verdict, located, missingReferences));
  }
  const place = new Map(files.map(({ name }, index) => [name, index]));
  findings.sort((a, b) => (place.get(a.file) ?? 0) - (place.get(b.file) ?? 0) || a.line - b.line);
  return { findings, configs };
};

/** A document and its location. */
interface Located {
  readonly file: string;
  readonly document: ManifestDocument;
}

interface LocatedObject extends Located {
  readonly object: ResourceObject;
  /** The problems of the object itself that the findings already contain. */
  readonly reported: readonly Problem[];
}

interface Collected {
  /** Objects by title, such as `Endpoint default/create-order`. The title also serves as the uid. */
  readonly seen: Map<string, LocatedObject>;
  /** Keys from Secrets in the files, by namespace and name. */
  readonly keys: Map<string, KeyState>;
  /** The same Secrets, as Endpoints see them. */
  readonly secrets: Map<string, LabelledSecret>;
  /** ConfigMaps by namespace and name. Undefined without the label. */
  readonly configMaps: Map<string, ConfigMapObject | undefined>;
  readonly findings: ManifestFinding[];
}

const readFiles = (files: readonly ManifestFile[], findings: ManifestFinding[]): Located[] =>
  files.flatMap(({ name: file, text, problem }) => {
    const { documents, problems } = parseManifest(text);
    if (problem !== undefined) findings.push({ file, object: '', path: '', severity: 'error', ...problem });
    for (const { line, message } of problems) {
      findings.push({ file, line, object: '', path: '', message: `is not YAML: ${message}`, severity: 'error' });
    }
    return documents.map((document) => ({ file, document }));
  });

const header = z.looseObject({
  apiVersion: z.string().catch(''),
  kind: z.string().catch(''),
  metadata: z
    .looseObject({ name: z.string().catch(''), namespace: z.string().optional().catch(undefined) })
    .catch({ name: '' }),
  spec: z.unknown().optional(),
});
type Header = z.infer<typeof header>;

const collect = (located: Located, { seen, keys, secrets, configMaps, findings }: Collected): void => {
  const { file, document } = located;
  const read = header.safeParse(document.value);
  const found = (path: string, message: string, severity: ManifestFinding['severity'] = 'error'): void => {
    const object = read.success && read.data.kind !== '' ? manifestTitle(read.data) : '';
    findings.push({ file, line: document.fieldLine(pathSteps(path)), object, path, message, severity });
  };
  if (read.success && read.data.apiVersion === 'v1' && read.data.kind === 'Secret') {
    const id = secretId(namespaceOrDefault(read.data), read.data.metadata.name);
    keys.set(id, keyIn(read.data));
    secrets.set(id, labelledSecretIn(read.data));
    return;
  }
  if (read.success && read.data.apiVersion === 'v1' && read.data.kind === 'ConfigMap') {
    configMaps.set(secretId(namespaceOrDefault(read.data), read.data.metadata.name), configMapIn(read.data));
    return;
  }
  if (read.success && read.data.apiVersion !== '' && !read.data.apiVersion.startsWith(`${API_GROUP}/`)) {
    found('apiVersion', `${read.data.apiVersion} ${read.data.kind} is not a Standin object: ignored`, 'warning');
    return;
  }
  const parsed = parseObject(document.value);
  if (!parsed.ok) for (const { path, message } of parsed.problems) found(path, message);
  if (!read.success || !Object.hasOwn(RESOURCES, read.data.kind) || read.data.metadata.name === '') return;

  const uid = manifestTitle(read.data);
  const first = seen.get(uid);
  if (first !== undefined) {
    found('metadata.name', `is already defined in ${first.file}:${first.document.line}: rename one of them`);
    return;
  }
  seen.set(uid, {
    ...located,
    object: resourceObject(read.data, uid, seen.size),
    reported: parsed.ok ? [] : parsed.problems,
  });
};

/** Returns the object with metadata as the API server would set it. Objects in later documents count as newer. */
const resourceObject = (head: Header, uid: string, age: number): ResourceObject => ({
  apiVersion: head.apiVersion,
  kind: head.kind as Kind,
  metadata: {
    name: head.metadata.name,
    namespace: namespaceOrDefault(head),
    uid,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: new Date(age * 1_000).toISOString(),
  },
  spec: head.spec,
});

const namespaceOrDefault = ({ metadata }: Header): string => metadata.namespace || 'default';
/** Returns the object's title. Omits the namespace of an unknown kind, which may not be namespaced. */
const manifestTitle = (head: Header): string =>
  Object.hasOwn(RESOURCES, head.kind) || head.metadata.namespace !== undefined
    ? `${head.kind} ${namespaceOrDefault(head)}/${head.metadata.name}`
    : `${head.kind} ${head.metadata.name}`.trim();
const secretId = (namespace: string, name: string): string => `${namespace}/${name}`;

const secretData = z.looseObject({
  data: z.record(z.string(), z.base64()).optional().catch(undefined),
  stringData: z.record(z.string(), z.string()).optional().catch(undefined),
});

/** Returns the values of a Secret by data key. */
const valuesIn = (secret: Header): Map<string, Buffer> => {
  const { data = {}, stringData = {} } = secretData.parse(secret);
  return new Map([
    ...Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const),
    ...Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value)] as const),
  ]);
};

const keyIn = (secret: Header): KeyState => {
  const secretName = secret.metadata.name;
  const key = valuesIn(secret).get(API_KEY_DATA_KEY)?.toString('utf8');
  if (key === undefined) return { kind: 'missing', secretName };
  const message = apiKeyProblem(key);
  return message === undefined ? { kind: 'key', sha256: apiKeySha256(key) } : { kind: 'invalid', secretName, message };
};

const textMap = z.record(z.string(), z.string());

const labelledSecretIn = (secret: Header): LabelledSecret => {
  const labels = textMap.safeParse(secret.metadata['labels']).data;
  const annotations = textMap.safeParse(secret.metadata['annotations']).data;
  return labelledSecret({ labels, annotations, data: valuesIn(secret) }, '');
};

const configMapData = z.looseObject({
  data: z.record(z.string(), z.string()).optional().catch(undefined),
  binaryData: z.record(z.string(), z.unknown()).optional().catch(undefined),
});

const configMapIn = (configMap: Header): ConfigMapObject | undefined => {
  const { name, labels } = configMap.metadata;
  const { data = {}, binaryData = {} } = configMapData.parse(configMap);
  return isRecord(labels) && hasCaLabel(labels)
    ? caConfigMap({ namespace: namespaceOrDefault(configMap), name, data, binaryData })
    : undefined;
};

/**
 * Returns the ConfigMaps with certificates. One that Endpoints refer to and that is not in the files is assumed to exist, with the label
 * and the data keys.
 */
const knownConfigMaps = (
  objects: readonly ResourceObject[],
  inFiles: ReadonlyMap<string, ConfigMapObject | undefined>,
): ConfigMapObject[] => {
  const known = new Map(inFiles);
  for (const object of objects) {
    const { namespace } = object.metadata;
    const parsed = parseObject(object);
    const { name, key } =
      (parsed.ok && parsed.value.kind === 'Endpoint' && parsed.value.spec.forward?.tls?.caRef) || {};
    if (name === undefined || key === undefined) continue;
    const id = secretId(namespace, name);
    if (inFiles.has(id)) continue;
    known.set(id, { namespace, name, data: { ...known.get(id)?.data, [key]: { certificates: '' } } });
  }
  return [...known.values()].filter((configMap) => configMap !== undefined);
};

/** Returns the keys of Accounts. A key that is not in the files is assumed to exist and to be unique. */
const accountKeys = (
  objects: readonly ResourceObject[],
  keys: ReadonlyMap<string, KeyState>,
): Map<string, KeyState> => {
  const states = new Map<string, KeyState>();
  for (const object of objects) {
    const { uid, namespace } = object.metadata;
    const parsed = parseObject(object);
    if (!parsed.ok || parsed.value.kind !== 'Account') continue;
    const { secretName } = parsed.value.spec.apiKey ?? {};
    const given = secretName === undefined ? undefined : keys.get(secretId(namespace, secretName));
    states.set(uid, given ?? { kind: 'key', sha256: createHash('sha256').update(uid).digest('hex') });
  }
  return states;
};

const MISSING: ReadonlySet<ConditionReason> = new Set(['AccountNotFound', 'ProjectNotFound']);
/**
 * Reasons that are not reported, because each problem is reported once, for the object that has the problem, and not for the
 * objects that refer to that object.
 */
const CONSEQUENCES: ReadonlySet<ConditionReason> = new Set(['AccountNotReady', 'ProjectNotReady']);

const verdictFindings = (
  { uid, accepted, resolvedRefs }: Verdict,
  { file, document, reported }: LocatedObject,
  missing: ManifestFinding['severity'],
): ManifestFinding[] => {
  const known = new Set(reported.map(({ path, message }) => `${path} ${message}`));
  const at = ({ path, message }: Problem, severity: ManifestFinding['severity']): ManifestFinding => ({
    file,
    line: document.fieldLine(pathSteps(path)),
    object: uid,
    path,
    message,
    severity,
  });
  // The references of an invalid object may not be checked.
  const findings = [accepted, ...(resolvedRefs.reason === 'Invalid' ? [] : [resolvedRefs])].filter(
    ({ ok, reason }) => !ok && !CONSEQUENCES.has(reason),
  );
  return [
    ...findings.flatMap(({ reason, message, path = '', problems = [{ path, message }] }) =>
      problems
        .filter((problem) => !known.has(`${problem.path} ${problem.message}`))
        .map((problem) => at(problem, MISSING.has(reason) ? missing : 'error')),
    ),
    ...(accepted.note === undefined ? [] : [at(accepted.note, 'warning')]),
  ];
};
